//! What the command line does where no server runs: jobs, and accounts also beside a server.
//!
//! Who calls these holds the lock of the data folder, but for accounts beside a server. Must never listen, and never
//! leave a thread behind: [`Offline::close`] and [`Accounts::close`] join all of them.

mod accounts;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use zonai_clock::Clock;

pub use accounts::{Accounts, Beside};

use crate::jobs::{JobError, Trigger};
use crate::server::{self, Additions, StartError, start};
use crate::state::State;
use zonai_project::settings::Settings;

/// A project with its data, counters and accounts open, and nothing that listens or is due.
pub struct Offline {
    state: State,
}

impl Offline {
    /// Opens everything, as a start does: schema files that are new are applied.
    ///
    /// # Errors
    /// As [`crate::Running::start`], but for listeners.
    pub async fn open(
        settings: Settings,
        additions: Additions,
        clock: Clock,
    ) -> Result<Self, StartError> {
        let state = start::state(settings, additions, clock, CancellationToken::new()).await?;
        Ok(Self { state })
    }

    /// Every job, as `cron.list` of a running server answers.
    ///
    /// # Errors
    /// When the history cannot be read.
    pub fn jobs(&self) -> Result<Value, JobError> {
        let jobs = self.state.jobs.list(&self.state);
        jobs.map_err(|error| JobError::Failed(format!("the history cannot be read: {error}")))
    }

    /// Runs a job now. What it did.
    ///
    /// # Errors
    /// When there is none of that name, or it fails.
    pub async fn run_job(&self, name: &str) -> Result<String, JobError> {
        self.state.jobs.run(&self.state, name, Trigger::Hand).await
    }

    /// Ends everything that was opened. `false` where something could not be written.
    pub async fn close(self) -> bool {
        server::close(&self.state, None).await
    }
}
