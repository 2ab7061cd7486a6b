//! Which slot counts for what, kept over changes of the configuration so that counts are kept.
//!
//! Must never give one slot to two owners.

use std::collections::HashMap;
use std::sync::Arc;

use super::{CustomId, TableId};
use crate::counters::Slot;
use crate::{Operation, Shared};

/// What a slot belongs to, its window aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Owner {
    pub(crate) table: Result<TableId, Shared>,
    pub(crate) operation: Operation,
    pub(crate) custom: Option<CustomId>,
}

/// What a slot is called where counters are stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SlotName {
    /// The table or the shared bucket.
    pub collection: Arc<str>,
    /// The operation.
    pub operation: Operation,
    /// The custom operation, where it has a counter of its own.
    pub custom: Option<Arc<str>>,
    /// The length of the window, in ms.
    pub window_ms: u64,
}

impl SlotName {
    /// The column `table` of `_rate_limit`: the collection, or `<table>:<operation>` for a custom operation.
    #[must_use]
    pub fn stored_table(&self) -> Arc<str> {
        match &self.custom {
            Some(custom) => format!("{}:{custom}", self.collection).into(),
            None => Arc::clone(&self.collection),
        }
    }
}

/// The slots of every owner, with their windows in ms, in the order of the windows as written.
#[derive(Clone, Debug, Default)]
pub(crate) struct Book {
    pub(crate) owned: HashMap<Owner, Vec<(Slot, u64)>>,
    pub(crate) owners: HashMap<Slot, Owner>,
    next: u32,
}

impl Book {
    /// A book for the next configuration, in which no slot has an owner yet and none is given out twice.
    pub(crate) fn successor(&self) -> Self {
        Self {
            owned: HashMap::new(),
            owners: HashMap::new(),
            next: self.next,
        }
    }

    /// Gives `owner` a slot per window: first those that it had for a window of that length, then its others in
    /// order, then fresh ones.
    pub(crate) fn assign(&mut self, before: &Self, owner: Owner, windows: &[u64]) -> Vec<Slot> {
        let mut left: Vec<(Slot, u64)> = before.owned.get(&owner).cloned().unwrap_or_default();
        let mut slots: Vec<Option<Slot>> = windows
            .iter()
            .map(|window| {
                let same = left.iter().position(|(_, old)| old == window)?;
                Some(left.remove(same).0)
            })
            .collect();
        let mut left = left.into_iter();
        for slot in slots.iter_mut().filter(|slot| slot.is_none()) {
            *slot = left.next().map(|(slot, _)| slot);
        }
        let slots: Vec<Slot> = slots
            .into_iter()
            .map(|slot| slot.unwrap_or_else(|| self.fresh()))
            .collect();
        for slot in &slots {
            self.owners.insert(*slot, owner);
        }
        if !slots.is_empty() {
            self.owned.insert(
                owner,
                slots.iter().copied().zip(windows.iter().copied()).collect(),
            );
        }
        slots
    }

    /// A number that no slot had before. Each change from "no limit" to a limit uses one up; a thousand million
    /// such changes of the files are possible.
    fn fresh(&mut self) -> Slot {
        let slot = Slot(self.next);
        self.next = (self.next + 1) % Slot::LIMIT;
        slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Owner = Owner {
        table: Ok(TableId(0)),
        operation: Operation::Create,
        custom: None,
    };

    fn next(before: &Book, windows: &[u64]) -> (Book, Vec<u32>) {
        let mut book = before.successor();
        let slots = book
            .assign(before, OWNER, windows)
            .into_iter()
            .map(|slot| slot.0)
            .collect();
        (book, slots)
    }

    #[test]
    fn windows_of_equal_length_keep_their_slot_and_the_others_follow_in_order() {
        let (first, slots) = next(&Book::default(), &[1_000, 60_000]);
        assert_eq!(slots, [0, 1]);
        let (second, slots) = next(&first, &[60_000, 5_000]);
        assert_eq!(slots, [1, 0]);
        let (third, slots) = next(&second, &[5_000, 60_000, 7_000]);
        assert_eq!(slots, [0, 1, 2]);
        assert_eq!(
            third.owned[&OWNER],
            [(Slot(0), 5_000), (Slot(1), 60_000), (Slot(2), 7_000)]
        );
    }

    #[test]
    fn from_none_to_a_limit_the_slot_is_fresh() {
        let (first, _) = next(&Book::default(), &[1_000]);
        let (none, slots) = next(&first, &[]);
        assert!(slots.is_empty());
        assert_eq!(next(&none, &[1_000]).1, [1]);
    }
}
