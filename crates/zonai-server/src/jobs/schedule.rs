//! When jobs run: one task that sleeps until the next is due.
//!
//! Schedules are in the machine's time zone. It looks at the clock at least twice a minute, so that a clock that is
//! set does not make a job late.

use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, Zoned, tz::TimeZone};
use tokio_util::sync::CancellationToken;

use super::{JobError, Trigger};
use crate::state::State;

/// The longest sleep.
const LOOK: Duration = Duration::from_secs(30);
/// The least time between two looks.
const SHORTEST: Duration = Duration::from_millis(100);

/// The wall time of the server's clock, where the machine is.
pub(super) fn now(state: &State) -> Zoned {
    let wall = Timestamp::from_millisecond(state.clock.wall_ms()).unwrap_or(Timestamp::UNIX_EPOCH);
    wall.to_zoned(TimeZone::system())
}

/// Runs jobs as they come due, until the server stops.
pub(crate) async fn run(state: Arc<State>, stop: CancellationToken) {
    catch_up(&state);
    let mut seen = now(&state);
    loop {
        let wait = next_wait(&state, &seen);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stop.cancelled() => return,
        }
        let reached = now(&state);
        for job in &state.jobs.jobs {
            // Several times that were slept through are one run.
            let due = job.enabled && job.next(&seen).is_some_and(|next| next <= reached);
            if due {
                start(&state, &job.name, Trigger::Schedule);
            }
        }
        // A clock that was set back does not run again what has run.
        if reached > seen || seen.duration_since(&reached) > jiff::SignedDuration::from_hours(1) {
            seen = reached;
        }
    }
}

fn next_wait(state: &State, seen: &Zoned) -> Duration {
    let now = now(state);
    let next = state
        .jobs
        .jobs
        .iter()
        .filter(|job| job.enabled)
        .filter_map(|job| job.next(seen))
        .min();
    let until = next.and_then(|next| Duration::try_from(next.duration_since(&now)).ok());
    until
        .unwrap_or(if state.jobs.jobs.is_empty() {
            LOOK
        } else {
            SHORTEST
        })
        .clamp(SHORTEST, LOOK)
}

/// Runs once what was missed while no server ran, for jobs that want it.
fn catch_up(state: &Arc<State>) {
    let now = now(state);
    for job in state
        .jobs
        .jobs
        .iter()
        .filter(|job| job.enabled && job.catch_up)
    {
        let last = state
            .jobs
            .history
            .last_start(&*state.internal, &job.name)
            .ok()
            .flatten();
        let missed = match (last, job.previous(&now)) {
            (Some(last), Some(due)) => last < due.timestamp().as_millisecond(),
            // A job that never ran has missed nothing.
            _ => false,
        };
        if missed {
            start(state, &job.name, Trigger::CatchUp);
        }
    }
}

fn start(state: &Arc<State>, name: &str, trigger: Trigger) {
    let (running, name) = (Arc::clone(state), name.to_owned());
    state.spawn(async move {
        match running.jobs.run(&running, &name, trigger).await {
            Ok(done) => tracing::debug!(job = name, "{done}"),
            Err(JobError::Running(_)) => {
                tracing::info!(job = name, "still running; this time is left out")
            }
            // Said where it failed.
            Err(_) => {}
        }
    });
}
