//! The way to the data engine, with the errors of this crate.
//!
//! An error undoes the job; what must be kept although the answer is no (a try of a code) is an `Ok`.

use rusqlite::Connection;
use zonai_data::{DataError, Engine, Pass};

use crate::AuthError;

/// Runs `job` on the writer, in a transaction of its own.
pub(crate) async fn write<T, F>(engine: &Engine, pass: &impl Pass, job: F) -> Result<T, AuthError>
where
    T: Send + 'static,
    F: FnOnce(&Connection) -> Result<T, AuthError> + Send + 'static,
{
    engine.write(pass, job).await
}

/// Runs `job` at once, on the caller's thread: only for reads by a key.
pub(crate) fn read<T>(
    engine: &Engine,
    pass: &impl Pass,
    job: impl FnOnce(&Connection) -> rusqlite::Result<T>,
) -> Result<T, AuthError> {
    Ok(engine.read_here(pass, |connection| Ok(job(connection)?))?)
}

impl From<DataError> for AuthError {
    fn from(error: DataError) -> Self {
        match error {
            DataError::BadRequest(text) => Self::BadRequest(text),
            DataError::Forbidden => Self::Forbidden,
            DataError::NotFound | DataError::RecordNotFound { .. } => {
                Self::NotFound(error.to_string())
            }
            DataError::Conflict(text) => Self::Conflict(text),
            DataError::Unprocessable(text) => Self::Unprocessable(text),
            DataError::BusyWriting => {
                Self::Busy("Server is busy writing; retry shortly (write queue saturated).")
            }
            DataError::BusyReading => {
                Self::Busy("Server is busy reading; retry shortly (read concurrency saturated).")
            }
            DataError::BrokenOff => Self::Busy(
                "Broken off, because it took too long; retry later, or ask for less at a time.",
            ),
            _ => Self::Internal,
        }
    }
}

impl From<rusqlite::Error> for AuthError {
    fn from(error: rusqlite::Error) -> Self {
        DataError::from(error).into()
    }
}
