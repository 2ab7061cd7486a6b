//! How many counters there may be, and how many of the places are kept for wider ones.
//!
//! Must never let the number of counters exceed the cap, not for a moment.

use super::key::Level;
use crate::sync::{AtomicUsize, Ordering};

/// Places for counters. One is reserved before a counter is made and released after it is gone.
#[derive(Debug)]
pub(crate) struct Room {
    live: AtomicUsize,
    max: usize,
    widens: bool,
}

impl Room {
    pub(crate) fn new(max: usize, widens: bool) -> Self {
        Self {
            live: AtomicUsize::new(0),
            max,
            widens,
        }
    }

    pub(crate) fn live(&self) -> usize {
        self.live.load(Ordering::Relaxed)
    }

    pub(crate) const fn max(&self) -> usize {
        self.max
    }

    pub(crate) fn is_full(&self) -> bool {
        self.live() >= self.limit(Level::OWN, false)
    }

    /// Takes a place for a counter of `level`; `false` where none is left for it.
    pub(crate) fn reserve(&self, level: Level, v6: bool) -> bool {
        let limit = self.limit(level, v6);
        if self.live() >= limit {
            return false;
        }
        if self.live.fetch_add(1, Ordering::Relaxed) >= limit {
            self.live.fetch_sub(1, Ordering::Relaxed);
            return false;
        }
        true
    }

    /// Gives `places` back.
    pub(crate) fn release(&self, places: usize) {
        if places > 0 {
            self.live.fetch_sub(places, Ordering::Relaxed);
        }
    }

    /// Of the sixteenth that is kept, half is for the near groups, a quarter more for the far ones of IPv4, and the
    /// rest for those of IPv6: a flood from all over one address family leaves room for clients of the other.
    const fn limit(&self, level: Level, v6: bool) -> usize {
        if !self.widens {
            return self.max;
        }
        let kept = self.max / 16;
        match level {
            Level::OWN => self.max - kept,
            Level::NEAR => self.max - kept / 2,
            _ if !v6 => self.max - kept / 4,
            _ => self.max,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sixteenth_is_kept_for_wider_counters() {
        let room = Room::new(160, true);
        let taken = (0..200).filter(|_| room.reserve(Level::OWN, false)).count();
        assert_eq!(taken, 150);
        assert_eq!(
            (0..200)
                .filter(|_| room.reserve(Level::NEAR, false))
                .count(),
            5
        );
        assert_eq!(
            (0..200).filter(|_| room.reserve(Level::FAR, false)).count(),
            3
        );
        assert_eq!(
            (0..200).filter(|_| room.reserve(Level::FAR, true)).count(),
            2
        );
        assert_eq!(room.live(), room.max());
        room.release(15);
        assert!(room.reserve(Level::OWN, false));
    }
}
