//! A pass over the whole file, a few thousand rows in each transaction: sweeping, following a change, freeing.
//!
//! Must never delete the row of an open window that the memory still counts.

use zonai_limit::{CounterKey, CounterState};

use super::slice::Follow;
use crate::inbox::{Scan, Why};
use crate::load::{COLUMNS, RawRow};
use crate::naming::{StoredName, columns_of, key_of, parse_client, parse_operation};

/// How many rows one step looks at.
const STEP: i64 = 2_000;

/// What one step did.
pub(crate) struct Step {
    /// Where to go on; `None` at the end of the file.
    pub(crate) next: Option<i64>,
    /// How many rows were deleted.
    pub(crate) deleted: u64,
}

/// Does to one row what the pass is for.
enum Verdict {
    Keep,
    /// Make the row what the memory says.
    Write(CounterKey),
    /// Delete the row; its counter, if it has one under another name, is written.
    Rename(CounterKey),
    Delete,
}

/// Looks at the next rows.
pub(crate) fn step(follow: &mut Follow<'_>, scan: &Scan) -> rusqlite::Result<Step> {
    let mut next = None;
    let mut seen = 0;
    let mut verdicts = Vec::new();
    {
        let conn = follow.conn;
        let mut statement = conn.prepare_cached(&format!(
            "SELECT rowid, {COLUMNS} FROM _rate_limit WHERE rowid > ?1 ORDER BY rowid LIMIT {STEP}"
        ))?;
        let mut rows = statement.query([scan.after])?;
        while let Some(row) = rows.next()? {
            let rowid: i64 = row.get(0)?;
            seen += 1;
            next = Some(rowid);
            match RawRow::read(row, 1).map(|raw| judge(follow, &scan.why, &raw)) {
                Some(Verdict::Keep) => {}
                Some(verdict) => verdicts.push((rowid, verdict)),
                // What no counter can be is no use to anybody.
                None => verdicts.push((rowid, Verdict::Delete)),
            }
        }
    }
    let mut deleted = 0;
    for (rowid, verdict) in verdicts {
        match verdict {
            Verdict::Keep => {}
            Verdict::Write(key) => follow.key(&key)?,
            Verdict::Rename(key) => {
                follow.delete(rowid)?;
                follow.key(&key)?;
            }
            Verdict::Delete => {
                follow.delete(rowid)?;
                deleted += 1;
            }
        }
    }
    Ok(Step {
        next: next.filter(|_| seen == STEP),
        deleted,
    })
}

fn judge(follow: &Follow<'_>, why: &Why, row: &RawRow<'_>) -> Verdict {
    let shared = follow.shared;
    let names = &*shared.names;
    if let Some(verdict) = taken_away(why, row) {
        return verdict;
    }
    let key = key_of(
        names,
        row.client_ip,
        row.table,
        row.operation,
        row.window_ms,
    );
    let columns = key.as_ref().and_then(|key| columns_of(names, key));
    let state = key.and_then(|key| shared.counters.get(key));
    let stored = CounterState {
        window_start: follow.epoch.load(row.window_start),
        count: row.count,
    };
    match why {
        Why::Sweep(now) => {
            let window_ms = columns.map_or(row.window_ms, |columns| columns.window_ms);
            let start = state.unwrap_or(stored).window_start;
            if now.since(start) >= window_ms {
                Verdict::Delete
            } else {
                Verdict::Keep
            }
        }
        Why::Free(filter) => {
            match (
                filter.matches_row(row.client_ip, row.table, row.operation),
                key,
                state,
            ) {
                (false, _, _) => Verdict::Keep,
                (true, Some(key), Some(_)) => Verdict::Write(key),
                (true, _, _) => Verdict::Delete,
            }
        }
        Why::Rename(_) | Why::Mirror => match (key, columns) {
            (Some(key), Some(columns)) => {
                let renamed = columns.window_ms != row.window_ms || *columns.table != *row.table;
                if renamed {
                    Verdict::Rename(key)
                } else if state == Some(stored) || (state.is_none() && *why != Why::Mirror) {
                    Verdict::Keep
                } else {
                    Verdict::Write(key)
                }
            }
            // A table that is not limited now: the count is kept until its window closes.
            _ => Verdict::Keep,
        },
    }
}

/// What becomes of a row whose name a change of policies took away.
fn taken_away(why: &Why, row: &RawRow<'_>) -> Option<Verdict> {
    let Why::Rename(renames) = why else {
        return None;
    };
    let (operation, account) = parse_operation(row.operation)?;
    let is = |name: &StoredName| {
        name.window_ms == row.window_ms && *name.table == *row.table && name.operation == operation
    };
    if let Some((_, slot)) = renames.renamed.iter().find(|(name, _)| is(name)) {
        let client = parse_client(row.client_ip)?;
        return Some(Verdict::Rename(CounterKey {
            client,
            slot: *slot,
            account,
        }));
    }
    renames.retired.iter().any(is).then_some(Verdict::Delete)
}
