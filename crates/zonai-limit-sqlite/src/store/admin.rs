//! What administrators do with counters: list them, and free a client.
//!
//! Must never show or free anything but what is in memory now: the file follows.

use std::collections::HashSet;
use std::sync::Arc;

use parking_lot::MutexGuard;
use tokio::sync::oneshot;
use tokio::time::timeout;
use zonai_limit::{CounterKey, CounterState};

use super::{SqliteStore, StoreError};
use crate::inbox::{Free, MAX_FREES};
use crate::naming::{columns_of, key_of};
use crate::row::{CounterRow, Filter, id_of};

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

impl SqliteStore {
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
        let matches = move |key: &CounterKey| meant.matches_key(&*names, key);
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
        let keys: HashSet<CounterKey> = rows
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

    async fn free_where(
        &self,
        filter: Filter,
        mut matches: impl FnMut(&CounterKey) -> bool,
    ) -> Result<(usize, bool), StoreError> {
        let (reply, receiver) = oneshot::channel();
        let (counters, waits) = {
            let mut inbox = self.shared.inbox.lock();
            if inbox.frees.len() >= MAX_FREES {
                return Err(StoreError::Busy);
            }
            let keys = if inbox.loaded {
                // Decisions that wait for a commit need the lock, and a million counters take a while.
                MutexGuard::unlocked(&mut inbox, || self.shared.counters.free(&mut matches))
            } else {
                self.shared.counters.free(&mut matches)
            };
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
