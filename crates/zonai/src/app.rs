//! [`App`]: a project, what code adds to it, and the way to a running server.
//!
//! Must never read a flag, and never run a request: it hands settings and registrations to the server.

mod check;
mod run;
mod set;

use std::path::Path;

use zonai_clock::Clock;
use zonai_limit::{AuthTableRateLimits, Registration, TableRateLimits};
use zonai_server::settings::{Listen, Settings};

pub use run::Server;

use crate::config::Draft;
use crate::files::Files;
use crate::project::{Project, Resolved};
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
    /// Limits in code.
    rate_limits: Vec<Registration>,
}

impl App {
    /// Reads the project in `folder`: its `zonai.yaml`, its `.env` and the environment. Writes nothing.
    ///
    /// # Errors
    /// When the folder is no project, or with every fault of what was read.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        Ok(Self {
            project: Project::open(folder.as_ref())?,
            wrong: None,
            rate_limits: Vec::new(),
        })
    }

    /// The limits of one table's `/db` traffic. A table has one registration: a second one, here or in a policy
    /// file, makes every check fail until one of the two is taken away.
    pub fn rate_limits(mut self, limits: impl TableRateLimits) -> Self {
        self.rate_limits.push(Registration::table(limits));
        self
    }

    /// The limits of one auth table's auth routes; its `/db` traffic has [`App::rate_limits`].
    pub fn auth_rate_limits(mut self, limits: impl AuthTableRateLimits) -> Self {
        self.rate_limits.push(Registration::auth(limits));
        self
    }

    /// The settings that the server would have. Makes the secrets of a developer's machine where they are missing.
    ///
    /// # Errors
    /// When secrets are missing or weak, or a setting that was made in code is wrong.
    pub fn settings(self) -> Result<Settings> {
        Ok(self.resolve()?.settings)
    }

    /// What the files of the project say.
    pub(crate) fn files(&self, clock: &Clock) -> Files {
        Files::read(&self.project.draft, &self.rate_limits, clock)
    }

    /// What the project says so far.
    pub(crate) fn draft(&self) -> &Draft {
        &self.project.draft
    }

    /// The settings and what to say about them, for commands that work beside a server.
    pub(crate) fn resolved(&self) -> Result<Resolved> {
        self.project.resolve()
    }

    fn resolve(self) -> Result<Resolved> {
        match self.wrong {
            Some(error) => Err(error),
            None => self.project.resolve(),
        }
    }
}
