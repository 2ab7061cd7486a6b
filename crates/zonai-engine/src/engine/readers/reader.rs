//! One connection for reads, which breaks off what takes too long.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;
use zonai_clock::Clock;

use crate::DataError;
use crate::engine::connection::{self, Role};
use crate::engine::writer::guarded;
use crate::engine::{EngineOptions, OpenError};

/// Steps of SQLite's machine between two looks at the clock: some 100 µs.
const STEPS: i32 = 20_000;

pub(super) struct Reader {
    conn: Connection,
    clock: Clock,
    read_ms: u64,
    /// When the running read is broken off, in ms since boot.
    end: Arc<AtomicU64>,
}

impl Reader {
    pub(super) fn open(path: &Path, options: &EngineOptions) -> Result<Self, OpenError> {
        let mut conn = connection::open(path, options, Role::Read)?;
        let end = Arc::new(AtomicU64::new(u64::MAX));
        let overdue = {
            let (end, clock) = (Arc::clone(&end), options.clock.clone());
            move || clock.now().as_millis() > end.load(Ordering::Relaxed)
        };
        conn.progress_handler(STEPS, Some(overdue))
            .map_err(|source| OpenError::File {
                path: path.to_owned(),
                source,
            })?;
        Ok(Self {
            conn,
            clock: options.clock.clone(),
            read_ms: u64::try_from(options.read_time.as_millis()).unwrap_or(u64::MAX),
            end,
        })
    }

    /// Runs a read; it ends with an error when it takes too long.
    pub(super) fn within_time<T>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, DataError>,
    ) -> Result<T, DataError> {
        let end = self.clock.now().as_millis().saturating_add(self.read_ms);
        self.end.store(end, Ordering::Relaxed);
        let result = guarded(|| job(&self.conn));
        self.end.store(u64::MAX, Ordering::Relaxed);
        result
    }

    /// Runs a read of several statements on one state of the data.
    pub(super) fn snapshot<T>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, DataError>,
    ) -> Result<T, DataError> {
        if !self.conn.is_autocommit() {
            self.conn.prepare_cached("ROLLBACK")?.execute([])?;
        }
        self.conn.prepare_cached("BEGIN")?.execute([])?;
        let result = self.within_time(job);
        self.conn.prepare_cached("COMMIT")?.execute([])?;
        result
    }
}
