//! A project folder: where it is, what its file, its environment and its `.env` say.
//!
//! Must never serve: what is read here becomes [`zonai_project::settings::Settings`] and nothing else.

pub(crate) mod dotenv;
pub(crate) mod environment;
mod resolve;
pub(crate) mod secrets;

use std::path::{Path, PathBuf};

use zonai_policy::Diagnostic;

use crate::config::Draft;
use crate::{Error, Result};
pub(crate) use environment::Environment;
pub(crate) use resolve::{Resolved, show};

/// The names that a project's file may have.
pub(crate) const FILE_NAMES: [&str; 2] = ["zonai.yaml", "zonai.yml"];

/// What a project says, before code or flags have their say.
#[derive(Clone, Debug)]
pub(crate) struct Project {
    pub(crate) draft: Draft,
    pub(crate) environment: Environment,
}

impl Project {
    /// Reads the project in `folder` with the environment of this process.
    ///
    /// # Errors
    /// When there is no project, or with all the faults of its file, its `.env` and its environment.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        Self::open_with(folder, environment::process())
    }

    /// The same with another environment.
    pub(crate) fn open_with(folder: &Path, variables: environment::Variables) -> Result<Self> {
        let folder = std::path::absolute(folder).map_err(|source| Error::Io {
            what: "find the project",
            path: folder.to_path_buf(),
            source,
        })?;
        let file = find(&folder)?;
        let mut faults = Vec::new();
        let environment = Environment::read(&folder, variables, &mut faults);
        let mut draft = Draft::read(&folder, &file).unwrap_or_else(|found| {
            faults.extend(found);
            Draft::new(&folder)
        });
        environment.apply(&mut draft, &mut faults);
        if faults.is_empty() {
            Ok(Self { draft, environment })
        } else {
            Err(Error::Faults(faults))
        }
    }
}

/// The file of the project in a folder.
fn find(folder: &Path) -> Result<PathBuf> {
    let found: Vec<PathBuf> = FILE_NAMES
        .iter()
        .map(|name| folder.join(name))
        .filter(|path| path.is_file())
        .collect();
    match <[PathBuf; 1]>::try_from(found) {
        Ok([file]) => Ok(file),
        Err(both) if !both.is_empty() => {
            let message = "stands beside a `zonai.yml`; keep one of the two, so that nobody edits the wrong one";
            Err(Error::Faults(vec![Diagnostic::whole_file(
                &crate::config::shown(&both[0]),
                message,
            )]))
        }
        Err(_) => {
            let parent = folder
                .ancestors()
                .skip(1)
                .find(|above| FILE_NAMES.iter().any(|name| above.join(name).is_file()));
            Err(Error::NoProject {
                folder: folder.to_path_buf(),
                parent: parent.map(Path::to_path_buf),
            })
        }
    }
}
