//! The counter file without a running server, for the command line.
//!
//! Must never be used while a server follows the file: the memory is the truth then, and would write back what is
//! changed here.

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use zonai_clock::Clock;

use crate::boot::{BootRow, Rebase};
use crate::fault::Fault;
use crate::load::{COLUMNS, RawRow};
use crate::options::Options;
use crate::row::{CounterRow, Filter};
use crate::schema::{connect, create};

/// The stored counters that `filter` means and whose window is open, newest first. A missing file has none.
///
/// # Errors
/// When the file cannot be read.
pub fn list(path: &Path, clock: &Clock, filter: &Filter) -> Result<Vec<CounterRow>, Fault> {
    let Some((conn, rebase)) = open(path, clock)? else {
        return Ok(Vec::new());
    };
    let shown = clock
        .steady_wall_ms(clock.now())
        .saturating_sub(rebase.now());
    let mut statement = conn.prepare(&format!(
        "SELECT id, {COLUMNS} FROM _rate_limit ORDER BY window_start DESC"
    ))?;
    let mut rows = statement.query([])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(raw) = RawRow::read(row, 1) else {
            continue;
        };
        let window = i64::try_from(raw.window_ms).unwrap_or(i64::MAX);
        let open = raw.window_start.saturating_add(window) > rebase.now();
        if open && filter.matches_row(raw.client_ip, raw.table, raw.operation) {
            found.push(CounterRow {
                id: row.get(0)?,
                client_ip: raw.client_ip.to_owned(),
                table: raw.table.to_owned(),
                operation: raw.operation.to_owned(),
                window_start: raw.window_start.saturating_add(shown),
                count: raw.count,
                window_ms: raw.window_ms,
            });
        }
    }
    Ok(found)
}

/// Frees the stored counters that `filter` means; how many.
///
/// # Errors
/// When the file cannot be written.
pub fn free(path: &Path, clock: &Clock, filter: &Filter) -> Result<usize, Fault> {
    let Some((conn, _)) = open(path, clock)? else {
        return Ok(0);
    };
    delete_where(&conn, |row| {
        filter.matches_row(row.client_ip, row.table, row.operation)
    })
}

/// The job `_delete_old_rate_limits`: deletes counters whose window has closed; how many.
///
/// # Errors
/// When the file cannot be written.
pub fn delete_closed(path: &Path, clock: &Clock) -> Result<usize, Fault> {
    let Some((conn, rebase)) = open(path, clock)? else {
        return Ok(0);
    };
    let now = rebase.now();
    delete_where(&conn, |row| {
        row.window_start
            .saturating_add(i64::try_from(row.window_ms).unwrap_or(i64::MAX))
            <= now
    })
}

/// Opens the file and brings it under this boot, as a server would. `None` where there is no file.
fn open(path: &Path, clock: &Clock) -> Result<Option<(Connection, Rebase)>, Fault> {
    if !path.try_exists()? {
        return Ok(None);
    }
    let conn = connect(path, &Options::default())?;
    let transaction = Transaction::new_unchecked(&conn, TransactionBehavior::Immediate)?;
    create(&transaction)?;
    let row = BootRow::read(&transaction)?;
    let rebase = Rebase::plan(row.as_ref(), None, clock);
    rebase.apply(&transaction)?;
    BootRow::now(clock, rebase.epoch).write(&transaction)?;
    transaction.commit()?;
    Ok(Some((conn, rebase)))
}

/// Deletes the rows that `is_meant` picks, a slice in each transaction.
fn delete_where(
    conn: &Connection,
    mut is_meant: impl FnMut(&RawRow<'_>) -> bool,
) -> Result<usize, Fault> {
    const SLICE: i64 = 2_000;
    let mut after = 0_i64;
    let mut deleted = 0;
    loop {
        let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
        let mut meant = Vec::new();
        let mut seen = 0;
        {
            let mut statement = transaction.prepare_cached(&format!(
                "SELECT rowid, {COLUMNS} FROM _rate_limit WHERE rowid > ?1 ORDER BY rowid LIMIT ?2"
            ))?;
            let mut rows = statement.query(params![after, SLICE])?;
            while let Some(row) = rows.next()? {
                after = row.get(0)?;
                seen += 1;
                if RawRow::read(row, 1).is_some_and(|raw| is_meant(&raw)) {
                    meant.push(after);
                }
            }
        }
        for rowid in &meant {
            transaction
                .prepare_cached("DELETE FROM _rate_limit WHERE rowid = ?1")?
                .execute([rowid])?;
        }
        transaction.commit()?;
        deleted += meant.len();
        if seen < SLICE {
            return Ok(deleted);
        }
    }
}
