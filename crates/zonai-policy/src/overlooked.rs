//! Files that a person would take for read, and that are not: another spelling of the extension, a folder too deep.
//!
//! Must never read a file: its name is enough.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use crate::Diagnostic;

/// The most entries of one folder that are looked at.
const MAX_ENTRIES: usize = 1_000;

/// A fault for each file of `dir` whose name ends as one of `extensions` but for case, and for each folder in it that
/// holds files of these. Names that begin with `.` are left out, as everywhere. A folder that cannot be read says nothing.
#[must_use]
pub fn overlooked(dir: &Path, shown: &Path, extensions: &[&str]) -> Vec<Diagnostic> {
    let mut faults: Vec<_> = entries(dir)
        .filter_map(|path| {
            let why = if path.is_dir() {
                let mut inside = entries(&path);
                let holds_some = inside.any(|inside| lowered(&inside, extensions).is_some());
                holds_some.then(|| {
                    "is a folder with files that are not read; move them one up, or begin its name with `.`"
                        .to_owned()
                })?
            } else {
                let right = lowered(&path, extensions)?;
                let is_right = path.extension() == Some(OsStr::new(right));
                (!is_right).then(|| format!("is not read; the name must end in `.{right}`"))?
            };
            let shown = shown.join(path.file_name()?);
            Some(Diagnostic::whole_file(&shown.display().to_string(), why))
        })
        .collect();
    faults.sort_by(|a, b| a.path.cmp(&b.path));
    faults
}

fn entries(dir: &Path) -> impl Iterator<Item = std::path::PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().take(MAX_ENTRIES);
    entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default();
            !name.as_encoded_bytes().starts_with(b".")
        })
}

/// The one of `extensions` that a name has, whatever its case.
fn lowered<'e>(path: &Path, extensions: &[&'e str]) -> Option<&'e str> {
    let own = path.extension()?.to_str()?;
    extensions
        .iter()
        .copied()
        .find(|extension| own.eq_ignore_ascii_case(extension))
}
