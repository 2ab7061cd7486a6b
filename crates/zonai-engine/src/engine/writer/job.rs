//! A job on its way through the writer: run once, then told how the transaction ended.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::DataError;

pub(super) trait Job: Send {
    /// Runs the work and keeps its result. True when its changes are to be kept.
    fn run(&mut self, conn: &Connection) -> bool;
    /// What it did cannot be kept, whatever it returned.
    fn fail(&mut self, error: DataError);
    /// Hands the result over. Only after the transaction has ended.
    fn answer(self: Box<Self>);
}

pub(super) struct Typed<T, F> {
    work: Option<F>,
    result: Result<T, DataError>,
    reply: oneshot::Sender<Result<T, DataError>>,
}

impl<T, F> Typed<T, F> {
    pub(super) fn new(work: F, reply: oneshot::Sender<Result<T, DataError>>) -> Self {
        Self {
            work: Some(work),
            result: Err(DataError::Internal),
            reply,
        }
    }
}

impl<T, F> Job for Typed<T, F>
where
    T: Send,
    F: FnOnce(&Connection) -> Result<T, DataError> + Send,
{
    fn run(&mut self, conn: &Connection) -> bool {
        if let Some(work) = self.work.take() {
            self.result = guarded(|| work(conn));
        }
        self.result.is_ok()
    }

    fn fail(&mut self, error: DataError) {
        // A job that failed by itself keeps its own reason.
        if self.result.is_ok() || self.work.is_some() {
            self.result = Err(error);
        }
    }

    fn answer(self: Box<Self>) {
        // The caller may have gone; what was written stays written.
        let _ = self.reply.send(self.result);
    }
}

/// Runs a job of a caller; a panic becomes an internal error and the thread lives on.
pub(in crate::engine) fn guarded<T>(
    work: impl FnOnce() -> Result<T, DataError>,
) -> Result<T, DataError> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_else(|| "a panic without a text".to_owned());
        Err(DataError::internal("running a job", &text))
    })
}
