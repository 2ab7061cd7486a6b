//! How the engine is set up, and why it may not start.

use std::path::PathBuf;
use std::time::Duration;

use zonai_clock::Clock;

/// Bounds and sizes of the engine.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// How many writes may wait (64).
    pub write_queue: usize,
    /// How many reads may be in flight, queued ones included (256).
    pub reads: usize,
    /// Threads for reads (one per core, at least 2, at most 16).
    pub readers: usize,
    /// How long to wait for another program that holds the file (5 s).
    pub busy_timeout: Duration,
    /// Prepared statements kept per connection (256).
    pub statements: usize,
    /// How long one read or write of a request may take before it is broken off with 503 (10 s). The SQL of a project's jobs may
    /// take longer.
    pub time: Duration,
    /// Sync the disk on every commit, so that a power cut loses nothing (off: it may lose the last moments; a killed
    /// process loses nothing either way).
    pub sync_every_commit: bool,
    /// Change sets kept for a slow subscriber before it is told that anything may have changed (256).
    pub change_backlog: usize,
    /// What `time` is measured with. A database puts its own here.
    pub clock: Clock,
}

impl Default for EngineOptions {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            write_queue: 64,
            reads: 256,
            readers: cores.clamp(2, 16),
            busy_timeout: Duration::from_secs(5),
            statements: 256,
            time: Duration::from_secs(10),
            sync_every_commit: false,
            change_backlog: 256,
            clock: Clock::system(),
        }
    }
}

/// Why the data file could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// SQLite says no.
    #[error("cannot open the data file {path}")]
    File {
        /// The data file.
        path: PathBuf,
        /// What SQLite says.
        #[source]
        source: rusqlite::Error,
    },
    /// The operating system gives no thread.
    #[error("cannot start a thread of the data engine")]
    Thread(#[source] std::io::Error),
}
