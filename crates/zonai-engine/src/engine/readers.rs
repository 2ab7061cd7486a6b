//! Readers: a few threads for reads of any length, and connections for short reads on the caller's own thread.
//!
//! Both count against one bound. A read sees one snapshot from its first statement to its last.
//! Must never write: its connections are opened for reading only.

mod reader;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;

use parking_lot::{Mutex, MutexGuard};
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::deadline::Closing;
use super::queue::{Queue, Refused};
use super::{EngineOptions, OpenError};
use crate::DataError;
use reader::Reader;

type Job = Box<dyn FnOnce(&Reader) + Send>;

pub(super) struct Readers {
    queue: Arc<Queue<Job>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    here: Vec<Mutex<Reader>>,
    places: Arc<AtomicUsize>,
    limit: usize,
}

impl Readers {
    pub(super) fn start(
        path: &Path,
        options: &EngineOptions,
        closing: &Closing,
    ) -> Result<Self, OpenError> {
        let queue: Arc<Queue<Job>> = Arc::new(Queue::new(options.reads));
        let count = options.readers.max(1);
        let here = (0..count)
            .map(|_| Reader::open(path, options, closing).map(Mutex::new))
            .collect::<Result<Vec<_>, _>>()?;
        let readers = Self {
            queue,
            threads: Mutex::new(Vec::with_capacity(count)),
            here,
            places: Arc::new(AtomicUsize::new(0)),
            limit: options.reads,
        };
        for at in 0..count {
            let reader = Reader::open(path, options, closing)?;
            let queue = Arc::clone(&readers.queue);
            let thread = std::thread::Builder::new()
                .name(format!("zonai-read-{at}"))
                .spawn(move || {
                    while let Some(job) = queue.take() {
                        job(&reader);
                    }
                })
                .map_err(OpenError::Thread)?;
            readers.threads.lock().push(thread);
        }
        Ok(readers)
    }

    pub(super) fn submit<T, F>(
        &self,
        job: F,
    ) -> Result<oneshot::Receiver<Result<T, DataError>>, DataError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, DataError> + Send + 'static,
    {
        let place = self.place()?;
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |reader| {
            // Nobody waits for it any more.
            if reply.is_closed() {
                return;
            }
            let result = reader.snapshot(job);
            // Given back first, so that who has an answer also finds a free place.
            drop(place);
            let _ = reply.send(result);
        });
        match self.queue.push(job) {
            Ok(()) => Ok(answer),
            Err(Refused::Full) => Err(DataError::BusyReading),
            Err(Refused::Closed) => Err(DataError::internal(
                "queueing a read",
                &"the engine is closed",
            )),
        }
    }

    pub(super) fn run_here<T>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, DataError>,
    ) -> Result<T, DataError> {
        let place = self.place()?;
        let reader = self.free();
        let result = reader.within_time(job);
        drop(place);
        result
    }

    pub(super) fn in_flight(&self) -> usize {
        self.places.load(Ordering::Relaxed)
    }

    pub(super) fn close(&self) {
        self.queue.close();
        for thread in self.threads.lock().drain(..) {
            let _ = thread.join();
        }
    }

    fn place(&self) -> Result<Place, DataError> {
        let taken = Place(Arc::clone(&self.places));
        if self.places.fetch_add(1, Ordering::Relaxed) >= self.limit {
            return Err(DataError::BusyReading);
        }
        Ok(taken)
    }

    /// One that nobody uses, or the first once it is free: they are only held for microseconds.
    fn free(&self) -> MutexGuard<'_, Reader> {
        self.here
            .iter()
            .find_map(Mutex::try_lock)
            .unwrap_or_else(|| self.here[0].lock())
    }
}

impl Drop for Readers {
    fn drop(&mut self) {
        self.close();
    }
}

/// A place among the reads in flight; dropping it gives it back.
struct Place(Arc<AtomicUsize>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
