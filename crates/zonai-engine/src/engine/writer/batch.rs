//! One transaction over all jobs that waited.

use rusqlite::Connection;

use super::Deadline;
use super::Job;
use crate::DataError;
use crate::changes::Recorder;
use crate::engine::status;

/// Runs the jobs, commits once, answers all. `jobs` is empty afterwards.
pub(super) fn run(
    conn: &Connection,
    deadline: &Deadline,
    jobs: &mut Vec<Box<dyn Job>>,
    recorder: &Recorder<'_>,
) {
    if let Err(error) = begin_run_commit(conn, deadline, jobs, recorder) {
        if !conn.is_autocommit()
            && let Err(cause) = execute(conn, "ROLLBACK")
        {
            tracing::error!(%cause, "cannot roll back");
        }
        recorder.discard_all();
        let error = DataError::from(error);
        for job in jobs.iter_mut() {
            job.fail(error.clone());
        }
    } else {
        recorder.publish();
    }
    for job in jobs.drain(..) {
        job.answer();
    }
}

fn begin_run_commit(
    conn: &Connection,
    deadline: &Deadline,
    jobs: &mut [Box<dyn Job>],
    recorder: &Recorder<'_>,
) -> rusqlite::Result<()> {
    execute(conn, "BEGIN IMMEDIATE")?;
    for at in 0..jobs.len() {
        execute(conn, "SAVEPOINT job")?;
        let mark = recorder.mark();
        let job = &mut jobs[at];
        let keep = if job.is_bounded() {
            deadline.hold(|| job.run(conn))
        } else {
            job.run(conn)
        };
        if conn.is_autocommit() {
            lost(conn, &mut jobs[..=at], recorder)?;
            continue;
        }
        if keep && status::foreign_keys_resolved(conn) {
            execute(conn, "RELEASE job")?;
            continue;
        }
        // A deferred foreign key would only be seen by the commit, and would undo all the others.
        jobs[at].fail(DataError::foreign_key());
        execute(conn, "ROLLBACK TO job")?;
        execute(conn, "RELEASE job")?;
        recorder.discard_after(mark);
    }
    execute(conn, "COMMIT")
}

/// A statement of the last job (`RAISE(ROLLBACK, …)` in a trigger, `INSERT OR ROLLBACK`, a full disk) has ended the whole
/// transaction. Nothing of what ran before it is written, so those callers are asked to come again.
fn lost(
    conn: &Connection,
    jobs: &mut [Box<dyn Job>],
    recorder: &Recorder<'_>,
) -> rusqlite::Result<()> {
    for job in jobs.iter_mut() {
        job.fail(DataError::BusyWriting);
    }
    recorder.discard_all();
    execute(conn, "BEGIN IMMEDIATE")
}

fn execute(conn: &Connection, statement: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(statement)?.execute([]).map(|_| ())
}
