//! What can go wrong with a request for data, as the server's status map needs it.
//!
//! `Display` is the text a caller reads: it must never hold SQL, a path or the cause of an internal error. Those go
//! to the log where the error is made.

mod sqlite;
mod start;

use serde_json::Value;

pub use start::StartError;

/// Why a request for data failed. One variant for each status that the data layer can cause.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum DataError {
    /// 400: the payload is wrong; the text says where.
    #[error("{0}")]
    BadRequest(String),
    /// 403. Never says why.
    #[error("Forbidden")]
    Forbidden,
    /// 404: no such table.
    #[error("Not found")]
    NotFound,
    /// 404: no row of the table meets the `where`.
    #[error("Record not found (table: {table})")]
    RecordNotFound {
        /// The table that was asked.
        table: String,
    },
    /// 409: a value that must be unique is taken.
    #[error("{0}")]
    Conflict(String),
    /// 412: a target does not meet `expect`; nothing was written.
    #[error("{message}")]
    PreconditionFailed {
        /// For people.
        message: String,
        /// For programs.
        details: Value,
    },
    /// 422: a foreign key, a check or a type.
    #[error("{0}")]
    Unprocessable(String),
    /// 503: as many writes wait as may wait. Retry after a second.
    #[error("Server is busy writing; retry shortly (write queue saturated).")]
    BusyWriting,
    /// 503: as many reads run as may run. Retry after a second.
    #[error("Server is busy reading; retry shortly (read concurrency saturated).")]
    BusyReading,
    /// 503: it took longer than a statement may, or the server stops; nothing was written.
    #[error("Broken off, because it took too long; retry later, or ask for less at a time.")]
    BrokenOff,
    /// 503: large results that nobody takes hold all the room that there is for them. Retry after a second.
    #[error("Server is busy answering; retry shortly (answers saturated).")]
    NoRoom,
    /// 500. The cause is in the log.
    #[error("Internal error")]
    Internal,
}

/// An error with its causes, on one line, for operators; a text that repeats its cause is not made longer.
#[must_use]
pub fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// What a caught panic said, for operators.
#[must_use]
pub fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("a panic without a text")
}

impl DataError {
    /// An internal error: `cause` goes to the log together with what was being done, never to the caller.
    #[must_use]
    pub fn internal(doing: &str, cause: &dyn std::fmt::Display) -> Self {
        tracing::error!(doing, cause = %cause, "data engine failed");
        Self::Internal
    }

    /// A payload fault at a place such as `where.or[3].column`: a 400 that reads `place: what`. Callers read both.
    pub fn at(place: impl std::fmt::Display, what: impl std::fmt::Display) -> Self {
        Self::BadRequest(format!("{place}: {what}"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "tests")]
    use std::panic::{catch_unwind, panic_any};

    use super::*;

    #[test]
    fn a_panic_is_told_by_its_text() {
        let text = |work: fn()| {
            let panic = catch_unwind(work).err();
            panic.map(|panic| panic_text(&*panic).to_owned())
        };
        assert_eq!(text(|| panic!("as it is")).as_deref(), Some("as it is"));
        let made = text(|| panic!("of {} parts", 2));
        assert_eq!(made.as_deref(), Some("of 2 parts"));
        let none = text(|| panic_any(7));
        assert_eq!(none.as_deref(), Some("a panic without a text"));
    }
}
