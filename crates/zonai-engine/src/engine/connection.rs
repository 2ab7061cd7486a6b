//! One way to open a connection, so that all are set up alike.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::{EngineOptions, OpenError};

/// What a connection is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Write,
    Read,
}

pub(super) fn open(
    path: &Path,
    options: &EngineOptions,
    role: Role,
) -> Result<Connection, OpenError> {
    let attempt = || -> rusqlite::Result<Connection> {
        let access = match role {
            Role::Write => OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
            Role::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
        };
        let conn = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        conn.busy_timeout(options.busy_timeout)?;
        conn.set_prepared_statement_cache_capacity(options.statements);
        if role == Role::Write {
            conn.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
            let synchronous = if options.sync_every_commit {
                "FULL"
            } else {
                "NORMAL"
            };
            conn.pragma_update(None, "synchronous", synchronous)?;
            conn.pragma_update(None, "journal_size_limit", 64 << 20)?;
        } else {
            conn.pragma_update(None, "query_only", true)?;
        }
        setup(&conn)?;
        Ok(conn)
    };
    attempt().map_err(|source| OpenError::File {
        path: path.to_owned(),
        source,
    })
}

/// A connection for the work before the engine starts: reads and writes, and makes the file where it is missing. Must be
/// gone before [`Engine::open`](super::Engine::open), whose writer is the only one.
///
/// # Errors
/// When the file cannot be opened or made, or is no SQLite file.
pub fn open_for_setup(path: &Path, options: &EngineOptions) -> Result<Connection, OpenError> {
    open(path, options, Role::Write)
}

/// What holds for every connection, the in-memory one of `check` included.
pub(crate) fn setup(conn: &Connection) -> rusqlite::Result<()> {
    conn.pragma_update(None, "foreign_keys", true)?;
    conn.pragma_update(None, "trusted_schema", false)?;
    conn.pragma_update(None, "temp_store", "MEMORY")?;
    // Negative: in KiB.
    conn.pragma_update(None, "cache_size", -8_192)?;
    Ok(())
}
