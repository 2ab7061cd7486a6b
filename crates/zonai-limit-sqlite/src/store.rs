//! The handle that the server holds: opens the store, waits for durable counts, lists, frees, sweeps, closes.
//!
//! Must never make a decision wait: only durable operations wait, and those at most `commit_timeout`.

mod admin;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{Builder, JoinHandle};

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::timeout;
use zonai_clock::Clock;
use zonai_limit::{Changes, CounterKey, Counters, Moment};

use crate::fault::Fault;
use crate::health::{Gauges, Health, HealthCell, Metrics};
use crate::inbox::{Inbox, Renames, Why};
use crate::naming::SlotNames;
use crate::options::Options;
use crate::shared::Shared;
use crate::writer::{Ended, Writer};

pub use admin::{Freed, Listing, Order};

/// The counters of a server, followed by a file.
pub struct SqliteStore {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<Ended>>>,
}

/// What became of durable counts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum CommitOutcome {
    /// A transaction with these counters' state is committed: a `kill -9` does not lose it.
    Committed,
    /// The count is in memory only, for this reason. The request goes on.
    InMemory(Fault),
}

/// How a store ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloseReport {
    /// Counters that could not be written; 0 after a clean stop.
    pub unwritten: usize,
    /// Why.
    pub fault: Option<Fault>,
}

/// Why the store did not do what it was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file has a fault.
    #[error("the counter file cannot be swept now")]
    File(#[source] Fault),
    /// Too many jobs of this kind wait.
    #[error("too many changes wait for the counter file; try again")]
    Busy,
}

impl SqliteStore {
    /// Opens the file at `path`, puts the stored counters back and starts to follow. A file that cannot be used is no
    /// error: counting goes on in memory, [`Self::health`] says why, and the writer tries again.
    #[must_use]
    pub fn open(
        path: &Path,
        counters: Arc<Counters>,
        names: Arc<dyn SlotNames>,
        clock: Clock,
        options: Options,
    ) -> Self {
        let shared = Arc::new(Shared {
            path: path.to_owned(),
            counters,
            names,
            clock,
            options,
            inbox: Mutex::new(Inbox::default()),
            wake: parking_lot::Condvar::new(),
            health: HealthCell::new(),
            gauges: Gauges::default(),
        });
        let writer = Writer::open(Arc::clone(&shared));
        let thread = match Builder::new()
            .name("zonai-counters".to_owned())
            .spawn(move || writer.run())
        {
            Ok(thread) => Some(thread),
            Err(error) => {
                shared.down(&Fault::Io(format!(
                    "no thread for the counter file: {error}"
                )));
                None
            }
        };
        Self {
            shared,
            thread: Mutex::new(thread),
        }
    }

    /// Waits until the state that these counters have now, or a later one, is committed; at most `commit_timeout`, and
    /// not at all while the file has a fault. Must be called on a tokio runtime with time.
    pub async fn commit(&self, keys: &[CounterKey]) -> CommitOutcome {
        let receiver = match self.shared.enqueue(keys) {
            Ok(receiver) => receiver,
            Err(fault) => {
                self.shared.gauges.commits_skipped.fetch_add(1, Relaxed);
                return CommitOutcome::InMemory(fault);
            }
        };
        match timeout(self.shared.options.commit_timeout, receiver).await {
            Ok(Ok(Ok(()))) => CommitOutcome::Committed,
            Ok(Ok(Err(fault))) => CommitOutcome::InMemory(fault),
            Ok(Err(_)) => CommitOutcome::InMemory(Fault::Closed),
            Err(_) => {
                self.shared.gauges.commit_timeouts.fetch_add(1, Relaxed);
                self.shared.slow();
                CommitOutcome::InMemory(Fault::Slow)
            }
        }
    }

    /// Whether the file follows.
    #[must_use]
    pub fn health(&self) -> Health {
        self.shared.health.get()
    }

    /// How far behind the file is, and what was done so far.
    #[must_use]
    pub fn metrics(&self) -> Metrics {
        self.shared.gauges.metrics(self.shared.backlog())
    }

    /// The job `_delete_old_rate_limits`: deletes from the file what had closed at `now`, a slice at a time, and never an
    /// open window. The number of rows deleted.
    ///
    /// # Errors
    /// When the file has a fault, or too many sweeps wait.
    pub async fn delete_closed(&self, now: Moment) -> Result<u64, StoreError> {
        let (reply, receiver) = oneshot::channel();
        {
            let mut inbox = self.shared.inbox.lock();
            // A file that is full is swept all the same: that may be what makes room.
            if let Some(fault) = inbox.down.clone().filter(|fault| *fault != Fault::Full) {
                return Err(StoreError::File(fault));
            }
            if inbox.stop {
                return Err(StoreError::File(Fault::Closed));
            }
            if !inbox.scan(Why::Sweep(now), Some(reply)) {
                return Err(StoreError::Busy);
            }
        }
        self.shared.wake.notify_one();
        receiver
            .await
            .unwrap_or(Err(Fault::Closed))
            .map_err(StoreError::File)
    }

    /// Follows a change of policies ([`zonai_limit::Limiter::replace`]): stored rows get the windows that their counters
    /// have now, and those of operations that are not limited any more go, in the background.
    pub fn policies_changed(&self, changes: &Changes) {
        let renames = Renames {
            renamed: changes
                .renamed
                .iter()
                .map(|(slot, from, _)| (from.clone().into(), *slot))
                .collect(),
            retired: changes
                .retired
                .iter()
                .map(|(_, name)| name.clone().into())
                .collect(),
        };
        let taken = self
            .shared
            .inbox
            .lock()
            .scan(Why::Rename(Arc::new(renames)), None);
        if !taken {
            tracing::warn!(
                "too many changes of policies wait; stored windows follow as requests come"
            );
        }
        self.shared.wake.notify_one();
    }

    /// Writes what is left, syncs, and joins the thread. A second call does nothing. It blocks; on a runtime call it where
    /// that is allowed.
    pub fn close(&self) -> CloseReport {
        self.shared.inbox.lock().stop = true;
        self.shared.wake.notify_one();
        let Some(thread) = self.thread.lock().take() else {
            return CloseReport::default();
        };
        let ended = thread.join().unwrap_or_else(|_| Ended {
            unwritten: self.shared.backlog(),
            fault: Some(Fault::Io(
                "the thread of the counter file ended early".to_owned(),
            )),
        });
        // Whoever still waits is told.
        let left = std::mem::take(&mut *self.shared.inbox.lock());
        self.shared.inbox.lock().stop = true;
        drop(left);
        CloseReport {
            unwritten: ended.unwritten,
            fault: ended.fault,
        }
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        let report = self.close();
        if report.unwritten > 0 {
            tracing::warn!(
                unwritten = report.unwritten,
                "some rate limit counters could not be written before the end"
            );
        }
    }
}
