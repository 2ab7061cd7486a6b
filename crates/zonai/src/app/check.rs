//! Everything that is wrong with a project's files, without serving it.
//!
//! Must never write into the project or its data folder, and never stop at the first fault.

use serde_json::Value;
use zonai_clock::Clock;
use zonai_policy::Diagnostic;
use zonai_server::explain::{self, Explain, OfflineError};

use super::App;
use crate::{Error, Result, files};

impl App {
    /// Everything that is wrong with the files of the project: schema, rules, policies, jobs, mail texts, accounts,
    /// secrets. Paths are shown from the current folder.
    ///
    /// # Errors
    /// When the check itself cannot be made: there is no randomness.
    pub fn check(&self) -> Result<Vec<Diagnostic>> {
        let found = zonai_project::check(
            &self.reading()?,
            &self.additions.in_code(),
            &Clock::system(),
        );
        let mut faults = files::placed(self.draft(), found);
        faults.extend(self.project.check_secrets());
        Ok(faults)
    }

    /// What would happen to a request where no server runs, by the files and the stored counters.
    pub(crate) fn explain(&self, request: &Explain) -> Result<Value> {
        let settings = self.reading()?;
        let clock = Clock::system();
        let explained = explain::offline(&settings, &self.additions, &clock, request);
        let explained = crate::cli::runtime()?.block_on(explained);
        explained.map_err(|error| match error {
            OfflineError::Files(error) => files::refused(self.draft(), error),
            other => Error::Setting(other.to_string()),
        })
    }

    /// What policy files may name.
    pub(crate) fn policy_tables(&self) -> Result<zonai_policy::Tables> {
        let code = self.additions.in_code();
        zonai_project::schema::policy_tables(&self.reading()?, &code.operations, &Clock::system())
            .map_err(|faults| Error::Faults(files::placed(self.draft(), faults)))
    }

    /// The limits in force where no server runs, by the files.
    pub(crate) fn limits(&self) -> Result<Value> {
        let settings = self.reading()?;
        let clock = Clock::system();
        let limits =
            crate::cli::runtime()?.block_on(explain::limits(&settings, &self.additions, &clock));
        limits.map_err(|error| files::refused(self.draft(), error))
    }
}
