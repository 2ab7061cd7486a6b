//! The last of the wider counters: one per slot for every client that finds no other.
//!
//! As small as the number of slots. Its lock is taken after that of a shard, never before.

use std::collections::BTreeMap;

use super::{CounterState, Slot};
use crate::sync::{Mutex, MutexGuard};

/// One counter per slot.
#[derive(Debug)]
pub(crate) struct Everyone {
    counters: Mutex<BTreeMap<Slot, Total>>,
}

/// The state of one of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Total {
    pub(crate) state: CounterState,
    pub(crate) dirty: bool,
}

pub(crate) type Totals<'a> = MutexGuard<'a, BTreeMap<Slot, Total>>;

impl Everyone {
    pub(crate) fn new() -> Self {
        Self {
            counters: Mutex::new(BTreeMap::new()),
        }
    }

    pub(crate) fn lock(&self) -> Totals<'_> {
        self.counters.lock()
    }

    pub(crate) fn dirty(&self) -> usize {
        self.lock().values().filter(|total| total.dirty).count()
    }

    pub(crate) fn take_dirty(&self, max: usize, mut each: impl FnMut(Slot, CounterState)) {
        for (&slot, total) in self
            .lock()
            .iter_mut()
            .filter(|(_, total)| total.dirty)
            .take(max)
        {
            total.dirty = false;
            each(slot, total.state);
        }
    }
}
