//! Asks SQLite for what rusqlite has no call for. One of the two places with `unsafe`: docs/adr says why.

use rusqlite::Connection;
use rusqlite::ffi;

/// Whether every foreign key, deferred ones included, is satisfied at this moment of the transaction.
#[expect(
    unsafe_code,
    reason = "sqlite3_db_status has no safe wrapper; see docs/adr/0020-unsafe-in-zonai-data.md"
)]
pub(super) fn foreign_keys_resolved(conn: &Connection) -> bool {
    let (mut current, mut highest) = (0, 0);
    // SAFETY: the handle is that of an open connection which is borrowed for the whole call, on its only thread; the
    // two pointers are to live integers.
    let code = unsafe {
        ffi::sqlite3_db_status(
            conn.handle(),
            ffi::SQLITE_DBSTATUS_DEFERRED_FKS,
            &raw mut current,
            &raw mut highest,
            0,
        )
    };
    code != ffi::SQLITE_OK || current == 0
}
