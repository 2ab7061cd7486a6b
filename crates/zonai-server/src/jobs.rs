//! What the server does on a schedule: its own jobs and the project's.
//!
//! Jobs do not pass the limiter. Must never run one job twice at once, and never let one that fails stop the others.

mod schedule;
mod work;

use std::str::FromStr;
use std::sync::Arc;

use croner::Cron;
use serde_json::{Value, json};
use tokio::sync::{Mutex, oneshot};
use zonai_data::DataError;
use zonai_data::history::History;

use crate::state::State;
use zonai_project::crons::CronFile;

pub(crate) use schedule::run as run_schedule;
use work::Work;

/// Every job, in the order in which they are listed.
pub(crate) struct Jobs {
    jobs: Vec<Job>,
    history: History,
}

/// One job.
struct Job {
    name: String,
    schedule: Cron,
    catch_up: bool,
    enabled: bool,
    work: Work,
    /// Held while it runs.
    running: Mutex<()>,
}

/// Why a job was not run, or failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JobError {
    /// There is none of that name.
    #[error("there is no job `{name}`{}", near(.nearest.as_deref()))]
    Unknown {
        /// The name that was given.
        name: String,
        /// The job that was probably meant.
        nearest: Option<String>,
    },
    /// It runs already; two runs of one job never overlap.
    #[error("the job `{0}` is running")]
    Running(String),
    /// It was run and failed, for this reason.
    #[error("{0}")]
    Failed(String),
}

fn near(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// Why a job is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trigger {
    Schedule,
    CatchUp,
    Hand,
}

impl Trigger {
    const fn name(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::CatchUp => "catchUp",
            Self::Hand => "hand",
        }
    }
}

impl Jobs {
    pub(crate) fn new(history: History, crons: Vec<CronFile>) -> Self {
        let mut jobs: Vec<Job> = Work::BUILT_IN
            .iter()
            .filter_map(|(name, schedule, work)| {
                let schedule = Cron::from_str(schedule).ok()?;
                Some(Job::new(
                    (*name).to_owned(),
                    schedule,
                    false,
                    true,
                    work.clone(),
                ))
            })
            .collect();
        jobs.extend(crons.into_iter().map(|cron| {
            Job::new(
                cron.name,
                cron.schedule,
                cron.catch_up,
                cron.enabled,
                Work::Sql(cron.sql),
            )
        }));
        Self { jobs, history }
    }

    fn find(&self, name: &str) -> Result<&Job, JobError> {
        self.jobs
            .iter()
            .find(|job| job.name == name)
            .ok_or_else(|| JobError::Unknown {
                name: name.to_owned(),
                nearest: zonai_policy::nearest(name, self.jobs.iter().map(|job| job.name.as_str()))
                    .map(str::to_owned),
            })
    }

    /// Runs a job now. What it did.
    ///
    /// # Errors
    /// When there is none of that name, it is running, or it fails.
    pub(crate) async fn run(
        &self,
        state: &State,
        name: &str,
        trigger: Trigger,
    ) -> Result<String, JobError> {
        let job = self.find(name)?;
        let Ok(_running) = job.running.try_lock() else {
            return Err(JobError::Running(name.to_owned()));
        };
        let pass = &*state.internal;
        let failed = |error: DataError| {
            tracing::error!(job = name, "the history cannot be written: {error}");
            JobError::Failed(error.to_string())
        };
        let run = self
            .history
            .begin(pass, name, trigger.name(), state.clock.wall_ms())
            .await
            .map_err(failed)?;
        let result = job.work.run(state, &self.history).await;
        if let Err(error) = &result {
            tracing::error!(job = name, "the job failed: {error}");
        }
        self.history
            .end(pass, run, result.clone(), state.clock.wall_ms())
            .await
            .map_err(failed)?;
        result.map_err(JobError::Failed)
    }

    /// Runs a job by hand, to its end also where whoever asked has gone.
    ///
    /// # Errors
    /// As [`Jobs::run`].
    pub(crate) async fn run_by_hand(state: &Arc<State>, name: &str) -> Result<String, JobError> {
        let (reply, answer) = oneshot::channel();
        let (of, name) = (Arc::clone(state), name.to_owned());
        state.spawn(async move {
            let result = of.jobs.run(&of, &name, Trigger::Hand).await;
            let _ = reply.send(result);
        });
        let stopped = |_| Err(JobError::Failed("the server stops".to_owned()));
        answer.await.unwrap_or_else(stopped)
    }

    /// All jobs with their next time and last run, for `cron list`.
    ///
    /// # Errors
    /// When the history cannot be read: nobody is told that a job never ran because of that.
    pub(crate) fn list(&self, state: &State) -> Result<Value, DataError> {
        let now = schedule::now(state);
        let jobs = self
            .jobs
            .iter()
            .map(|job| {
                let next = job.next(&now).filter(|_| job.enabled);
                let last = self.history.runs(&*state.internal, &job.name, 1)?;
                Ok(json!({
                    "name": job.name,
                    "schedule": job.schedule.as_str(),
                    "enabled": job.enabled,
                    "catchUp": job.catch_up,
                    "builtIn": !matches!(job.work, Work::Sql(_)),
                    "nextMs": next.map(|next| next.timestamp().as_millisecond()),
                    "last": last.first(),
                }))
            })
            .collect::<Result<Vec<_>, DataError>>()?;
        Ok(json!({"jobs": jobs}))
    }
}

impl Job {
    fn new(name: String, schedule: Cron, catch_up: bool, enabled: bool, work: Work) -> Self {
        Self {
            name,
            schedule,
            catch_up,
            enabled,
            work,
            running: Mutex::new(()),
        }
    }

    fn next(&self, after: &jiff::Zoned) -> Option<jiff::Zoned> {
        self.schedule.find_next_occurrence(after, false).ok()
    }

    fn previous(&self, before: &jiff::Zoned) -> Option<jiff::Zoned> {
        self.schedule.find_previous_occurrence(before, true).ok()
    }
}
