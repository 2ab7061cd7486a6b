//! Reads the stored counters back into memory when a store is opened.
//!
//! Must never put a closed window or a freed counter back, and never fail as a whole for one bad row.

use std::collections::HashMap;

use rusqlite::{Connection, Row};
use zonai_limit::{CounterKey, CounterState, Counters, Operation, Slot};

use crate::boot::Rebase;
use crate::naming::{SlotNames, parse_client, parse_operation};
use crate::row::Filter;

/// What loading found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Loaded {
    /// Counters put back.
    pub(crate) restored: usize,
    /// Whether a row is stored under a name that its counter no longer has.
    pub(crate) renamed: bool,
}

/// One row as it stands in the file.
pub(crate) struct RawRow<'r> {
    pub(crate) client_ip: &'r str,
    pub(crate) table: &'r str,
    pub(crate) operation: &'r str,
    pub(crate) window_start: i64,
    pub(crate) count: u32,
    pub(crate) window_ms: u64,
}

impl<'r> RawRow<'r> {
    /// The columns from `first` on, `None` where one holds what no counter has.
    pub(crate) fn read(row: &'r Row<'_>, first: usize) -> Option<Self> {
        let text = |index| row.get_ref(first + index).ok()?.as_str().ok();
        let number = |index| row.get_ref(first + index).ok()?.as_i64().ok();
        Some(Self {
            client_ip: text(0)?,
            table: text(1)?,
            operation: text(2)?,
            window_start: number(3)?,
            count: u32::try_from(number(4)?).ok()?,
            window_ms: u64::try_from(number(5)?)
                .ok()
                .filter(|window| *window > 0)?,
        })
    }
}

/// The columns that [`RawRow::read`] reads, in its order.
pub(crate) const COLUMNS: &str = r#"client_ip, "table", operation, window_start, count, window_ms"#;

/// Puts every open window back that no filter of `freed` matches.
///
/// # Errors
/// Where the file cannot be read to its end; what was read before is put back all the same.
pub(crate) fn load(
    conn: &Connection,
    counters: &Counters,
    names: &dyn SlotNames,
    rebase: &Rebase,
    freed: &[Filter],
) -> rusqlite::Result<Loaded> {
    let mut statement = conn.prepare(&format!("SELECT {COLUMNS} FROM _rate_limit"))?;
    let mut rows = statement.query([])?;
    let mut slots = SlotCache::default();
    let mut loaded = Loaded::default();
    let now = rebase.epoch.load(rebase.now());
    while let Some(row) = rows.next()? {
        let Some(row) = RawRow::read(row, 0) else {
            continue;
        };
        let Some((operation, account)) = parse_operation(row.operation) else {
            continue;
        };
        let Some(found) = slots.find(names, row.table, operation, row.window_ms) else {
            continue;
        };
        let Some(start) = rebase.start(row.window_start, row.window_ms.max(found.window_ms)) else {
            continue;
        };
        let state = CounterState {
            window_start: rebase.epoch.load(start),
            count: row.count,
        };
        if now.since(state.window_start) >= found.window_ms {
            continue;
        }
        let Some(client) = parse_client(row.client_ip) else {
            continue;
        };
        if freed.iter().any(|filter| {
            filter.matches_client(&client) && filter.matches_name(row.table, operation)
        }) {
            continue;
        }
        loaded.renamed |= found.renamed;
        loaded.restored += 1;
        counters.restore(
            CounterKey {
                client,
                slot: found.slot,
                account,
            },
            state,
        );
    }
    Ok(loaded)
}

#[derive(Clone, Copy)]
struct Found {
    slot: Slot,
    window_ms: u64,
    renamed: bool,
}

/// A file has many rows and few names: each is looked up once.
#[derive(Default)]
struct SlotCache {
    found: HashMap<String, Option<Found>>,
    buffer: String,
}

impl SlotCache {
    fn find(
        &mut self,
        names: &dyn SlotNames,
        table: &str,
        operation: Operation,
        window_ms: u64,
    ) -> Option<Found> {
        use std::fmt::Write as _;
        self.buffer.clear();
        let _ = write!(self.buffer, "{window_ms} {} {table}", operation.name());
        if let Some(found) = self.found.get(&self.buffer) {
            return *found;
        }
        let found = names.slot_of(table, operation, window_ms).and_then(|slot| {
            let name = names.name_of(slot)?;
            let renamed =
                name.window_ms != window_ms || *name.table != *table || name.operation != operation;
            Some(Found {
                slot,
                window_ms: name.window_ms,
                renamed,
            })
        });
        // Names come from the file: past any sensible number they are looked up each time instead of kept.
        if self.found.len() < 65_536 {
            self.found.insert(self.buffer.clone(), found);
        }
        found
    }
}
