//! One connection for reads, which breaks off what takes too long.

use std::path::Path;

use rusqlite::Connection;

use crate::DataError;
use crate::engine::connection::{self, Role};
use crate::engine::deadline::{Closing, Deadline};
use crate::engine::writer::guarded;
use crate::engine::{EngineOptions, OpenError};

pub(super) struct Reader {
    conn: Connection,
    deadline: Deadline,
}

impl Reader {
    pub(super) fn open(
        path: &Path,
        options: &EngineOptions,
        closing: &Closing,
    ) -> Result<Self, OpenError> {
        let mut conn = connection::open(path, options, Role::Read)?;
        let deadline = Deadline::watch(&mut conn, path, options, closing)?;
        Ok(Self { conn, deadline })
    }

    /// Runs a read; it ends with an error when it takes too long.
    pub(super) fn within_time<T>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, DataError>,
    ) -> Result<T, DataError> {
        self.deadline.hold(|| guarded(|| job(&self.conn)))
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
