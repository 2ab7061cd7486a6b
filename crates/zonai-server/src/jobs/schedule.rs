//! When jobs run: one task that sleeps until the next is due.
//!
//! Schedules are in the machine's time zone. It looks at the clock at least twice a minute, so that a clock that is
//! set does not make a job late.

use std::sync::Arc;
use std::time::Duration;

use jiff::{Timestamp, Zoned, tz::TimeZone};
use tokio_util::sync::CancellationToken;
use zonai_data::DataError;

use super::{Job, JobError, Trigger};
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
    let begun = now(&state);
    let mut unsure: Vec<&Job> = state
        .jobs
        .jobs
        .iter()
        .filter(|job| job.enabled && job.catch_up)
        .collect();
    catch_up(&state, &begun, &mut unsure, |job, error| {
        tracing::warn!(
            job = job.name,
            %error,
            "the history cannot be read, so that nobody knows whether the job was missed; looking again soon"
        );
    });
    let mut seen = begun.clone();
    loop {
        let wait = next_wait(&state, &seen);
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = stop.cancelled() => return,
        }
        // Said at the begin.
        catch_up(&state, &begun, &mut unsure, |_, _| {});
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

/// Runs once what was missed before `begun`, while no server ran. Jobs whose history cannot be read stay among the
/// `unsure`, for the next look.
fn catch_up(
    state: &Arc<State>,
    begun: &Zoned,
    unsure: &mut Vec<&Job>,
    say: impl Fn(&Job, DataError),
) {
    unsure.retain(|job| {
        let history = &state.jobs.history;
        let last = match history.last_start(&*state.internal, &job.name) {
            Ok(last) => last,
            Err(error) => {
                say(job, error);
                return true;
            }
        };
        let missed = match (last, job.previous(begun)) {
            (Some(last), Some(due)) => last < due.timestamp().as_millisecond(),
            // A job that never ran has missed nothing.
            _ => false,
        };
        if missed {
            start(state, &job.name, Trigger::CatchUp);
        }
        false
    });
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

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests")]
    use zonai_test::Project;

    use super::*;
    use crate::testing;

    const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

    /// Where nobody can tell whether a job was missed, that is asked again until somebody can.
    #[tokio::test]
    async fn a_missed_job_is_caught_up_once_its_history_can_be_read() {
        let project = Project::tasks();
        project.file(
            "lib/src/crons/nightly.yaml",
            "schedule: '0 3 * * *'\nsql: DELETE FROM notes\ncatchUp: true\n",
        );
        let mut settings = project.settings();
        settings.bounds.reads = 1;
        let (state, _hand) = testing::state_of(settings).await;
        let (history, pass) = (&state.jobs.history, &*state.internal);
        let long_ago = state.clock.wall_ms() - 2 * DAY_MS;
        let run = history.begin(pass, "nightly", "schedule", long_ago).await;
        let run = run.expect("a run");
        let ended = history.end(pass, run, Ok("done".to_owned()), long_ago);
        ended.await.expect("its end");

        let (release, held) = std::sync::mpsc::sync_channel::<()>(0);
        let engine = state.data.engine().clone();
        let reading = {
            let state = Arc::clone(&state);
            tokio::spawn(async move {
                let hold = move |_: &_| {
                    let _ = held.recv_timeout(Duration::from_secs(20));
                    Ok(())
                };
                state.data.engine().read(&*state.internal, hold).await
            })
        };
        while engine.reads_in_flight() == 0 {
            tokio::task::yield_now().await;
        }

        tokio::time::pause();
        let stop = CancellationToken::new();
        let schedule = tokio::spawn(super::run(Arc::clone(&state), stop.clone()));
        tokio::time::sleep(2 * LOOK).await;
        assert!(state.jobs.list(&state).is_err(), "no read has a place");
        assert!(state.tasks.is_empty());
        drop(release);
        reading.await.expect("no panic").expect("the read");
        tokio::time::sleep(2 * LOOK).await;
        stop.cancel();
        schedule.await.expect("no panic");
        state.tasks.close();
        state.tasks.wait().await;
        let runs = history.runs(pass, "nightly", 2).expect("the runs");
        let triggers: Vec<_> = runs.iter().map(|run| run.trigger.as_str()).collect();
        assert_eq!(triggers, ["catchUp", "schedule"]);
    }
}
