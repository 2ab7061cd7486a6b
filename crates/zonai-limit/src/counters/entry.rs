//! One counter as it lies in memory: 24 bytes for an IPv4 address or an IPv6 /64.

use super::key::{Key, Level};
use super::{CounterState, Slot};
use crate::Moment;

/// Whose counter, what for, how many, since when. The lowest bits of the last word say "not yet stored" and "all given back".
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<K> {
    pub(crate) key: K,
    pub(crate) tag: u32,
    pub(crate) count: u32,
    start_and_flags: u64,
}

const _: () = assert!(
    size_of::<Entry<u64>>() == 24,
    "promise 9.1: an entry of at most 24 bytes"
);

const FLAG_BITS: u32 = 16;
const DIRTY: u64 = 1;
const GIVEN_BACK: u64 = 2;

impl<K: Key> Entry<K> {
    pub(crate) const fn new(key: K, tag: u32, start: Moment, count: u32) -> Self {
        Self {
            key,
            tag,
            count,
            start_and_flags: start.as_millis() << FLAG_BITS,
        }
    }

    #[inline]
    pub(crate) fn is(&self, key: K, tag: u32) -> bool {
        self.key == key && self.tag == tag
    }

    #[inline]
    pub(crate) const fn start_ms(&self) -> u64 {
        self.start_and_flags >> FLAG_BITS
    }

    pub(crate) const fn state(&self) -> CounterState {
        CounterState {
            window_start: Moment::from_millis(self.start_ms()),
            count: self.count,
        }
    }

    /// Opens a window; whether it is stored stays as it was.
    #[inline]
    pub(crate) fn open(&mut self, start: Moment, count: u32) {
        self.start_and_flags = start.as_millis() << FLAG_BITS | self.start_and_flags & DIRTY;
        self.count = count;
    }

    #[inline]
    pub(crate) const fn is_dirty(&self) -> bool {
        self.start_and_flags & DIRTY != 0
    }

    #[inline]
    pub(crate) fn set_dirty(&mut self, dirty: bool) {
        self.start_and_flags = self.start_and_flags & !DIRTY | u64::from(dirty);
    }

    /// Notes that all it had counted was given back; the next window, or the next count, forgets it.
    pub(crate) fn mark_given_back(&mut self) {
        self.start_and_flags |= GIVEN_BACK;
    }

    /// Whether it counts for nothing though its window is open. A window that a limit of 0 opened counts: it has a reset.
    pub(crate) const fn is_given_back(&self) -> bool {
        self.count == 0 && self.start_and_flags & GIVEN_BACK != 0
    }

    pub(crate) const fn slot(&self) -> Slot {
        slot_of(self.tag)
    }

    pub(crate) const fn level(&self) -> Level {
        Level::from_tag(self.tag)
    }
}

/// Slot and level in one word.
#[inline]
pub(crate) const fn tag(slot: Slot, level: Level) -> u32 {
    slot.0 << Level::BITS | level.number()
}

const fn slot_of(tag: u32) -> Slot {
    Slot(tag >> Level::BITS)
}
