//! Why a project could not be opened or served, in words for its operator.
//!
//! `Display` never repeats its source; who prints an error prints the chain.

use std::io;
use std::path::PathBuf;

use zonai_policy::Diagnostic;

use crate::lock::LockError;

/// The result of everything an [`App`](crate::App) does.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a project could not be opened or served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The folder is no project.
    #[error("there is no zonai.yaml in `{}`{}", .folder.display(), hint(.parent.as_ref()))]
    NoProject {
        /// The folder.
        folder: PathBuf,
        /// The nearest folder above it that is one.
        parent: Option<PathBuf>,
    },
    /// Something is wrong with the project's files or its environment; one line a fault.
    #[error("{}", lines(.0))]
    Faults(Vec<Diagnostic>),
    /// The secrets are missing or too weak.
    #[error("{0}")]
    Secrets(String),
    /// The data folder is in use or cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A setting that was made in code or by a flag is wrong.
    #[error("{0}")]
    Setting(String),
    /// The system refused something.
    #[error("cannot {what}: `{}`", .path.display())]
    Io {
        /// What was to be done.
        what: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The server could not be started.
    #[error(transparent)]
    Start(zonai_server::StartError),
    /// The server could not run, or did not stop well.
    #[error("{0}")]
    Server(String),
}

impl Error {
    /// How a command that met this error exits: 2 where the input is at fault, 1 where something else is.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NoProject { .. } | Self::Faults(_) | Self::Secrets(_) | Self::Setting(_) => 2,
            _ => 1,
        }
    }

    /// The faults of the project's files, where that is what went wrong.
    #[must_use]
    pub fn faults(&self) -> &[Diagnostic] {
        match self {
            Self::Faults(faults) => faults,
            _ => &[],
        }
    }
}

fn hint(parent: Option<&PathBuf>) -> String {
    match parent {
        Some(parent) => format!("; did you mean the project in `{}`?", parent.display()),
        None => "; `zonai init DIR` makes a project".to_owned(),
    }
}

fn lines(faults: &[Diagnostic]) -> String {
    faults
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}
