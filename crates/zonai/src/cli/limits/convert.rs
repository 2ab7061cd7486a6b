//! `zonai limits convert`: policy files in Dart as YAML.
//!
//! Must never lose a file: what was converted is kept under a name that no server reads.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use zonai_policy::{Source, Tables, read_dart, to_yaml};

use crate::cli::args::limits::ConvertArguments;
use crate::cli::output;
use crate::config::shown;
use crate::{App, Error, Result};

/// A Dart file and the same limits in YAML.
struct Converted {
    dart: PathBuf,
    yaml: String,
}

pub(super) fn run(arguments: &ConvertArguments) -> Result<ExitCode> {
    let app = App::open(&arguments.project)?;
    let tables = app.policy_tables()?;
    let converted = convert(&app.draft().paths.rate_limit, &tables)?;
    if converted.is_empty() {
        output::note(format_args!(
            "there is no *.dart in {}",
            shown(&app.draft().paths.rate_limit)
        ));
    }
    for (nth, file) in converted.iter().enumerate() {
        if arguments.write {
            replace(file)?;
        } else {
            output::line(format_args!(
                "{}# from {}\n{}",
                if nth > 0 { "\n" } else { "" },
                shown(&file.dart),
                file.yaml.trim_end()
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn convert(folder: &Path, tables: &Tables) -> Result<Vec<Converted>> {
    let mut converted = Vec::new();
    let mut faults = Vec::new();
    for path in dart_files(folder).map_err(|source| Error::Io {
        what: "read the folder",
        path: folder.into(),
        source,
    })? {
        match Source::read(&path, &shown(&path)) {
            Err(fault) => faults.push(fault),
            Ok(source) => {
                let (stated, found) = read_dart(&source, tables);
                faults.extend(found);
                let parts: Vec<String> = stated
                    .iter()
                    .map(|stated| to_yaml(&stated.limits, stated.kind))
                    .collect();
                converted.push(Converted {
                    dart: path,
                    yaml: parts.join(""),
                });
            }
        }
    }
    if faults.is_empty() {
        Ok(converted)
    } else {
        Err(Error::Faults(faults))
    }
}

fn dart_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let hidden = path
            .file_name()
            .is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
        if !hidden
            && path
                .extension()
                .is_some_and(|extension| extension == "dart")
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The YAML in the place of the Dart file. A running server must not see both, which would be a table registered twice,
/// nor for long neither, which would be the default policy.
fn replace(file: &Converted) -> Result<()> {
    let yaml = file.dart.with_extension("yaml");
    let kept = file.dart.with_extension("dart.converted");
    for taken in [&yaml, &kept] {
        if taken.exists() {
            return Err(Error::Setting(format!(
                "{} exists already; nothing was changed",
                shown(taken)
            )));
        }
    }
    let beside = file.dart.with_file_name(format!(
        ".{}.new",
        yaml.file_name().unwrap_or_default().display()
    ));
    let failed = |source| Error::Io {
        what: "write",
        path: yaml.clone(),
        source,
    };
    fs::write(&beside, &file.yaml).map_err(failed)?;
    fs::rename(&file.dart, &kept).map_err(failed)?;
    fs::rename(&beside, &yaml).map_err(failed)?;
    output::line(format_args!(
        "wrote {}; the Dart file is now {}",
        shown(&yaml),
        shown(&kept)
    ));
    Ok(())
}
