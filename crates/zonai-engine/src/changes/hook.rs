//! SQLite's preupdate hook on one connection. One of the two places with `unsafe`: docs/adr says why.
//!
//! The plain update hook misses deletes by REPLACE, rows of WITHOUT ROWID tables and `DELETE FROM t`; rusqlite's wrapper of
//! this one needs libclang to build.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::Connection;
use rusqlite::ffi;

use super::pending::Pending;

/// The hook, for as long as this lives. It borrows the connection, so it is gone before the connection is.
pub(super) struct Hook<'conn> {
    conn: &'conn Connection,
    pending: *mut RefCell<Pending>,
}

impl<'conn> Hook<'conn> {
    #[expect(
        unsafe_code,
        reason = "the hook has no safe wrapper without libclang; see docs/adr/0020-unsafe-in-zonai-data.md"
    )]
    pub(super) fn attach(conn: &'conn Connection) -> Self {
        let pending = Box::into_raw(Box::new(RefCell::new(Pending::default())));
        // SAFETY: the handle belongs to an open connection that outlives `Self`; the context stays allocated until
        // `drop` has taken the hook off; the callback has the signature that SQLite asks for.
        unsafe {
            ffi::sqlite3_preupdate_hook(conn.handle(), Some(on_change), pending.cast());
        }
        Self { conn, pending }
    }

    /// Works on what was recorded. Must not run SQL inside.
    #[expect(
        unsafe_code,
        reason = "reads through the pointer that the hook shares; see the ADR"
    )]
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Pending) -> T) -> T {
        // SAFETY: made by `Box::into_raw` in `attach` and freed only in `drop`. `Hook` is not `Send`, and the hook is called
        // on the thread that runs a statement of this connection, which is this one; `RefCell` catches a nested use.
        let pending = unsafe { &*self.pending };
        work(&mut pending.borrow_mut())
    }
}

impl Drop for Hook<'_> {
    #[expect(
        unsafe_code,
        reason = "takes the hook off and frees what it used; see the ADR"
    )]
    fn drop(&mut self) {
        // SAFETY: the connection is still open, and after the first call SQLite holds the pointer no more.
        unsafe {
            ffi::sqlite3_preupdate_hook(self.conn.handle(), None, std::ptr::null_mut());
            drop(Box::from_raw(self.pending));
        }
    }
}

#[expect(unsafe_code, reason = "called by SQLite; see the ADR")]
unsafe extern "C" fn on_change(
    context: *mut c_void,
    _db: *mut ffi::sqlite3,
    _operation: c_int,
    database: *const c_char,
    table: *const c_char,
    before: ffi::sqlite3_int64,
    after: ffi::sqlite3_int64,
) {
    // A panic must not cross into C.
    let _ = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: SQLite hands back the context of `attach`, alive until the hook is off, and two C strings that live for the
        // duration of the call.
        let (pending, database, table) = unsafe {
            (
                &*context.cast::<RefCell<Pending>>(),
                CStr::from_ptr(database),
                CStr::from_ptr(table),
            )
        };
        if database.to_bytes() == b"main" {
            let ids: &[i64] = if before == after {
                &[after]
            } else {
                &[before, after]
            };
            if let Ok(mut pending) = pending.try_borrow_mut() {
                pending.touch(table.to_bytes(), ids);
            }
        }
    }));
}
