//! A job on its way through the writer: run once, then told how the transaction ended.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::DataError;
use crate::error::panic_text;

pub(super) trait Job: Send {
    /// Runs the work and keeps its result. True when its changes are to be kept.
    fn run(&mut self, conn: &Connection) -> bool;
    /// Whether it may take only as long as a request.
    fn is_bounded(&self) -> bool;
    /// What it did cannot be kept, whatever it returned.
    fn fail(&mut self, error: DataError);
    /// Hands the result over. Only after the transaction has ended.
    fn answer(self: Box<Self>);
}

pub(super) struct Typed<T, E, F> {
    work: Option<F>,
    /// `None` until it ran or failed.
    result: Option<Result<T, E>>,
    reply: oneshot::Sender<Result<T, E>>,
    bounded: bool,
}

impl<T, E, F> Typed<T, E, F> {
    pub(super) fn new(work: F, reply: oneshot::Sender<Result<T, E>>, bounded: bool) -> Self {
        Self {
            work: Some(work),
            result: None,
            reply,
            bounded,
        }
    }
}

impl<T, E, F> Job for Typed<T, E, F>
where
    T: Send,
    E: From<DataError> + Send,
    F: FnOnce(&Connection) -> Result<T, E> + Send,
{
    fn run(&mut self, conn: &Connection) -> bool {
        if let Some(work) = self.work.take() {
            self.result = Some(guarded(|| work(conn)));
        }
        matches!(self.result, Some(Ok(_)))
    }

    fn is_bounded(&self) -> bool {
        self.bounded
    }

    fn fail(&mut self, error: DataError) {
        // A job that failed by itself keeps its own reason.
        if !matches!(self.result, Some(Err(_))) {
            self.result = Some(Err(error.into()));
        }
    }

    fn answer(self: Box<Self>) {
        if let Some(result) = self.result {
            // The caller may have gone; what was written stays written.
            let _ = self.reply.send(result);
        }
    }
}

/// Runs a job of a caller; a panic becomes an internal error and the thread lives on.
pub(in crate::engine) fn guarded<T, E: From<DataError>>(
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        Err(DataError::internal("running a job", &panic_text(&*panic)).into())
    })
}
