//! Sharded tables of counters: a shard is one lock over some segments, and holds all counters of a client.
//!
//! Must never hold two shards' locks at once, but for a `try_lock` while looking for room.

use std::hash::{BuildHasher, Hasher};

use ahash::RandomState;

use super::entry::{Entry, tag};
use super::key::{Key, Level};
use super::room::Room;
use super::segment::{Reclaimed, Segment};
use super::segments::Segments;
use super::windows::Windows;
use super::{CounterState, Slot};
use crate::sync::{AtomicUsize, Mutex, MutexGuard, Ordering};
use crate::{Client, Ipv6Prefix, Moment};

// The model checker tries orders of locks: a few are enough, and thousands would take it minutes.
const SHARD_BITS: u32 = if cfg!(feature = "shuttle") { 1 } else { 6 };
const SHARDS: usize = 1 << SHARD_BITS;
/// How many buckets an insert looks at for closed windows; and how many every eighth one looks at elsewhere, where no
/// new clients may come.
const PER_INSERT: usize = 6;
const ELSEWHERE_EVERY: u64 = 8;
const ELSEWHERE: usize = 64;
/// How many it looks at in its own segment and elsewhere when no place is left.
const WHEN_FULL_HERE: usize = 32;
const WHEN_FULL_ELSEWHERE: usize = 64;

pub(crate) struct Table<K> {
    shards: Box<[Shard<K>]>,
    hasher: RandomState,
    mix: u64,
    pub(crate) room: Room,
    pub(crate) prefix: Ipv6Prefix,
    pub(crate) tracked: bool,
    /// The segment that is looked at next when no place is left.
    hand: AtomicUsize,
    /// The segment from which dirty counters are taken next.
    sweep: AtomicUsize,
}

#[repr(align(128))]
struct Shard<K> {
    segments: Mutex<Segments<K>>,
    /// Written under the lock, read without.
    dirty: AtomicUsize,
    live: AtomicUsize,
}

impl<K> Shard<K> {
    #[inline]
    fn locked<'a>(&'a self, segments: MutexGuard<'a, Segments<K>>) -> Locked<'a, K> {
        Locked {
            segments,
            dirty: &self.dirty,
            live: &self.live,
        }
    }
}

/// A locked shard.
pub(crate) struct Locked<'a, K> {
    segments: MutexGuard<'a, Segments<K>>,
    dirty: &'a AtomicUsize,
    live: &'a AtomicUsize,
}

impl<K: Key> Table<K> {
    pub(crate) fn new(max: usize, prefix: Ipv6Prefix) -> Self {
        let hasher = RandomState::new();
        let shard = |_| Shard {
            segments: Mutex::new(Segments::new()),
            dirty: AtomicUsize::new(0),
            live: AtomicUsize::new(0),
        };
        Self {
            shards: (0..SHARDS).map(shard).collect(),
            mix: hasher.hash_one(max) | 1,
            hasher,
            room: Room::new(max, K::WIDENS),
            prefix,
            tracked: true,
            hand: AtomicUsize::new(0),
            sweep: AtomicUsize::new(0),
        }
    }

    #[inline]
    pub(crate) fn hash(&self, key: K, tag: u32) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        key.hash_into(tag, &mut hasher);
        hasher.finish()
    }

    pub(crate) fn rehash(&self) -> impl Fn(&Entry<K>) -> u64 {
        |entry| self.hash(entry.key, entry.tag)
    }

    #[inline]
    pub(crate) fn lock(&self, key: K) -> Locked<'_, K> {
        let number = key.network().wrapping_mul(self.mix) >> (u64::BITS - SHARD_BITS);
        self.lock_shard(number as usize)
    }

    #[inline]
    fn lock_shard(&self, number: usize) -> Locked<'_, K> {
        let shard = &self.shards[number % SHARDS];
        shard.locked(shard.segments.lock())
    }

    /// Puts a counter in for which a place was reserved, and looks for a few that can go.
    pub(crate) fn insert(
        &self,
        locked: &mut Locked<'_, K>,
        hash: u64,
        entry: Entry<K>,
        now: Moment,
        windows: &Windows,
    ) {
        // First the look, so that a table in which windows close as fast as others open need not grow.
        self.reclaim_here(locked, hash, PER_INSERT, now, windows);
        locked.segments.insert(hash, entry, self.rehash());
        add(locked.live, 1);
        if hash.is_multiple_of(ELSEWHERE_EVERY) {
            self.reclaim_elsewhere(ELSEWHERE, now, windows, false);
        }
    }

    /// Looks for closed windows in the segment of `hash` and in those whose turn it is.
    pub(crate) fn make_room(
        &self,
        locked: &mut Locked<'_, K>,
        hash: u64,
        now: Moment,
        windows: &Windows,
    ) {
        self.reclaim_here(locked, hash, WHEN_FULL_HERE, now, windows);
        self.reclaim_elsewhere(WHEN_FULL_ELSEWHERE, now, windows, false);
    }

    /// Removes closed windows, looking at about `budget` buckets, a thousand at most under one lock.
    pub(crate) fn reclaim(&self, mut budget: usize, now: Moment, windows: &Windows) -> usize {
        const SLICE: usize = 1_000;
        let mut removed = 0;
        while budget > 0 {
            let slice = budget.min(SLICE);
            removed += self.reclaim_elsewhere(slice, now, windows, true);
            budget -= slice;
        }
        removed
    }

    /// Removes every counter whose window has closed.
    pub(crate) fn drop_closed(&self, now: Moment, windows: &Windows) {
        for shard in &self.shards {
            let mut locked = shard.locked(shard.segments.lock());
            for at in 0..locked.segments.count() {
                let segment = locked.segments.at(at);
                let reclaimed = segment.reclaim(usize::MAX, now, windows, self.rehash());
                self.forget(&mut locked, reclaimed);
            }
        }
    }

    fn reclaim_here(
        &self,
        locked: &mut Locked<'_, K>,
        hash: u64,
        buckets: usize,
        now: Moment,
        windows: &Windows,
    ) {
        let segment = locked.segment(hash);
        let reclaimed = segment.reclaim(buckets, now, windows, self.rehash());
        self.forget(locked, reclaimed);
    }

    /// Goes on from segment to segment where the last look ended. Shards that are in use are passed over, unless it
    /// may `wait`. Returns how many counters went.
    fn reclaim_elsewhere(
        &self,
        buckets: usize,
        now: Moment,
        windows: &Windows,
        wait: bool,
    ) -> usize {
        let (mut left, mut removed) = (buckets, 0);
        let mut turn = Turn::from_number(self.hand.load(Ordering::Relaxed));
        for _ in 0..=SHARDS {
            let shard = &self.shards[turn.shard];
            let segments = match shard.live.load(Ordering::Relaxed) {
                0 => None,
                _ if wait => Some(shard.segments.lock()),
                _ => shard.segments.try_lock(),
            };
            let Some(segments) = segments else {
                turn = turn.next_shard();
                continue;
            };
            let mut locked = shard.locked(segments);
            while turn.segment < locked.segments.count() && left > 0 {
                let segment = locked.segments.at(turn.segment);
                let reclaimed = segment.reclaim(left, now, windows, self.rehash());
                left = left.saturating_sub(reclaimed.looked.max(1));
                turn.segment += usize::from(reclaimed.wrapped);
                removed += reclaimed.counters;
                self.forget(&mut locked, reclaimed);
            }
            if left == 0 {
                break;
            }
            turn = turn.next_shard();
        }
        // Where another thread was faster, some segments get their turn twice.
        self.hand.store(turn.number(), Ordering::Relaxed);
        removed
    }

    fn forget(&self, locked: &mut Locked<'_, K>, reclaimed: Reclaimed) {
        if reclaimed.counters > 0 {
            self.room.release(reclaimed.counters);
            sub(locked.live, reclaimed.counters);
            sub(locked.dirty, reclaimed.dirty);
        }
    }

    pub(crate) fn get(&self, key: K, slot: Slot, level: Level) -> Option<CounterState> {
        let tag = tag(slot, level);
        let hash = self.hash(key, tag);
        self.lock(key)
            .segment(hash)
            .find(hash, key, tag)
            .map(Entry::state)
    }

    /// Calls `change` with a counter that exists, under its lock. What it returns says whether the counter is dirty then.
    pub(crate) fn with(
        &self,
        key: K,
        slot: Slot,
        level: Level,
        change: impl FnOnce(&mut Entry<K>) -> bool,
    ) {
        let tag = tag(slot, level);
        let hash = self.hash(key, tag);
        let mut locked = self.lock(key);
        let segment = locked.segment(hash);
        let Some(entry) = segment.find_mut(hash, key, tag) else {
            return;
        };
        let was = entry.is_dirty();
        let is = change(entry) && self.tracked;
        entry.set_dirty(is);
        match (was, is) {
            (false, true) => locked.note_dirty(hash),
            (true, false) => {
                segment.note_clean();
                sub(locked.dirty, 1);
            }
            _ => {}
        }
    }

    pub(crate) fn dirty(&self) -> usize {
        self.shards
            .iter()
            .map(|shard| shard.dirty.load(Ordering::Relaxed))
            .sum()
    }

    /// Takes at most `max` dirty counters, beginning after the segment where the last call ended.
    pub(crate) fn take_dirty(&self, max: usize, mut each: impl FnMut(&Entry<K>)) {
        let mut left = max;
        let mut turn = Turn::from_number(self.sweep.load(Ordering::Relaxed));
        for _ in 0..=SHARDS {
            let shard = &self.shards[turn.shard];
            while left > 0 && shard.dirty.load(Ordering::Relaxed) > 0 {
                let mut locked = shard.locked(shard.segments.lock());
                if turn.segment >= locked.segments.count() {
                    break;
                }
                let segment = locked.segments.at(turn.segment);
                let before = segment.dirty();
                let ended = segment.take_dirty(left, &mut each);
                let taken = before - segment.dirty();
                sub(locked.dirty, taken);
                left -= taken;
                turn.segment += usize::from(ended);
            }
            if left == 0 {
                break;
            }
            turn = turn.next_shard();
        }
        self.sweep.store(turn.number(), Ordering::Relaxed);
    }

    pub(crate) fn remove_if(&self, mut matches: impl FnMut(&Entry<K>) -> bool) {
        self.each_segment(|locked, number| {
            let segment = locked.segments.at(number);
            let removed = segment.remove_if(&mut matches);
            segment.shrink(self.rehash());
            self.forget(locked, removed);
        });
    }

    /// Calls `each` with copies, a segment at a time, under no lock. One whose segment is split meanwhile may come twice.
    pub(crate) fn for_each(&self, mut each: impl FnMut(&Entry<K>)) {
        let mut copies = Vec::new();
        for shard in &self.shards {
            for number in 0.. {
                copies.clear();
                let mut segments = shard.segments.lock();
                if number >= segments.count() {
                    break;
                }
                copies.extend(segments.at(number).iter().copied());
                drop(segments);
                copies.iter().for_each(&mut each);
            }
        }
    }

    /// Locks the shards anew for each segment. What is split off meanwhile comes later, so that nothing is missed.
    fn each_segment(&self, mut each: impl FnMut(&mut Locked<'_, K>, usize)) {
        for shard in &self.shards {
            for number in 0.. {
                let mut locked = shard.locked(shard.segments.lock());
                if number >= locked.segments.count() {
                    break;
                }
                each(&mut locked, number);
            }
        }
    }

    pub(crate) fn client(&self, entry: &Entry<K>) -> Client {
        entry.key.client(entry.level(), self.prefix)
    }
}

/// Whose turn it is, packed into one number between two calls.
#[derive(Clone, Copy)]
struct Turn {
    shard: usize,
    segment: usize,
}

impl Turn {
    const fn from_number(number: usize) -> Self {
        Self {
            shard: number % SHARDS,
            segment: number / SHARDS,
        }
    }

    const fn number(self) -> usize {
        self.shard + self.segment * SHARDS
    }

    const fn next_shard(self) -> Self {
        Self {
            shard: (self.shard + 1) % SHARDS,
            segment: 0,
        }
    }
}

impl<K: Key> Locked<'_, K> {
    #[inline]
    pub(crate) fn segment(&mut self, hash: u64) -> &mut Segment<K> {
        self.segments.of(hash)
    }

    /// Notes that a counter of this segment became dirty.
    #[inline]
    pub(crate) fn note_dirty(&mut self, hash: u64) {
        self.segment(hash).note_dirty();
        add(self.dirty, 1);
    }
}

// Only ever called under the lock of the shard, so that a plain load and store are enough.

#[inline]
fn add(number: &AtomicUsize, by: usize) {
    number.store(number.load(Ordering::Relaxed) + by, Ordering::Relaxed);
}

fn sub(number: &AtomicUsize, by: usize) {
    number.store(
        number.load(Ordering::Relaxed).saturating_sub(by),
        Ordering::Relaxed,
    );
}
