//! One hash table of counters, small enough that growing it never takes long.
//!
//! Must never drop an open counter.

use hashbrown::HashTable;

use super::entry::Entry;
use super::key::Key;
use super::windows::Windows;
use crate::Moment;

/// Below this capacity a table is not worth shrinking.
const SMALL: usize = 64;

/// A table, with the places where reclaiming and storing go on.
#[derive(Debug)]
pub(crate) struct Segment<K> {
    table: HashTable<Entry<K>>,
    hand: u32,
    sweep: u32,
    dirty: u32,
    /// How many bits of the hash all its counters share.
    bits: u8,
}

/// What a look at some buckets came to.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reclaimed {
    pub(crate) counters: usize,
    pub(crate) dirty: usize,
    /// Buckets looked at.
    pub(crate) looked: usize,
    /// The hand passed the last bucket.
    pub(crate) wrapped: bool,
}

impl<K: Key> Segment<K> {
    pub(crate) const fn new() -> Self {
        Self {
            table: HashTable::new(),
            hand: 0,
            sweep: 0,
            dirty: 0,
            bits: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }

    pub(crate) const fn bits(&self) -> u8 {
        self.bits
    }

    /// Moves the counters whose hash `moves` to a new segment. Both share a bit more than this one did.
    pub(crate) fn split_off(
        &mut self,
        moves: impl Fn(u64) -> bool,
        hasher: &impl Fn(&Entry<K>) -> u64,
    ) -> Self {
        self.bits += 1;
        let mut other = Self {
            bits: self.bits,
            ..Self::new()
        };
        // Both as large as this one was, though half would do: it would soon be outgrown, and leave a hole in the
        // heap. Both new, as a table out of which much was taken is full of marks of what was there.
        let room = full(&self.table);
        let old = std::mem::replace(&mut self.table, HashTable::with_capacity(room));
        other.table.reserve(room, hasher);
        for entry in old {
            let hash = hasher(&entry);
            if moves(hash) {
                other.dirty += u32::from(entry.is_dirty());
                other.table.insert_unique(hash, entry, hasher);
            } else {
                self.table.insert_unique(hash, entry, hasher);
            }
        }
        (self.hand, self.sweep) = (0, 0);
        self.dirty = self.dirty.saturating_sub(other.dirty);
        other
    }

    pub(crate) fn dirty(&self) -> usize {
        self.dirty as usize
    }

    #[inline]
    pub(crate) fn find(&self, hash: u64, key: K, tag: u32) -> Option<&Entry<K>> {
        self.table.find(hash, |entry| entry.is(key, tag))
    }

    #[inline]
    pub(crate) fn find_mut(&mut self, hash: u64, key: K, tag: u32) -> Option<&mut Entry<K>> {
        self.table.find_mut(hash, |entry| entry.is(key, tag))
    }

    pub(crate) fn insert(&mut self, hash: u64, entry: Entry<K>, hasher: impl Fn(&Entry<K>) -> u64) {
        self.clear_marks(&hasher);
        self.table.insert_unique(hash, entry, hasher);
    }

    /// A table in which counters come and go fills with marks of those that went, and would double for them. Where they
    /// take an eighth of it, it is made anew in the same size.
    fn clear_marks(&mut self, hasher: &impl Fn(&Entry<K>) -> u64) {
        let (used, room) = (self.table.len(), full(&self.table));
        if used == self.table.capacity() && used + room / 8 <= room && room >= SMALL {
            let old = std::mem::replace(&mut self.table, HashTable::with_capacity(room));
            for entry in old {
                self.table.insert_unique(hasher(&entry), entry, hasher);
            }
            (self.hand, self.sweep) = (0, 0);
        }
    }

    /// Notes that one more counter is dirty.
    #[inline]
    pub(crate) fn note_dirty(&mut self) {
        self.dirty += 1;
    }

    /// Notes that one counter is clean again.
    pub(crate) fn note_clean(&mut self) {
        self.dirty = self.dirty.saturating_sub(1);
    }

    /// Looks at `buckets` places behind the hand and removes the counters whose window has closed.
    pub(crate) fn reclaim(
        &mut self,
        buckets: usize,
        now: Moment,
        windows: &Windows,
        hasher: impl Fn(&Entry<K>) -> u64,
    ) -> Reclaimed {
        let length = self.table.num_buckets();
        if self.table.is_empty() {
            return Reclaimed {
                wrapped: true,
                ..Reclaimed::default()
            };
        }
        let mut reclaimed = Reclaimed {
            looked: buckets.min(length),
            ..Reclaimed::default()
        };
        let mut hand = self.hand as usize;
        for _ in 0..buckets.min(length) {
            if hand >= length {
                hand = 0;
                reclaimed.wrapped = true;
            }
            if self
                .table
                .get_bucket(hand)
                .is_some_and(|entry| is_closed(entry, now, windows))
                && let Ok(entry) = self.table.get_bucket_entry(hand)
            {
                let (entry, _) = entry.remove();
                reclaimed.counters += 1;
                reclaimed.dirty += usize::from(entry.is_dirty());
            }
            hand += 1;
        }
        reclaimed.wrapped |= hand >= length;
        self.hand = hand as u32;
        self.dirty = self.dirty.saturating_sub(reclaimed.dirty as u32);
        if reclaimed.counters > 0 {
            self.shrink(hasher);
        }
        reclaimed
    }

    /// Gives memory back once seven in eight places are empty, and all of it once all are.
    pub(crate) fn shrink(&mut self, hasher: impl Fn(&Entry<K>) -> u64) {
        let (used, room) = (self.table.len(), self.table.capacity());
        if used == 0 {
            self.table = HashTable::new();
            (self.hand, self.sweep) = (0, 0);
        } else if room >= SMALL && used * 8 < room {
            self.table.shrink_to(used * 2, hasher);
            (self.hand, self.sweep) = (0, 0);
        }
    }

    /// Takes at most `max` dirty counters, going on where the last call ended. `true` where the end was reached.
    pub(crate) fn take_dirty(&mut self, max: usize, mut each: impl FnMut(&Entry<K>)) -> bool {
        let length = self.table.num_buckets();
        let mut at = self.sweep as usize;
        if at >= length {
            at = 0;
        }
        let mut taken = 0;
        while at < length && taken < max && self.dirty > 0 {
            if let Some(entry) = self.table.get_bucket_mut(at)
                && entry.is_dirty()
            {
                entry.set_dirty(false);
                self.dirty -= 1;
                taken += 1;
                each(entry);
            }
            at += 1;
        }
        let ended = at >= length || self.dirty == 0;
        self.sweep = if ended { 0 } else { at as u32 };
        ended
    }

    /// Removes every counter that `matches`.
    pub(crate) fn remove_if(&mut self, mut matches: impl FnMut(&Entry<K>) -> bool) -> Reclaimed {
        let mut removed = Reclaimed::default();
        for entry in self.table.extract_if(|entry| matches(entry)) {
            removed.counters += 1;
            removed.dirty += usize::from(entry.is_dirty());
        }
        self.dirty = self.dirty.saturating_sub(removed.dirty as u32);
        removed
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry<K>> {
        self.table.iter()
    }
}

/// How many counters a table of this size can hold: seven of eight places.
fn full<T>(table: &HashTable<T>) -> usize {
    table.num_buckets() / 8 * 7
}

/// A counter counts for nothing any more once its window, at its present length, has closed. A place that was given
/// back and stored so counts for nothing either.
fn is_closed<K: Key>(entry: &Entry<K>, now: Moment, windows: &Windows) -> bool {
    let window_ms = windows.get(entry.slot());
    let given_back = !K::WIDENS && entry.is_given_back() && !entry.is_dirty();
    given_back || now.as_millis().saturating_sub(entry.start_ms()) >= window_ms
}
