//! The handle that the server holds: opens the store, waits for durable counts, lists, frees, sweeps, closes.
//!
//! Must never make a decision wait: only durable operations wait, and those at most `commit_timeout`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::{Builder, JoinHandle};

use parking_lot::Mutex;
use tokio::sync::oneshot;
use tokio::time::timeout;
use zonai_clock::Clock;
use zonai_limit::{CounterKey, CounterState, Counters, Moment};

use crate::fault::Fault;
use crate::health::{Gauges, Health, HealthCell, Metrics};
use crate::inbox::{Free, Inbox, MAX_FREES, Why};
use crate::naming::{SlotNames, columns_of, key_of};
use crate::options::Options;
use crate::row::{CounterRow, Filter, id_of};
use crate::shared::Shared;
use crate::writer::{Ended, Writer};

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

/// What was freed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Freed {
    /// The counters that were removed from memory, as they were named.
    pub counters: usize,
    /// Wider counters in which the client may be counted while memory is full. They hold other clients, too, and
    /// were left alone; free them by their own name.
    pub wider: Vec<CounterRow>,
    /// Whether the file shows it already. If not, it will as soon as it can be written.
    pub on_file: bool,
}

/// In which order counters are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The window that opened last comes first.
    #[default]
    Newest,
    /// The highest count comes first.
    Count,
}

/// A page of counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// The counters.
    pub rows: Vec<CounterRow>,
    /// How many there are in all.
    pub total: usize,
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

    /// The counters in memory whose window is open: `limit` of them, `offset` left out.
    #[must_use]
    pub fn list(&self, filter: &Filter, order: Order, offset: usize, limit: usize) -> Listing {
        let mut found = self.find(|key| filter.matches_client(&key.client), filter);
        found.sort_unstable_by(|(_, a), (_, b)| match order {
            Order::Newest => b
                .window_start
                .cmp(&a.window_start)
                .then(b.count.cmp(&a.count)),
            Order::Count => b
                .count
                .cmp(&a.count)
                .then(b.window_start.cmp(&a.window_start)),
        });
        let total = found.len();
        let rows = found
            .iter()
            .skip(offset)
            .take(limit)
            .filter_map(|(key, state)| self.row(key, *state))
            .collect();
        Listing { rows, total }
    }

    /// Frees the counters that `filter` means: the next decision counts from nothing, and the file follows at once where
    /// it can.
    ///
    /// # Errors
    /// [`StoreError::Busy`], with nothing freed, when over a thousand clients wait to be freed on the file.
    pub async fn free(&self, filter: Filter) -> Result<Freed, StoreError> {
        let wider = self.wider(&filter);
        let names = Arc::clone(&self.shared.names);
        let meant = filter.clone();
        let matches = move |key: &CounterKey| {
            meant.matches_client(&key.client)
                && names
                    .name_of(key.slot)
                    .is_some_and(|name| meant.matches_name(&name.table, name.operation))
        };
        let (counters, on_file) = self.free_where(filter, matches).await?;
        Ok(Freed {
            counters,
            wider,
            on_file,
        })
    }

    /// Frees exactly these counters, as they were listed.
    ///
    /// # Errors
    /// As [`Self::free`].
    pub async fn free_rows(&self, rows: &[CounterRow]) -> Result<Freed, StoreError> {
        let keys: std::collections::HashSet<CounterKey> = rows
            .iter()
            .filter_map(|row| {
                key_of(
                    &*self.shared.names,
                    &row.client_ip,
                    &row.table,
                    &row.operation,
                    row.window_ms,
                )
            })
            .collect();
        // Nothing else is meant on the file: the keys alone.
        let nothing = Filter {
            table: Some(String::new()),
            client: None,
            operation: None,
        };
        let (counters, on_file) = self
            .free_where(nothing, move |key| keys.contains(key))
            .await?;
        Ok(Freed {
            counters,
            wider: Vec::new(),
            on_file,
        })
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

    /// Says that slots have other names or windows now: stored rows are brought under them in the background.
    pub fn policies_changed(&self) {
        self.shared.inbox.lock().scan(Why::Follow, None);
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

    async fn free_where(
        &self,
        filter: Filter,
        mut matches: impl FnMut(&CounterKey) -> bool,
    ) -> Result<(usize, bool), StoreError> {
        let (reply, receiver) = oneshot::channel();
        let (counters, waits) = {
            // Under the inbox's lock, so that the order on the file is the order in memory.
            let mut inbox = self.shared.inbox.lock();
            if inbox.frees.len() >= MAX_FREES {
                return Err(StoreError::Busy);
            }
            let keys = self.shared.counters.free(&mut matches);
            let counters = keys.len();
            let waits = inbox.down.is_none() && !inbox.stop;
            inbox.frees.push_back(Free {
                filter,
                keys,
                reply: waits.then_some(reply),
            });
            (counters, waits)
        };
        self.shared.wake.notify_one();
        let on_file = waits
            && matches!(
                timeout(self.shared.options.commit_timeout, receiver).await,
                Ok(Ok(Ok(())))
            );
        Ok((counters, on_file))
    }

    /// The wider counters of the filter's client.
    fn wider(&self, filter: &Filter) -> Vec<CounterRow> {
        let wider: Vec<_> =
            std::iter::successors(filter.client.and_then(|client| client.wider()), |client| {
                client.wider()
            })
            .collect();
        if wider.is_empty() {
            return Vec::new();
        }
        let found = self.find(|key| wider.contains(&key.client), filter);
        found
            .iter()
            .filter_map(|(key, state)| self.row(key, *state))
            .collect()
    }

    /// Counters with an open window whose name the filter takes.
    fn find(
        &self,
        mut is_meant: impl FnMut(&CounterKey) -> bool,
        filter: &Filter,
    ) -> Vec<(CounterKey, CounterState)> {
        let mut found = Vec::new();
        self.shared.counters.for_each(&mut |key, state| {
            if is_meant(&key) {
                found.push((key, state));
            }
        });
        let now = self.shared.clock.now();
        found.retain(|(key, state)| {
            self.shared.names.name_of(key.slot).is_some_and(|name| {
                now.since(state.window_start) < name.window_ms
                    && filter.matches_name(&name.table, name.operation)
            })
        });
        found
    }

    fn row(&self, key: &CounterKey, state: CounterState) -> Option<CounterRow> {
        let columns = columns_of(&*self.shared.names, key)?;
        Some(CounterRow {
            id: id_of(
                &columns.client_ip,
                &columns.table,
                &columns.operation,
                columns.window_ms,
            ),
            client_ip: columns.client_ip,
            table: columns.table.to_string(),
            operation: columns.operation.into_owned(),
            window_start: self.shared.clock.steady_wall_ms(state.window_start),
            count: state.count,
            window_ms: columns.window_ms,
        })
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
