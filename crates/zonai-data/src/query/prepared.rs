//! Prepared statements: short ones are kept, long ones are not.
//!
//! Callers choose the shape of a `where`, and a statement with a thousand conditions takes a megabyte; kept by the
//! hundred on each connection they would be memory that callers decide about.

use std::ops::{Deref, DerefMut};

use rusqlite::{CachedStatement, Connection, Statement};

use super::Sql;

/// The longest text that is kept, in bytes.
const MAX_KEPT: usize = 4_096;

/// A statement that goes back to the cache of its connection, or not.
pub(crate) enum Prepared<'conn> {
    Kept(CachedStatement<'conn>),
    Once(Statement<'conn>),
}

impl Sql {
    /// The statement, without its values.
    ///
    /// # Errors
    /// When SQLite refuses the text, which is a fault of whoever built it.
    pub(crate) fn prepare<'conn>(
        &self,
        conn: &'conn Connection,
    ) -> rusqlite::Result<Prepared<'conn>> {
        if self.text.len() <= MAX_KEPT {
            conn.prepare_cached(&self.text).map(Prepared::Kept)
        } else {
            conn.prepare(&self.text).map(Prepared::Once)
        }
    }
}

impl<'conn> Deref for Prepared<'conn> {
    type Target = Statement<'conn>;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Kept(statement) => statement,
            Self::Once(statement) => statement,
        }
    }
}

impl DerefMut for Prepared<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Kept(statement) => statement,
            Self::Once(statement) => statement,
        }
    }
}
