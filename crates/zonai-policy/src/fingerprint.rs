//! What a policy folder looks like from outside, so that a change is seen without reading its meaning.
//!
//! Must never fail: a folder that is missing or cannot be read looks like that too.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash as _, Hasher as _};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use crate::folder::{MAX_FILES, policy_names};
use crate::source::MAX_FILE_BYTES;

/// Equal for a folder that did not change. Only meaningful within one process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    /// Names, file numbers, sizes and times.
    pub(crate) outside: u64,
    /// Names and contents.
    pub(crate) inside: u64,
}

impl Fingerprint {
    /// Looks at the folder and reads its policy files. To be taken before the folder is read for its
    /// meaning: what changes in between is then seen as a change.
    #[must_use]
    pub fn of(dir: &Path) -> Self {
        // In this order, for the same reason.
        let outside = outside(dir);
        Self {
            outside,
            inside: inside(dir),
        }
    }
}

/// Follows every symlink on the way: a folder or a file behind a swapped one has another number.
pub(crate) fn outside(dir: &Path) -> u64 {
    hash_names(dir, |path, hasher| match fs::metadata(path) {
        Ok(data) => {
            (data.dev(), data.ino(), data.size(), data.mode()).hash(hasher);
            (
                data.mtime(),
                data.mtime_nsec(),
                data.ctime(),
                data.ctime_nsec(),
            )
                .hash(hasher);
        }
        Err(error) => error.kind().hash(hasher),
    })
}

/// Reads at most what a reader would read.
pub(crate) fn inside(dir: &Path) -> u64 {
    hash_names(dir, |path, hasher| {
        let is_file = fs::metadata(path).is_ok_and(|data| data.is_file());
        let mut bytes = Vec::new();
        let read = if is_file {
            fs::File::open(path)
                .and_then(|file| file.take(MAX_FILE_BYTES as u64 + 1).read_to_end(&mut bytes))
        } else {
            Ok(0)
        };
        (is_file, read.map_err(|error| error.kind())).hash(hasher);
        bytes.hash(hasher);
    })
}

fn hash_names(dir: &Path, each: impl Fn(&Path, &mut DefaultHasher)) -> u64 {
    let mut hasher = DefaultHasher::new();
    match policy_names(dir) {
        Ok(names) => {
            names.len().hash(&mut hasher);
            for name in names.iter().take(MAX_FILES) {
                name.hash(&mut hasher);
                each(&dir.join(name), &mut hasher);
            }
        }
        Err(error) => error.kind().hash(&mut hasher),
    }
    hasher.finish()
}
