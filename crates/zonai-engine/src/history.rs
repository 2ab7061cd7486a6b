//! What jobs did and when: the internal table `_cron_jobs`.
//!
//! Must never start a job: the server does, and writes down here what came of it.

use rusqlite::{Connection, OptionalExtension, params};
use serde::Serialize;
use zonai_limit::Pass;

use crate::{DataError, Engine};

const TABLE: &str = "CREATE TABLE IF NOT EXISTS _cron_jobs (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    trigger TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    status TEXT NOT NULL,
    message TEXT
);
CREATE INDEX IF NOT EXISTS _cron_jobs_by_name ON _cron_jobs (name, started_at);";

/// One run of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// The job.
    pub name: String,
    /// `schedule`, `catchUp` or `hand`.
    pub trigger: String,
    /// Epoch milliseconds.
    pub started_at: i64,
    /// Epoch milliseconds; `None` while it runs.
    pub finished_at: Option<i64>,
    /// `running`, `ok`, `failed`, or `interrupted` where the server ended in the middle.
    pub status: String,
    /// What it did, or why it failed.
    pub message: Option<String>,
}

/// The history of all jobs. Clones share everything.
#[derive(Clone)]
pub struct History {
    engine: Engine,
}

impl History {
    /// Makes the table where it is missing. Runs that a server left in the middle are `interrupted`.
    ///
    /// # Errors
    /// Of the engine.
    pub async fn open(engine: Engine, pass: &impl Pass, now_ms: i64) -> Result<Self, DataError> {
        engine
            .write(pass, move |conn| -> Result<(), DataError> {
                conn.execute_batch(TABLE)?;
                conn.execute(
                    "UPDATE _cron_jobs SET status = 'interrupted', finished_at = ?1 WHERE status = 'running'",
                    [now_ms],
                )?;
                Ok(())
            })
            .await?;
        Ok(Self { engine })
    }

    /// Notes that a job begins. The number of the run.
    ///
    /// # Errors
    /// Of the engine.
    pub async fn begin(
        &self,
        pass: &impl Pass,
        name: &str,
        trigger: &'static str,
        now_ms: i64,
    ) -> Result<i64, DataError> {
        let name = name.to_owned();
        let begin = move |conn: &Connection| {
            conn.prepare_cached(
                "INSERT INTO _cron_jobs (name, trigger, started_at, status) VALUES (?1, ?2, ?3, 'running')",
            )?
            .execute(params![name, trigger, now_ms])?;
            Ok(conn.last_insert_rowid())
        };
        self.engine.write(pass, begin).await
    }

    /// Notes how a run ended.
    ///
    /// # Errors
    /// Of the engine.
    pub async fn end(
        &self,
        pass: &impl Pass,
        run: i64,
        result: Result<String, String>,
        now_ms: i64,
    ) -> Result<(), DataError> {
        let end = move |conn: &Connection| {
            let (status, message) = match &result {
                Ok(message) => ("ok", message),
                Err(message) => ("failed", message),
            };
            conn.prepare_cached(
                "UPDATE _cron_jobs SET finished_at = ?2, status = ?3, message = ?4 WHERE id = ?1",
            )?
            .execute(params![run, now_ms, status, message])?;
            Ok(())
        };
        self.engine.write(pass, end).await
    }

    /// When a job began last, in epoch milliseconds.
    ///
    /// # Errors
    /// Of the engine.
    pub fn last_start(&self, pass: &impl Pass, name: &str) -> Result<Option<i64>, DataError> {
        self.engine.read_here(pass, |conn| {
            let last = conn
                .prepare_cached("SELECT max(started_at) FROM _cron_jobs WHERE name = ?1")?
                .query_row([name], |row| row.get::<_, Option<i64>>(0))
                .optional()?;
            Ok(last.flatten())
        })
    }

    /// The last `count` runs of a job, the newest first.
    ///
    /// # Errors
    /// Of the engine.
    pub fn runs(&self, pass: &impl Pass, name: &str, count: u32) -> Result<Vec<Run>, DataError> {
        self.engine.read_here(pass, |conn| {
            let mut statement = conn.prepare_cached(
                "SELECT name, trigger, started_at, finished_at, status, message FROM _cron_jobs
                 WHERE name = ?1 ORDER BY started_at DESC, id DESC LIMIT ?2",
            )?;
            let runs = statement.query_map(params![name, count], |row| {
                Ok(Run {
                    name: row.get(0)?,
                    trigger: row.get(1)?,
                    started_at: row.get(2)?,
                    finished_at: row.get(3)?,
                    status: row.get(4)?,
                    message: row.get(5)?,
                })
            })?;
            Ok(runs.collect::<Result<_, _>>()?)
        })
    }

    /// Deletes runs that began before a moment. How many.
    ///
    /// # Errors
    /// Of the engine.
    pub async fn delete_before(
        &self,
        pass: &impl Pass,
        before_ms: i64,
    ) -> Result<usize, DataError> {
        let delete = move |conn: &Connection| {
            Ok(conn.execute(
                "DELETE FROM _cron_jobs WHERE started_at < ?1 AND status <> 'running'",
                [before_ms],
            )?)
        };
        self.engine.write(pass, delete).await
    }

    /// Runs the statements of a user's job, all or none. How many rows they changed.
    ///
    /// # Errors
    /// What SQLite says, for the operator: the text may hold SQL.
    pub async fn run_sql(&self, pass: &impl Pass, sql: &str) -> Result<u64, String> {
        let sql = sql.to_owned();
        let run = move |conn: &Connection| {
            let before = conn.total_changes();
            conn.execute_batch(&sql)?;
            Ok(conn.total_changes() - before)
        };
        let changed: Result<u64, JobFailed> = self.engine.write_at_length(pass, run).await;
        changed.map_err(|JobFailed(why)| why)
    }
}

/// Why a user's job failed, for the history: never for a caller, as SQLite's own words may hold SQL.
struct JobFailed(String);

impl From<rusqlite::Error> for JobFailed {
    fn from(error: rusqlite::Error) -> Self {
        Self(error.to_string())
    }
}

impl From<DataError> for JobFailed {
    fn from(error: DataError) -> Self {
        Self(error.to_string())
    }
}
