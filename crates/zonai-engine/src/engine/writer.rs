//! The one writer: a thread that takes all that waits, runs each job in its own savepoint, commits once, and only then answers.
//!
//! Must never answer before the commit, and must never let one job undo another.

mod batch;
mod job;

use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::connection::{self, Role};
use super::deadline::{Closing, Deadline};
use super::queue::{Queue, Refused, Taken};
use super::{EngineOptions, OpenError};
use crate::DataError;
use crate::changes::{Changes, Recorder, data_version};
use job::{Job, Typed};

pub(super) use job::guarded;

/// How often to look whether another program wrote, while somebody wants to know.
const WATCH: Duration = Duration::from_millis(100);
/// How soon the first subscriber is noticed.
const IDLE: Duration = Duration::from_millis(500);

pub(super) struct Writer {
    queue: Arc<Queue<Box<dyn Job>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(super) fn start(
        path: &Path,
        options: &EngineOptions,
        changes: Changes,
        closing: &Closing,
    ) -> Result<Self, OpenError> {
        let mut conn = connection::open(path, options, Role::Write)?;
        let deadline = Deadline::watch(&mut conn, path, options, closing)?;
        let seen = data_version(&conn).ok();
        let queue = Arc::new(Queue::new(options.write_queue));
        let thread = std::thread::Builder::new()
            .name("zonai-write".to_owned())
            .spawn({
                let queue = Arc::clone(&queue);
                move || run(&conn, &deadline, &queue, changes, seen)
            })
            .map_err(OpenError::Thread)?;
        Ok(Self {
            queue,
            thread: Mutex::new(Some(thread)),
        })
    }

    /// `bounded`: broken off when it takes longer than a request may.
    pub(super) fn submit<T, E, F>(
        &self,
        job: F,
        bounded: bool,
    ) -> Result<oneshot::Receiver<Result<T, E>>, DataError>
    where
        T: Send + 'static,
        E: From<DataError> + Send + 'static,
        F: FnOnce(&Connection) -> Result<T, E> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        match self.queue.push(Box::new(Typed::new(job, reply, bounded))) {
            Ok(()) => Ok(answer),
            Err(Refused::Full) => Err(DataError::BusyWriting),
            Err(Refused::Closed) => Err(DataError::internal(
                "queueing a write",
                &"the engine is closed",
            )),
        }
    }

    pub(super) fn waiting(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn close(&self) {
        self.queue.close();
        if let Some(thread) = self.thread.lock().take() {
            // Jobs are run under `catch_unwind`; a panic of the thread itself was reported when it happened.
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.close();
    }
}

fn run(
    conn: &Connection,
    deadline: &Deadline,
    queue: &Queue<Box<dyn Job>>,
    changes: Changes,
    seen: Option<i64>,
) {
    let recorder = Recorder::attach(conn, changes, seen);
    let mut jobs = Vec::new();
    loop {
        let patience = if recorder.is_listened_to() {
            WATCH
        } else {
            IDLE
        };
        match queue.take_all(&mut jobs, patience) {
            Taken::Some => batch::run(conn, deadline, &mut jobs, &recorder),
            Taken::Nothing => {}
            Taken::Closed => break,
        }
        if recorder.is_listened_to() {
            recorder.look_for_others();
        }
    }
    // So that the file stands on its own as far as it can, and the next start plans its queries well.
    if let Err(cause) = conn.execute_batch("PRAGMA optimize; PRAGMA wal_checkpoint(PASSIVE);") {
        tracing::warn!(%cause, "cannot tidy up the data file");
    }
}
