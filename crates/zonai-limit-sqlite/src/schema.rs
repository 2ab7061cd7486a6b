//! The tables of the counter file, and how it is opened.
//!
//! Must never create a folder or take a lock that outlives a transaction.

use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use crate::fault::Fault;
use crate::options::Options;

const TABLES: &str = r#"
CREATE TABLE IF NOT EXISTS _rate_limit (
  id TEXT PRIMARY KEY,
  client_ip TEXT,
  "table" TEXT,
  operation TEXT,
  window_start INTEGER,
  count INTEGER,
  window_ms INTEGER
);
CREATE UNIQUE INDEX IF NOT EXISTS _rate_limit_counter
  ON _rate_limit (client_ip, "table", operation, window_ms);
CREATE TABLE IF NOT EXISTS _rate_limit_boot (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  boot_id TEXT NOT NULL,
  epoch_offset INTEGER NOT NULL,
  wall_offset INTEGER NOT NULL,
  seen INTEGER NOT NULL
);
"#;

/// Opens the file, making it where it is missing.
pub(crate) fn connect(path: &Path, options: &Options) -> Result<Connection, Fault> {
    let conn = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    conn.busy_timeout(options.busy_timeout)?;
    // Answers with the mode in force; a file system without shared memory keeps a rollback journal, which is safe too.
    conn.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
    conn.pragma_update(None, "synchronous", "normal")?;
    conn.pragma_update(None, "cache_size", -8_192)?;
    if let Some(pages) = options.max_pages {
        conn.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))?;
    }
    Ok(conn)
}

/// Opens a file that exists, for reading only.
pub(crate) fn connect_read_only(path: &Path, options: &Options) -> Result<Connection, Fault> {
    let conn = Connection::open_with_flags(
        path,
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX,
    )?;
    conn.busy_timeout(options.busy_timeout)?;
    Ok(conn)
}

/// Opens a file as it stands, without its log and without a lock: the last resort on a read-only file system, where
/// SQLite can make neither.
pub(crate) fn connect_immutable(path: &Path) -> Result<Connection, Fault> {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                uri.push(char::from(*byte));
            }
            _ => uri.push_str(&format!("%{byte:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Ok(Connection::open_with_flags(uri, flags)?)
}

/// Makes the tables where they are missing.
pub(crate) fn create(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute_batch(TABLES)
}

/// The path of a companion file of SQLite: `-wal` or `-shm`.
pub(crate) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
