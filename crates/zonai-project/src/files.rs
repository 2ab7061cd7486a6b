//! The files of a folder, and their paths as people read them.

use std::path::Path;

use zonai_policy::{Diagnostic, Faults, Source, overlooked};

/// A path as diagnostics show it: inside the project, from the project.
pub(crate) fn shown(path: &Path, project: &Path) -> String {
    path.strip_prefix(project)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// Reads every `.yaml` and `.yml` of a folder in turn; every fault of every file comes back.
pub(crate) fn each_yaml(
    folder: &Path,
    project: &Path,
    mut read: impl FnMut(&Path, &mut Faults<'_>),
) -> Vec<Diagnostic> {
    let of_folder = shown(folder, project);
    let mut faults = overlooked(folder, of_folder.as_ref(), &["yaml", "yml"]);
    for path in yaml_files(folder, &of_folder, &mut faults) {
        match Source::read(&path, &shown(&path, project)) {
            Ok(source) => {
                let mut found = Faults::new(&source);
                read(&path, &mut found);
                faults.extend(found.into_list());
            }
            Err(fault) => faults.push(fault),
        }
    }
    faults
}

/// Every `.yaml` and `.yml` of a folder, sorted; a missing folder holds none.
fn yaml_files(folder: &Path, shown: &str, faults: &mut Vec<Diagnostic>) -> Vec<std::path::PathBuf> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            faults.push(Diagnostic::whole_file(
                shown,
                format!("the folder cannot be read: {error}"),
            ));
            return Vec::new();
        }
    };
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let hidden = path
                .file_name()
                .is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
            let yaml = path
                .extension()
                .is_some_and(|extension| extension == "yaml" || extension == "yml");
            yaml && !hidden && path.is_file()
        })
        .collect();
    files.sort();
    files
}
