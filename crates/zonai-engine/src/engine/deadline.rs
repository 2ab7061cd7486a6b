//! When a statement is broken off: one that takes too long, and all of them once the engine closes.
//!
//! Must never end a statement that is in time. SQLite asks between two steps of its machine, so one call of a function on a long
//! text (`instr` over a megabyte) is waited for.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use zonai_clock::Clock;

use super::{EngineOptions, OpenError};

/// Steps of SQLite's machine between two looks at the clock: some microseconds, or as many calls of one function as take well under
/// a second on the longest text that a request can bring.
const STEPS: i32 = 250;
/// How long what was taken in may go on when the engine closes.
const CLOSING: Duration = Duration::from_secs(2);

/// Until when what runs may go on, in ms since boot, for all connections that close together.
#[derive(Clone, Debug)]
pub(super) struct Closing(Arc<AtomicU64>);

impl Closing {
    pub(super) fn new() -> Self {
        Self(Arc::new(AtomicU64::new(u64::MAX)))
    }

    /// From now on there is little time.
    pub(super) fn begin(&self, clock: &Clock) {
        let end = clock.now().as_millis().saturating_add(millis(CLOSING));
        self.0.fetch_min(end, Ordering::Relaxed);
    }
}

/// The deadline of one connection.
pub(super) struct Deadline {
    clock: Clock,
    bound_ms: u64,
    /// Of the running job, in ms since boot.
    end: Arc<AtomicU64>,
}

impl Deadline {
    /// Watches over a connection.
    pub(super) fn watch(
        conn: &mut Connection,
        path: &Path,
        options: &EngineOptions,
        closing: &Closing,
    ) -> Result<Self, OpenError> {
        let end = Arc::new(AtomicU64::new(u64::MAX));
        let overdue = {
            let (end, closing, clock) = (Arc::clone(&end), closing.clone(), options.clock.clone());
            move || {
                let end = end.load(Ordering::Relaxed);
                clock.now().as_millis() > end.min(closing.0.load(Ordering::Relaxed))
            }
        };
        conn.progress_handler(STEPS, Some(overdue))
            .map_err(|source| OpenError::File {
                path: path.to_owned(),
                source,
            })?;
        Ok(Self {
            clock: options.clock.clone(),
            bound_ms: millis(options.time),
            end,
        })
    }

    /// Runs `job`, for as long as one may take.
    pub(super) fn hold<T>(&self, job: impl FnOnce() -> T) -> T {
        let end = self.clock.now().as_millis().saturating_add(self.bound_ms);
        self.end.store(end, Ordering::Relaxed);
        let result = job();
        self.end.store(u64::MAX, Ordering::Relaxed);
        result
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
