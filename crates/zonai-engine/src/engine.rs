//! The engine: one data file, one writer with group commit, a few readers.
//!
//! Every use asks for a [`Pass`], which only the limiter makes, so that no route can come here around it. Callers
//! bring closures over a connection; what they may hold up is bounded (64 writes wait, 256 reads are in flight) and
//! beyond that they are turned away at once, never queued without end.

mod connection;
mod deadline;
mod options;
mod queue;
mod readers;
mod status;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rusqlite::Connection;

pub use connection::open_for_setup;
pub(crate) use connection::setup;
use deadline::Closing;
pub use options::{EngineOptions, OpenError};
use readers::Readers;
use writer::Writer;
use zonai_clock::Clock;

use crate::changes::Changes;
use crate::{DataError, Pass};

/// A handle on the data file. Clones share everything; the last one to go joins the threads.
#[derive(Clone)]
pub struct Engine {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    writer: Writer,
    readers: Readers,
    changes: Changes,
    closing: Closing,
    clock: Clock,
    /// Jobs that were handed in since the start.
    jobs: AtomicU64,
}

impl Engine {
    /// Opens (or makes) the data file and starts the threads.
    ///
    /// # Errors
    /// When the file cannot be opened or made, is no SQLite file, or a thread cannot be started.
    pub fn open(path: &Path, options: &EngineOptions) -> Result<Self, OpenError> {
        let changes = Changes::new(options.change_backlog);
        let closing = Closing::new();
        let writer = Writer::start(path, options, changes.clone(), &closing)?;
        let readers = Readers::start(path, options, &closing)?;
        Ok(Self {
            shared: Arc::new(Shared {
                path: path.to_owned(),
                writer,
                readers,
                changes,
                closing,
                clock: options.clock.clone(),
                jobs: AtomicU64::new(0),
            }),
        })
    }

    /// Runs `job` on the writer, in a savepoint of its own inside one transaction with whatever else waits. The
    /// answer comes after the commit, so that what was answered is written. An error of the job, of whatever kind, undoes
    /// the job and nothing else.
    ///
    /// The job runs to its end even when the future is dropped.
    ///
    /// # Errors
    /// [`DataError::BusyWriting`] at once when as many writes wait as may wait; what the job returns; and
    /// [`DataError::Internal`] when the job panics or the commit fails.
    pub async fn write<T, E, F>(&self, _pass: &impl Pass, job: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DataError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        self.hand_in(job, true).await
    }

    /// As [`Engine::write`], for what the project itself wrote down: it may take as long as it takes.
    ///
    /// # Errors
    /// As [`Engine::write`].
    pub(crate) async fn write_at_length<T, E, F>(&self, _pass: &impl Pass, job: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DataError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        self.hand_in(job, false).await
    }

    /// Hands a job to the writer and waits for what came of it.
    async fn hand_in<T, E, F>(&self, job: F, bounded: bool) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<DataError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        self.shared.jobs.fetch_add(1, Ordering::Relaxed);
        let answer = self.shared.writer.submit(job, bounded)?;
        answer
            .await
            .unwrap_or_else(|lost| Err(DataError::internal("waiting for a write", &lost).into()))
    }

    /// Runs `job` on a reader thread, on one snapshot of the data: for reads of any length.
    ///
    /// # Errors
    /// [`DataError::BusyReading`] at once when as many reads are in flight as may be; what the job returns; and
    /// [`DataError::Internal`] when it panics.
    pub async fn read<T, F>(&self, _pass: &impl Pass, job: F) -> Result<T, DataError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, DataError> + Send + 'static,
    {
        self.shared.jobs.fetch_add(1, Ordering::Relaxed);
        let answer = self.shared.readers.submit(job)?;
        answer
            .await
            .unwrap_or_else(|lost| Err(DataError::internal("waiting for a read", &lost)))
    }

    /// Runs `job` here and now, on the thread of the caller: only for reads that touch a handful of rows by a key,
    /// which take a few microseconds and would spend twice that on changing threads.
    ///
    /// # Errors
    /// As [`Engine::read`].
    pub fn read_here<T>(
        &self,
        _pass: &impl Pass,
        job: impl FnOnce(&Connection) -> Result<T, DataError>,
    ) -> Result<T, DataError> {
        self.shared.jobs.fetch_add(1, Ordering::Relaxed);
        self.shared.readers.run_here(job)
    }

    /// What changes in the data, table by table; see [`Changes`].
    #[must_use]
    pub fn changes(&self) -> &Changes {
        &self.shared.changes
    }

    /// The data file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Writes that wait now, for metrics.
    #[must_use]
    pub fn writes_waiting(&self) -> usize {
        self.shared.writer.waiting()
    }

    /// Reads in flight now, for metrics.
    #[must_use]
    pub fn reads_in_flight(&self) -> usize {
        self.shared.readers.in_flight()
    }

    /// Reads and writes that were asked for since the start, turned away or not, for metrics.
    #[must_use]
    pub fn jobs(&self) -> u64 {
        self.shared.jobs.load(Ordering::Relaxed)
    }

    /// Takes no more work, finishes what was taken, and joins the threads. Later uses get [`DataError::Internal`].
    /// Blocks, for two seconds at most: what takes longer is broken off, and undone.
    pub fn close(&self) {
        self.shared.closing.begin(&self.shared.clock);
        self.shared.writer.close();
        self.shared.readers.close();
    }
}
