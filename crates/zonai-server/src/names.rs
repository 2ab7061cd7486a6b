//! What the counter file calls the limiter's slots.

use std::sync::Arc;

use zonai_limit::{Limiter, Operation, Slot};
use zonai_limit_sqlite::{SlotNames, StoredName};

/// The limiter, asked for names.
pub(crate) struct Names(pub(crate) Arc<Limiter>);

impl SlotNames for Names {
    fn name_of(&self, slot: Slot) -> Option<StoredName> {
        let name = self.0.slot_name(slot)?;
        let table = match &name.custom {
            Some(custom) => format!("{}:{custom}", name.collection).into(),
            None => name.collection,
        };
        Some(StoredName {
            table,
            operation: name.operation,
            window_ms: name.window_ms,
        })
    }

    fn slot_of(&self, table: &str, operation: Operation, window_ms: u64) -> Option<Slot> {
        let (collection, custom) = match table.split_once(':') {
            Some((collection, custom)) => (collection, Some(custom)),
            None => (table, None),
        };
        self.0.slot_for(collection, operation, custom, window_ms)
    }
}
