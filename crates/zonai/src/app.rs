//! [`App`]: a project, what code adds to it, and the way to a running server.
//!
//! Must never read a flag, and never run a request: it hands settings and registrations to the server.

mod run;
mod set;

use std::path::Path;

use zonai_server::settings::{Listen, Settings};

use crate::project::Project;
use crate::{Error, Result};

/// A project that is about to be served.
///
/// Settings come from `zonai.yaml`, from the environment (and the project's `.env`), and from the methods here,
/// each before the one that was named earlier: what code sets, nothing else changes.
///
/// ```no_run
/// # fn main() -> zonai::Result<()> {
/// zonai::App::open("shop")?.port(3000).cors_origins(["https://shop.example"]).serve()
/// # }
/// ```
#[derive(Debug)]
#[must_use = "an App does nothing before it is served"]
pub struct App {
    project: Project,
    /// The first setting in code that was wrong; told when the settings are needed, so that calls can be chained.
    wrong: Option<Error>,
}

impl App {
    /// Reads the project in `folder`: its `zonai.yaml`, its `.env` and the environment. Writes nothing.
    ///
    /// # Errors
    /// When the folder is no project, or with every fault of what was read.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        Ok(Self { project: Project::open(folder.as_ref())?, wrong: None })
    }

    /// The settings that the server would have. Makes the secrets of a developer's machine where they are missing.
    ///
    /// # Errors
    /// When secrets are missing or weak, or a setting that was made in code is wrong.
    pub fn settings(self) -> Result<Settings> {
        Ok(self.resolve()?.settings)
    }

    /// What is wrong with the secrets, as far as that shows without making any.
    pub(crate) fn check_secrets(&self) -> Option<crate::Diagnostic> {
        self.project.check_secrets()
    }

    /// What the project says so far.
    pub(crate) fn draft(&self) -> &crate::config::Draft {
        &self.project.draft
    }

    fn resolve(self) -> Result<crate::project::Resolved> {
        match self.wrong {
            Some(error) => Err(error),
            None => self.project.resolve(),
        }
    }
}
