//! One transaction: what waits and what changed, each counter as the memory has it at this moment.
//!
//! Must never write a state that was read before the transaction was begun.

use std::sync::atomic::Ordering::SeqCst;

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use zonai_limit::{CounterKey, CounterState};

use super::file::OpenFile;
use super::scan;
use crate::boot::{BootRow, Epoch};
use crate::fault::Fault;
use crate::inbox::{Free, Scan, Waiter, Why};
use crate::load::{COLUMNS, RawRow};
use crate::naming::{columns_of, key_of};
use crate::row::id_of;
use crate::shared::Shared;

/// At most this many durable operations are served by one commit.
const MAX_WAITERS: usize = 1_000;

/// What one slice is about.
#[derive(Default)]
pub(crate) struct Batch {
    waiters: Vec<Waiter>,
    changed: Vec<(CounterKey, CounterState)>,
    free: Option<Free>,
    scan: Option<Scan>,
    /// Where the pass over the file goes on; `None` at its end.
    next: Option<i64>,
    deleted: u64,
    /// Whether the rows of a freed client that is not in memory have to be looked for in the whole file.
    look_everywhere: bool,
}

impl Batch {
    /// Takes what is in line.
    pub(crate) fn take(shared: &Shared) -> Self {
        let mut batch = Self::default();
        {
            let mut inbox = shared.inbox.lock();
            let waiting = inbox.waiters.len().min(MAX_WAITERS);
            batch.waiters = inbox.waiters.drain(..waiting).collect();
            batch.free = inbox.frees.pop_front();
            batch.scan = inbox.scans.pop_front();
        }
        // Counted as taken before it is: the backlog must not be too low in between.
        shared.gauges.in_flight.store(shared.options.slice, SeqCst);
        shared
            .counters
            .take_changed(shared.options.slice, &mut batch.changed);
        shared.gauges.in_flight.store(batch.changed.len(), SeqCst);
        batch
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.waiters.is_empty()
            && self.changed.is_empty()
            && self.free.is_none()
            && self.scan.is_none()
    }

    /// The slice is committed: tells those who wait, puts back what goes on.
    pub(crate) fn done(self, shared: &Shared) {
        shared.gauges.in_flight.store(0, SeqCst);
        for waiter in self.waiters {
            let _ = waiter.reply.send(Ok(()));
        }
        let mut inbox = shared.inbox.lock();
        if let Some(free) = self.free {
            if !free.keys.is_empty() {
                inbox.frees.push_front(free);
            } else {
                if self.look_everywhere {
                    inbox.scan(Why::Free(free.filter), None);
                }
                if let Some(reply) = free.reply {
                    let _ = reply.send(Ok(()));
                }
            }
        }
        if let Some(mut scan) = self.scan {
            scan.deleted += self.deleted;
            match self.next {
                Some(after) => {
                    scan.after = after;
                    inbox.scans.push_front(scan);
                }
                None => {
                    if let Some(reply) = scan.reply {
                        let _ = reply.send(Ok(scan.deleted));
                    }
                }
            }
        }
    }

    /// The slice could not be committed: what changed is still to be written.
    pub(crate) fn give_back(self, shared: &Shared, fault: &Fault) {
        for (key, _) in &self.changed {
            shared.counters.mark_changed(*key);
        }
        for key in self.waiters.iter().flat_map(|waiter| &waiter.keys) {
            shared.counters.mark_changed(*key);
        }
        shared.gauges.in_flight.store(0, SeqCst);
        for waiter in self.waiters {
            let _ = waiter.reply.send(Err(fault.clone()));
        }
        let mut inbox = shared.inbox.lock();
        if let Some(mut free) = self.free {
            if let Some(reply) = free.reply.take() {
                let _ = reply.send(Err(fault.clone()));
            }
            inbox.frees.push_front(free);
        }
        match self.scan {
            // Whoever waits for a sweep hears of the fault; the next one is on its way.
            Some(Scan {
                reply: Some(reply), ..
            }) => drop(reply.send(Err(fault.clone()))),
            Some(scan) => inbox.scans.push_front(scan),
            None => {}
        }
    }
}

/// Writes the batch in one transaction; the number of rows written or deleted.
pub(crate) fn write_slice(
    file: &OpenFile,
    shared: &Shared,
    epoch: Epoch,
    batch: &mut Batch,
) -> rusqlite::Result<u64> {
    let transaction = Transaction::new_unchecked(&file.conn, TransactionBehavior::Immediate)?;
    let mut follow = Follow {
        conn: &transaction,
        shared,
        epoch,
        rows: 0,
    };
    let mut freed = 0;
    if let Some(free) = &batch.free {
        freed = free.keys.len().min(shared.options.slice);
        for key in free.keys.iter().take(freed) {
            follow.key(key)?;
        }
        if freed == free.keys.len() {
            batch.look_everywhere = follow.rows_of(free)?;
        }
    }
    for key in batch.waiters.iter().flat_map(|waiter| &waiter.keys) {
        follow.take(key)?;
    }
    for (key, _) in &batch.changed {
        follow.take(key)?;
    }
    if let Some(scan) = &batch.scan {
        let step = scan::step(&mut follow, scan)?;
        batch.next = step.next;
        batch.deleted = step.deleted;
    }
    let rows = follow.rows;
    BootRow::now(&shared.clock, epoch).write(&transaction)?;
    transaction.commit()?;
    if let Some(free) = &mut batch.free {
        free.keys.drain(..freed);
    }
    Ok(rows)
}

/// Makes rows what the memory says.
pub(crate) struct Follow<'a> {
    pub(crate) conn: &'a Connection,
    pub(crate) shared: &'a Shared,
    pub(crate) epoch: Epoch,
    rows: u64,
}

impl Follow<'_> {
    /// Writes the counter, or deletes its row where the memory has none.
    pub(crate) fn key(&mut self, key: &CounterKey) -> rusqlite::Result<()> {
        let state = self.shared.counters.get(*key);
        self.put(key, state)
    }

    /// The same, and takes the counter off the list of those that changed.
    fn take(&mut self, key: &CounterKey) -> rusqlite::Result<()> {
        let state = self.shared.counters.take(*key);
        self.put(key, state)
    }

    fn put(&mut self, key: &CounterKey, state: Option<CounterState>) -> rusqlite::Result<()> {
        let Some(columns) = columns_of(&*self.shared.names, key) else {
            return Ok(());
        };
        let window_ms = i64::try_from(columns.window_ms).unwrap_or(i64::MAX);
        let Some(state) = state else {
            let deleted = self
                .conn
                .prepare_cached(
                    r#"DELETE FROM _rate_limit
                       WHERE client_ip = ?1 AND "table" = ?2 AND operation = ?3 AND window_ms = ?4"#,
                )?
                .execute(params![columns.client_ip, &*columns.table, columns.operation, window_ms])?;
            self.count(deleted);
            return Ok(());
        };
        // An id that another counter has goes to the later one: two of a caller's own addresses can be made to collide,
        // and that must not stop a slice.
        let id = id_of(
            &columns.client_ip,
            &columns.table,
            &columns.operation,
            columns.window_ms,
        );
        self.conn
            .prepare_cached(
                r#"INSERT INTO _rate_limit (id, client_ip, "table", operation, window_start, count, window_ms)
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
                   ON CONFLICT (client_ip, "table", operation, window_ms)
                     DO UPDATE SET id = excluded.id, window_start = excluded.window_start, count = excluded.count
                   ON CONFLICT (id)
                     DO UPDATE SET client_ip = excluded.client_ip, "table" = excluded."table",
                       operation = excluded.operation, window_ms = excluded.window_ms,
                       window_start = excluded.window_start, count = excluded.count"#,
            )?
            .execute(params![
                id,
                columns.client_ip,
                &*columns.table,
                columns.operation,
                self.epoch.store(state.window_start),
                state.count,
                window_ms
            ])?;
        self.count(1);
        Ok(())
    }

    /// Deletes one row, whatever it says.
    pub(crate) fn delete(&mut self, rowid: i64) -> rusqlite::Result<()> {
        let deleted = self
            .conn
            .prepare_cached("DELETE FROM _rate_limit WHERE rowid = ?1")?
            .execute([rowid])?;
        self.count(deleted);
        Ok(())
    }

    /// Makes the stored rows of a freed client follow; whether more of them may be anywhere in the file.
    fn rows_of(&mut self, free: &Free) -> rusqlite::Result<bool> {
        let (conn, shared) = (self.conn, self.shared);
        let Some(client) = &free.filter.client else {
            return Ok(true);
        };
        let rowids = {
            let mut statement = conn.prepare_cached(&format!(
                "SELECT rowid, {COLUMNS} FROM _rate_limit WHERE client_ip = ?1"
            ))?;
            let mut rows = statement.query([client.to_string()])?;
            let mut found = Vec::new();
            while let Some(row) = rows.next()? {
                let Some(raw) = RawRow::read(row, 1) else {
                    continue;
                };
                if free
                    .filter
                    .matches_row(raw.client_ip, raw.table, raw.operation)
                {
                    let key = key_of(
                        &*shared.names,
                        raw.client_ip,
                        raw.table,
                        raw.operation,
                        raw.window_ms,
                    );
                    found.push((row.get::<_, i64>(0)?, key));
                }
            }
            found
        };
        for (rowid, key) in rowids {
            match key.filter(|key| self.shared.counters.get(*key).is_some()) {
                Some(key) => self.key(&key)?,
                None => self.delete(rowid)?,
            }
        }
        Ok(is_network(client))
    }

    fn count(&mut self, rows: usize) {
        self.rows = self
            .rows
            .saturating_add(u64::try_from(rows).unwrap_or(u64::MAX));
    }
}

/// Whether other clients lie inside this one.
fn is_network(client: &zonai_limit::Client) -> bool {
    use zonai_limit::Client;
    match client {
        Client::V4 { bits, .. } => *bits < 32,
        Client::V6 { bits, .. } => *bits < 128,
        Client::Local | Client::Everyone => false,
    }
}
