//! The segments of one shard: one while there are few counters, more as they grow, each split in two when it is full.
//!
//! (Extendible hashing.) A shard whose counters are few is then one table, whose head lies beside the lock; and one
//! that holds a million never has to move more than two thousand of them at once.

use super::entry::Entry;
use super::key::Key;
use super::segment::Segment;

/// A segment that holds this many counters is split: as many as fill a table of 2,048 places, or 50 KB.
const FULL: usize = if cfg!(feature = "shuttle") { 2 } else { 1_792 };
/// At most 2^11 segments; beyond 3.6 million counters in one shard the segments grow.
const MOST_BITS: u8 = 11;
/// The bits of the hash that choose the segment; hashbrown uses the lowest and the seven highest.
const SHIFT: u32 = 40;

/// All segments of a shard. In this order, so that the lock before them and the first table's head share a cache line.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Segments<K> {
    first: Segment<K>,
    more: Vec<Segment<K>>,
    /// By the bits of the hash, as many as it takes; empty while there is only the first.
    directory: Vec<u16>,
}

impl<K: Key> Segments<K> {
    pub(crate) const fn new() -> Self {
        Self {
            first: Segment::new(),
            more: Vec::new(),
            directory: Vec::new(),
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.more.len() + 1
    }

    /// The segment of a number below [`Self::count`]; the first for any other.
    pub(crate) fn at(&mut self, number: usize) -> &mut Segment<K> {
        match number
            .checked_sub(1)
            .and_then(|place| self.more.get_mut(place))
        {
            Some(segment) => segment,
            None => &mut self.first,
        }
    }

    #[inline]
    pub(crate) fn of(&mut self, hash: u64) -> &mut Segment<K> {
        // As long as nothing was split off, the directory is empty.
        if self.first.bits() == 0 {
            return &mut self.first;
        }
        let number = self.number(hash);
        self.at(number)
    }

    fn number(&self, hash: u64) -> usize {
        let place = (hash >> SHIFT) as usize & self.directory.len().saturating_sub(1);
        self.directory
            .get(place)
            .map_or(0, |&number| usize::from(number))
    }

    pub(crate) fn insert(&mut self, hash: u64, entry: Entry<K>, hasher: impl Fn(&Entry<K>) -> u64) {
        if self.of(hash).len() >= FULL {
            self.split(hash, &hasher);
        }
        self.of(hash).insert(hash, entry, hasher);
    }

    /// Moves the half of a segment whose next bit is set to a new one.
    #[cold]
    fn split(&mut self, hash: u64, hasher: &impl Fn(&Entry<K>) -> u64) {
        let full = self.number(hash);
        let bits = self.at(full).bits();
        if bits >= MOST_BITS {
            return;
        }
        let new = self.count();
        let moves = |hash: u64| hash >> SHIFT >> bits & 1 == 1;
        let moved = self.at(full).split_off(moves, hasher);
        self.more.push(moved);
        if self.directory.is_empty() {
            self.directory.push(0);
        }
        if self.directory.len() == 1 << bits {
            self.directory.extend_from_within(..);
        }
        for (place, number) in self.directory.iter_mut().enumerate() {
            if usize::from(*number) == full && moves((place as u64) << SHIFT) {
                *number = new as u16;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::Moment;
    use crate::counters::windows::Windows;

    /// A hash that spreads over all bits, as the keyed one does.
    fn hash(key: u64) -> u64 {
        let mixed = (key ^ (key >> 31)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    #[test]
    fn every_counter_is_found_however_often_segments_were_split() {
        let mut segments: Segments<u64> = Segments::new();
        let total = 40_000;
        for key in 0..total {
            let mut entry = Entry::new(key, 0, Moment::from_millis(key), 1);
            entry.set_dirty(key % 3 == 0);
            segments.insert(hash(key), entry, |entry| hash(entry.key));
            if key % 3 == 0 {
                segments.of(hash(key)).note_dirty();
            }
        }
        if !cfg!(feature = "shuttle") {
            assert!((23..80).contains(&segments.count()), "{}", segments.count());
        }
        for key in 0..total {
            assert_eq!(
                segments
                    .of(hash(key))
                    .find(hash(key), key, 0)
                    .unwrap()
                    .start_ms(),
                key
            );
        }
        let (mut len, mut dirty) = (0, 0);
        for number in 0..segments.count() {
            let segment = segments.at(number);
            assert_eq!(
                segment.iter().filter(|entry| entry.is_dirty()).count(),
                segment.dirty()
            );
            len += segment.len();
            dirty += segment.dirty();
            segment.reclaim(1 << 20, Moment::MAX, &Windows::new(), |entry| {
                hash(entry.key)
            });
            assert_eq!((segment.len(), segment.dirty()), (0, 0));
        }
        assert_eq!((len as u64, dirty as u64), (total, total.div_ceil(3)));
    }
}
