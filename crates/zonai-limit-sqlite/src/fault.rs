//! What can be wrong with the counter file, in words an operator can act on.
//!
//! Must never reach a caller of the API: faults are for the log, `/health` and the command line.

use std::io;

use rusqlite::{Error as Sqlite, ErrorCode};

/// Why the file does not follow the memory at the moment. Deciding goes on in any case.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Somebody else holds a lock on the file.
    #[error("the counter file is locked by another process")]
    Locked,
    /// The disk, or the quota of the file, is full.
    #[error("no space is left for the counter file")]
    Full,
    /// The file or its folder cannot be written to.
    #[error("the counter file or its folder is read-only")]
    ReadOnly,
    /// The file holds something else than counters. It is moved aside, and everything in memory is written to a new one.
    #[error("the counter file is damaged")]
    Corrupt,
    /// The file was removed or replaced while it was in use. Everything in memory is written to a new one.
    #[error("the counter file was removed or replaced while the server was running")]
    Lost,
    /// The file cannot be opened or made.
    #[error("the counter file cannot be opened: {0}")]
    Unopenable(String),
    /// Reading, writing or syncing failed.
    #[error("the counter file cannot be read or written: {0}")]
    Io(String),
    /// A commit took longer than a request may wait.
    #[error("a commit to the counter file took longer than a request may wait")]
    Slow,
    /// More durable operations wait than the queue holds.
    #[error("too many requests wait for the counter file")]
    Crowded,
    /// The store is closed, or its thread could not be started.
    #[error("the counter file is closed")]
    Closed,
}

impl Fault {
    /// What is wrong, for anybody: without the system's own words, which may name paths.
    #[must_use]
    pub fn in_short(&self) -> String {
        match self {
            Self::Unopenable(_) => "the counter file cannot be opened".to_owned(),
            Self::Io(_) => "the counter file cannot be read or written".to_owned(),
            other => other.to_string(),
        }
    }

    /// Whether the connection is still the right one to try again with.
    pub(crate) fn keeps_connection(&self) -> bool {
        matches!(self, Self::Locked | Self::Full | Self::Slow | Self::Crowded)
    }

    /// Whether what was on the file is gone, so that all of the memory has to be written again.
    pub(crate) fn loses_rows(&self) -> bool {
        matches!(self, Self::Corrupt | Self::Lost)
    }
}

impl From<Sqlite> for Fault {
    fn from(error: Sqlite) -> Self {
        let code = match &error {
            Sqlite::SqliteFailure(failure, _) => failure.code,
            Sqlite::InvalidPath(_) | Sqlite::NulError(_) => ErrorCode::CannotOpen,
            // Columns that are missing or of another type.
            _ => ErrorCode::DatabaseCorrupt,
        };
        match code {
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Locked,
            ErrorCode::DiskFull => Self::Full,
            ErrorCode::ReadOnly | ErrorCode::PermissionDenied => Self::ReadOnly,
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => Self::Corrupt,
            ErrorCode::CannotOpen => Self::Unopenable(error.to_string()),
            // A table of our name that is not our table: a view, a foreign schema.
            ErrorCode::Unknown | ErrorCode::SchemaChanged | ErrorCode::ConstraintViolation => {
                Self::Corrupt
            }
            _ => Self::Io(error.to_string()),
        }
    }
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly,
            io::ErrorKind::NotFound => Self::Lost,
            _ => Self::Io(error.to_string()),
        }
    }
}
