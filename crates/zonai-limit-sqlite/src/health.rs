//! Whether the file follows the memory, and how far behind it is: for `/health`, the log and the metrics.
//!
//! One log line per change of state, however many requests meet it.
//! Must never decide on a request: that the file does not follow is for people to know.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};

use parking_lot::Mutex;
use zonai_limit::Moment;

use crate::fault::Fault;

/// The state of the counter file. Requests are decided in any state.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// What changes in memory is written.
    Ok,
    /// What changes in memory is kept there and written when that is possible again.
    Degraded {
        /// What is wrong.
        fault: Fault,
        /// Since when.
        since: Moment,
    },
}

/// Figures of the store since it was opened, and its backlog now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
    /// Counters in memory that the file does not show yet: what a `kill -9` would lose now, durable ones apart.
    pub backlog: usize,
    /// Transactions committed.
    pub slices: u64,
    /// Rows written or deleted.
    pub rows_written: u64,
    /// How long the last commit took, in ms.
    pub last_commit_ms: u64,
    /// Durable operations that went on from memory because the commit took too long.
    pub commit_timeouts: u64,
    /// Durable operations that went on from memory at once, because the file had a fault.
    pub commits_skipped: u64,
    /// How often commits were brought to the disk.
    pub syncs: u64,
    /// How often the state went from ok to degraded.
    pub faults: u64,
    /// Counters that were read from the file.
    pub restored: u64,
}

#[derive(Default)]
pub(crate) struct Gauges {
    pub(crate) in_flight: AtomicUsize,
    pub(crate) slices: AtomicU64,
    pub(crate) rows_written: AtomicU64,
    pub(crate) last_commit_ms: AtomicU64,
    pub(crate) commit_timeouts: AtomicU64,
    pub(crate) commits_skipped: AtomicU64,
    pub(crate) syncs: AtomicU64,
    pub(crate) faults: AtomicU64,
    pub(crate) restored: AtomicU64,
}

impl Gauges {
    pub(crate) fn metrics(&self, backlog: usize) -> Metrics {
        Metrics {
            backlog,
            slices: self.slices.load(Relaxed),
            rows_written: self.rows_written.load(Relaxed),
            last_commit_ms: self.last_commit_ms.load(Relaxed),
            commit_timeouts: self.commit_timeouts.load(Relaxed),
            commits_skipped: self.commits_skipped.load(Relaxed),
            syncs: self.syncs.load(Relaxed),
            faults: self.faults.load(Relaxed),
            restored: self.restored.load(Relaxed),
        }
    }
}

pub(crate) struct HealthCell(Mutex<Health>);

impl HealthCell {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Health::Ok))
    }

    pub(crate) fn get(&self) -> Health {
        self.0.lock().clone()
    }

    /// Notes a fault; true where it was not known yet.
    pub(crate) fn degrade(&self, fault: &Fault, now: Moment) -> bool {
        let mut health = self.0.lock();
        let since = match &*health {
            Health::Degraded { fault: known, .. } if known == fault => return false,
            Health::Degraded { since, .. } => *since,
            Health::Ok => now,
        };
        *health = Health::Degraded {
            fault: fault.clone(),
            since,
        };
        drop(health);
        tracing::warn!(reason = %fault, "rate limit counters are kept in memory only; deciding goes on");
        true
    }

    /// Notes that the file follows again.
    pub(crate) fn recover(&self, now: Moment) {
        let mut health = self.0.lock();
        let Health::Degraded { since, .. } = &*health else {
            return;
        };
        let degraded_ms = now.since(*since);
        *health = Health::Ok;
        drop(health);
        tracing::info!(
            degraded_ms,
            "rate limit counters are written to the counter file again"
        );
    }
}
