//! The policy folder: which of its files count, and everything they say, read at once.
//!
//! Must never fail as a whole: whatever is wrong is a fault of a file, and a missing or empty folder is fine.

use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::dart::read_dart;
use crate::file::{Stated, read_yaml};
use crate::fingerprint::Fingerprint;
use crate::overlooked::overlooked;
use crate::tables::Tables;
use crate::{Diagnostic, Source};

/// The most files a policy folder may hold.
pub const MAX_FILES: usize = 1_000;

/// What a policy folder says.
#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Every registration, in the order of the files' names. Not to be used where there are faults. A table
    /// may stand here twice with one kind: that is for the registry to refuse.
    pub registrations: Vec<Stated>,
    /// Everything that is wrong, by file and place.
    pub faults: Vec<Diagnostic>,
    /// The files that were read.
    pub files: Vec<PathBuf>,
    /// How the folder looked before it was read: what [`crate::Watch`] compares with.
    pub fingerprint: Fingerprint,
}

/// Reads every policy file of a folder (`*.yaml`, `*.yml`, `*.dart`; names that begin with `.` are left out;
/// symlinks are followed). A missing or empty folder says nothing.
#[must_use]
pub fn read_folder(dir: &Path, tables: &Tables) -> Reading {
    read_folder_as(dir, dir, tables)
}

/// The same, with the folder shown as `shown` in diagnostics and origins (relative to the project, say).
#[must_use]
pub fn read_folder_as(dir: &Path, shown: &Path, tables: &Tables) -> Reading {
    let mut reading = Reading {
        fingerprint: Fingerprint::of(dir),
        ..Reading::default()
    };
    let names = match policy_names(dir) {
        Ok(names) => names,
        Err(error) if error.kind() == ErrorKind::NotFound => return reading,
        Err(error) => {
            let shown = shown.display().to_string();
            reading.faults.push(Diagnostic::whole_file(
                &shown,
                format!("the folder cannot be read: {error}"),
            ));
            return reading;
        }
    };
    reading
        .faults
        .extend(overlooked(dir, shown, &["yaml", "yml", "dart"]));
    if names.len() > MAX_FILES {
        let message = format!("the folder holds more than {MAX_FILES} policy files");
        reading.faults.push(Diagnostic::whole_file(
            &shown.display().to_string(),
            message,
        ));
    }
    for name in names.iter().take(MAX_FILES) {
        read_file(&dir.join(name), &shown.join(name), tables, &mut reading);
    }
    reading
}

fn read_file(path: &Path, shown: &Path, tables: &Tables, reading: &mut Reading) {
    // An editor may have taken the file away since the folder was listed; a folder named like a file is none.
    // Anything else that is no plain file could block for ever.
    match fs::metadata(path) {
        Ok(data) if data.is_dir() => return,
        Ok(data) if !data.is_file() => {
            let fault = Diagnostic::whole_file(&shown.display().to_string(), "is not a plain file");
            reading.faults.push(fault);
            return;
        }
        Ok(_) => {}
        Err(error) => {
            let message = format!("cannot be read: {error}");
            reading.faults.push(Diagnostic::whole_file(
                &shown.display().to_string(),
                message,
            ));
            return;
        }
    }
    reading.files.push(path.to_owned());
    let source = match Source::read(path, &shown.display().to_string()) {
        Ok(source) => source,
        Err(fault) => {
            reading.faults.push(fault);
            return;
        }
    };
    let is_dart = path
        .extension()
        .is_some_and(|extension| extension == "dart");
    let (stated, faults) = if is_dart {
        read_dart(&source, tables)
    } else {
        read_yaml(&source, tables)
    };
    reading.registrations.extend(stated);
    reading.faults.extend(faults);
}

/// The names in `dir` that are names of policy files, sorted.
pub(crate) fn policy_names(dir: &Path) -> std::io::Result<Vec<std::ffi::OsString>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        if is_policy_name(&name) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

fn is_policy_name(name: &OsStr) -> bool {
    let bytes = name.as_encoded_bytes();
    let extension = Path::new(name).extension().and_then(OsStr::to_str);
    !bytes.starts_with(b".") && matches!(extension, Some("yaml" | "yml" | "dart"))
}
