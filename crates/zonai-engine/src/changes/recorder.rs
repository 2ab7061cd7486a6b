//! Between the hook and the feed: keeps what a transaction touches until it is known whether it is committed.

use std::cell::Cell;

use rusqlite::Connection;

use super::hook::Hook;
use super::{Change, Changes};

pub(crate) struct Recorder<'conn> {
    conn: &'conn Connection,
    hook: Hook<'conn>,
    changes: Changes,
    seen: Cell<Option<i64>>,
}

impl<'conn> Recorder<'conn> {
    /// `seen` is the connection's [`data_version`] from before anybody could subscribe: a baseline taken later would
    /// miss what another program wrote in between.
    pub(crate) fn attach(conn: &'conn Connection, changes: Changes, seen: Option<i64>) -> Self {
        Self {
            conn,
            hook: Hook::attach(conn),
            changes,
            seen: Cell::new(seen),
        }
    }

    /// Where the running transaction stands, for [`Recorder::discard_after`].
    pub(crate) fn mark(&self) -> usize {
        self.hook.with(|pending| pending.mark())
    }

    /// A savepoint was undone.
    pub(crate) fn discard_after(&self, mark: usize) {
        self.hook.with(|pending| pending.cut_back(mark));
    }

    /// The transaction was undone.
    pub(crate) fn discard_all(&self) {
        self.hook.with(|pending| pending.clear());
    }

    /// The transaction is committed: tells the subscribers.
    pub(crate) fn publish(&self) {
        let listening = self.changes.subscribers() > 0;
        let change = self.hook.with(|pending| {
            let change = if listening { pending.change() } else { None };
            pending.clear();
            change
        });
        if let Some(change) = change {
            self.changes.publish(change);
        }
    }

    pub(crate) fn is_listened_to(&self) -> bool {
        self.changes.subscribers() > 0
    }

    /// Whether another connection of another program has written since the last look; SQLite's counter moves for all
    /// commits but those of this connection, and no other connection of ours writes.
    pub(crate) fn look_for_others(&self) {
        let version = data_version(self.conn);
        match version {
            Ok(version) => {
                let before = self.seen.replace(Some(version));
                if before.is_some_and(|before| before != version) {
                    self.changes.publish(Change::Everything);
                }
            }
            Err(cause) => tracing::warn!(%cause, "cannot tell whether another program wrote"),
        }
    }
}

/// SQLite's counter of commits by others.
pub(crate) fn data_version(conn: &Connection) -> rusqlite::Result<i64> {
    conn.prepare_cached("PRAGMA data_version")?
        .query_row([], |row| row.get(0))
}
