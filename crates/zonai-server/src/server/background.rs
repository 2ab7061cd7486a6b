//! What runs beside the requests: the watch over connections, reclaiming, the policy folder.
//!
//! Must never do a request's work, and never outlive the server.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use zonai_policy::{Pace, Watch as FolderWatch};

use crate::state::State;

/// Buckets looked at in one pass of reclaiming: about a millisecond of work.
const RECLAIM: usize = 20_000;

/// The tasks and threads beside the requests.
pub(crate) struct Background {
    tasks: Vec<JoinHandle<()>>,
    folder: Option<FolderWatch>,
}

impl Background {
    pub(crate) fn start(state: &Arc<State>, stop: &CancellationToken) -> Self {
        let changes = state.data.engine().changes().subscribe();
        let tasks = vec![
            tokio::spawn(until(stop.clone(), every_second(Arc::clone(state)))),
            tokio::spawn(until(stop.clone(), reclaim(Arc::clone(state)))),
            tokio::spawn(crate::jobs::run_schedule(Arc::clone(state), stop.clone())),
            tokio::spawn(crate::live::dispatch(
                Arc::clone(state),
                changes,
                stop.clone(),
            )),
        ];
        let watched = Arc::clone(state);
        let seen = state.policies.fingerprint();
        let folder =
            FolderWatch::start(state.policies.folder(), seen, Pace::default(), move || {
                watched
                    .policies
                    .reload(&watched.gate.limiter, &watched.store);
            });
        let folder = match folder {
            Ok(folder) => Some(folder),
            Err(error) => {
                tracing::warn!(%error, "the policy folder is not watched; send SIGHUP after a change");
                None
            }
        };
        Self { tasks, folder }
    }

    pub(crate) async fn stop(mut self) {
        if let Some(folder) = self.folder.take() {
            // Joins a thread, which may be in the middle of a reload.
            let _ = tokio::task::spawn_blocking(move || folder.stop()).await;
        }
        for task in self.tasks {
            let _ = task.await;
        }
    }
}

async fn until(stop: CancellationToken, work: impl Future<Output = ()>) {
    tokio::select! {
        () = work => {}
        () = stop.cancelled() => {}
    }
}

async fn every_second(state: Arc<State>) {
    let mut seconds: u64 = 0;
    let mut said_crowded = false;
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        state.watch.pass(state.clock.now());
        seconds += 1;
        if seconds.is_multiple_of(10) {
            state.telemetry.top.fade();
        }
        // Once: the metric `zonai_crowded_total` says how often.
        if !said_crowded && state.gate.counters.crowded() > 0 {
            said_crowded = true;
            tracing::warn!(
                counters = state.gate.counters.len(),
                "all places for counters are taken: new clients share the counters of their networks, and some may \
                 be refused wrongly; raise `rateLimit.maxCounters`, or look for a flood with `zonai limits top`"
            );
        }
    }
}

async fn reclaim(state: Arc<State>) {
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        state.gate.counters.reclaim(state.clock.now(), RECLAIM);
    }
}
