//! What the running transaction has touched so far; cut back when a savepoint is undone.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Change, Rows};

/// Touched rows kept per transaction; past it the change is "everything".
const MAX_TOUCHED: usize = 50_000;
/// Rowids kept per table; past it the table is [`Rows::Any`].
const MAX_IDS: usize = 1_000;

#[derive(Default)]
pub(super) struct Pending {
    tables: Vec<Box<[u8]>>,
    touched: Vec<(u32, i64)>,
    overflow: bool,
}

impl Pending {
    pub(super) fn touch(&mut self, table: &[u8], ids: &[i64]) {
        if self.touched.len() + ids.len() > MAX_TOUCHED {
            self.overflow = true;
            return;
        }
        let known = self.tables.iter().position(|name| **name == *table);
        let at = known.unwrap_or_else(|| {
            self.tables.push(table.into());
            self.tables.len() - 1
        });
        let at = u32::try_from(at).unwrap_or(u32::MAX);
        self.touched.extend(ids.iter().map(|id| (at, *id)));
    }

    pub(super) fn mark(&self) -> usize {
        self.touched.len()
    }

    pub(super) fn cut_back(&mut self, mark: usize) {
        self.touched.truncate(mark);
    }

    pub(super) fn clear(&mut self) {
        self.tables.clear();
        self.touched.clear();
        self.touched.shrink_to(1_024);
        self.overflow = false;
    }

    /// The change so far; `None` when nothing was touched.
    pub(super) fn change(&self) -> Option<Change> {
        if self.overflow {
            return Some(Change::Everything);
        }
        if self.touched.is_empty() {
            return None;
        }
        let mut tables: BTreeMap<String, Rows> = BTreeMap::new();
        for (at, id) in &self.touched {
            let Some(name) = self.tables.get(*at as usize) else {
                return Some(Change::Everything);
            };
            let name = String::from_utf8_lossy(name);
            if !tables.contains_key(name.as_ref()) {
                tables.insert(name.to_string(), Rows::Ids(Vec::new()));
            }
            let Some(rows) = tables.get_mut(name.as_ref()) else {
                continue;
            };
            match rows {
                Rows::Ids(ids) if ids.len() >= MAX_IDS => *rows = Rows::Any,
                Rows::Ids(ids) => ids.push(*id),
                Rows::Any => {}
            }
        }
        for rows in tables.values_mut() {
            if let Rows::Ids(ids) = rows {
                ids.sort_unstable();
                ids.dedup();
            }
        }
        Some(Change::Tables(Arc::new(tables)))
    }
}
