//! The files of a new project.
//!
//! Must never overwrite a file, and never write a secret into a file that others can read or git would take.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::project::{FILE_NAMES, secrets};
use crate::{Error, Result};

const FILES: [(&str, &str); 5] = [
    ("zonai.yaml", include_str!("new_project/zonai.yaml")),
    ("README.md", include_str!("new_project/README.md")),
    (
        "lib/src/schemas/001_tasks.sql",
        include_str!("new_project/001_tasks.sql"),
    ),
    (
        "lib/src/rules/tasks.yaml",
        include_str!("new_project/rules.yaml"),
    ),
    (
        "lib/src/rate_limit/tasks.yaml",
        include_str!("new_project/rate_limit.yaml"),
    ),
];

/// What git must not see.
const IGNORED: [&str; 2] = [".env", ".zonai/"];

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Written {
    /// It is new.
    New(PathBuf),
    /// Lines were added to it.
    Added(PathBuf),
    /// It was there and was left as it is.
    Kept(PathBuf),
}

/// Writes a new project into a folder, which is made where it is missing.
///
/// # Errors
/// When the folder already is a project, or a file cannot be written.
pub fn write(folder: &Path) -> Result<Vec<Written>> {
    if let Some(name) = FILE_NAMES
        .into_iter()
        .find(|name| folder.join(name).exists())
    {
        let folder = folder.display();
        return Err(Error::Setting(format!(
            "`{folder}` already is a project: it has a {name}; nothing was written"
        )));
    }
    fs::create_dir_all(folder).map_err(failed("make the folder", folder))?;
    // First what keeps the secrets out of git, then the secrets.
    let mut written = vec![ignore(&folder.join(".gitignore"))?];
    let env = folder.join(".env");
    let new = !env.exists()
        && secrets::write_private(&env, &secrets::new_env_file()?)
            .map_err(failed("write", &env))?;
    written.push(if new {
        Written::New(env)
    } else {
        Written::Kept(env)
    });
    // The file that makes it a project comes last: what is broken off can be begun again.
    for (name, text) in FILES.iter().rev() {
        written.push(file(&folder.join(name), text)?);
    }
    Ok(written)
}

fn file(path: &Path, text: &str) -> Result<Written> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed("make the folder", parent))?;
    }
    match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(mut file) => {
            file.write_all(text.as_bytes())
                .map_err(failed("write", path))?;
            Ok(Written::New(path.to_path_buf()))
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Ok(Written::Kept(path.to_path_buf()))
        }
        Err(error) => Err(failed("write", path)(error)),
    }
}

fn ignore(path: &Path) -> Result<Written> {
    let old = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return file(path, &lines(&IGNORED));
        }
        Err(error) => return Err(failed("read", path)(error)),
    };
    let missing: Vec<&str> = IGNORED
        .into_iter()
        .filter(|entry| {
            !old.lines()
                .any(|line| line.trim().trim_matches('/') == entry.trim_matches('/'))
        })
        .collect();
    if missing.is_empty() {
        return Ok(Written::Kept(path.to_path_buf()));
    }
    let gap = if old.is_empty() || old.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    let mut file = OpenOptions::new()
        .append(true)
        .open(path)
        .map_err(failed("write", path))?;
    write!(file, "{gap}{}", lines(&missing)).map_err(failed("write", path))?;
    Ok(Written::Added(path.to_path_buf()))
}

fn lines(entries: &[&str]) -> String {
    entries.iter().map(|entry| format!("{entry}\n")).collect()
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path = path.to_path_buf();
    move |source| Error::Io { what, path, source }
}
