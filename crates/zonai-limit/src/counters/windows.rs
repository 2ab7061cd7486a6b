//! How long the window of each slot is now, for telling closed counters from open ones.
//!
//! Read by the reclaiming only: a decision brings its policy along. Must never lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Slot;

/// The first chunk holds 64 slots, each further one twice as many as the one before.
const FIRST_BITS: u32 = 6;
const CHUNKS: usize = (u32::BITS - FIRST_BITS) as usize;

/// Window in milliseconds by slot; 0 where the slot is not limited, so that its counters can go.
#[derive(Debug)]
pub(crate) struct Windows {
    chunks: [OnceLock<Box<[AtomicU64]>>; CHUNKS],
}

impl Windows {
    pub(crate) fn new() -> Self {
        Self {
            chunks: [const { OnceLock::new() }; CHUNKS],
        }
    }

    pub(crate) fn get(&self, slot: Slot) -> u64 {
        let (chunk, index) = place(slot);
        let chunk = self.chunks.get(chunk).and_then(OnceLock::get);
        chunk
            .and_then(|chunk| chunk.get(index))
            .map_or(0, |window| window.load(Ordering::Relaxed))
    }

    pub(crate) fn set(&self, slot: Slot, window_ms: u64) {
        self.with(slot, |window| window.store(window_ms, Ordering::Relaxed));
    }

    /// Makes the window at least `window_ms` long.
    pub(crate) fn raise(&self, slot: Slot, window_ms: u64) {
        if self.get(slot) < window_ms {
            self.with(slot, |window| {
                window.fetch_max(window_ms, Ordering::Relaxed);
            });
        }
    }

    fn with(&self, slot: Slot, change: impl FnOnce(&AtomicU64)) {
        let (number, index) = place(slot);
        if let Some(chunk) = self.chunks.get(number) {
            let chunk = chunk.get_or_init(|| {
                let length = 1_usize << (number as u32 + FIRST_BITS);
                (0..length).map(|_| AtomicU64::new(0)).collect()
            });
            if let Some(window) = chunk.get(index) {
                change(window);
            }
        }
    }
}

/// Chunk and place in the chunk.
const fn place(slot: Slot) -> (usize, usize) {
    let shifted = slot.0 as u64 + (1 << FIRST_BITS);
    let top = u64::BITS - 1 - shifted.leading_zeros();
    ((top - FIRST_BITS) as usize, (shifted - (1 << top)) as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_its_own_place() {
        let windows = Windows::new();
        for slot in 0..1_000 {
            windows.set(Slot(slot), u64::from(slot) + 1);
        }
        for slot in 0..1_000 {
            assert_eq!(windows.get(Slot(slot)), u64::from(slot) + 1);
        }
        assert_eq!(windows.get(Slot(1_000_000)), 0);
        windows.raise(Slot(5), 3);
        assert_eq!(windows.get(Slot(5)), 6);
    }
}
