//! A clock for tests: it stands still until its hand is moved.
//!
//! Must never move by itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};

use zonai_limit::Moment;

use crate::steady::Steady;

/// How many boots have a name of their own; the names repeat after that many.
const BOOTS: usize = 64;

#[derive(Debug)]
pub(crate) struct Manual {
    now_ms: AtomicU64,
    wall_ms: AtomicI64,
    boots: AtomicUsize,
    boot_ids: Vec<String>,
    pub(crate) steady: Steady,
}

impl Manual {
    pub(crate) fn new() -> Self {
        Self {
            now_ms: AtomicU64::new(Hand::START.as_millis()),
            wall_ms: AtomicI64::new(Hand::WALL_MS),
            boots: AtomicUsize::new(0),
            boot_ids: (0..BOOTS)
                .map(|boot| format!("manual-boot-{boot}"))
                .collect(),
            steady: Steady::new(Hand::START, Hand::WALL_MS),
        }
    }

    pub(crate) fn now(&self) -> Moment {
        Moment::from_millis(self.now_ms.load(Ordering::SeqCst))
    }

    pub(crate) fn wall_ms(&self) -> i64 {
        self.wall_ms.load(Ordering::SeqCst)
    }

    pub(crate) fn boot_id(&self) -> &str {
        let boot = self.boots.load(Ordering::SeqCst) % BOOTS;
        self.boot_ids.get(boot).map_or("", String::as_str)
    }
}

/// Moves the clock that [`Clock::manual`](crate::Clock::manual) made with it.
#[derive(Clone, Debug)]
pub struct Hand(Arc<Manual>);

impl Hand {
    /// The moment at which every manual clock starts: an hour after boot.
    pub const START: Moment = Moment::from_millis(crate::BEFORE_BOOT_MS + 3_600_000);
    /// The wall time at which every manual clock starts, in milliseconds since 1970 UTC: 2026-09-02, 00:00.
    pub const WALL_MS: i64 = 1_788_307_200_000;

    pub(crate) fn new(manual: Arc<Manual>) -> Self {
        Self(manual)
    }

    /// Lets `ms` milliseconds pass, on the boot clock and on the wall.
    pub fn advance_ms(&self, ms: u64) {
        self.0.now_ms.fetch_add(ms, Ordering::SeqCst);
        self.0
            .wall_ms
            .fetch_add(i64::try_from(ms).unwrap_or(i64::MAX), Ordering::SeqCst);
    }

    /// Sets the wall clock, as a person or a time server would; no time passes.
    pub fn set_wall_ms(&self, ms: i64) {
        self.0.wall_ms.store(ms, Ordering::SeqCst);
    }

    /// Starts the machine anew: the boot clock begins again at one second, the boot has another name, the wall
    /// clock goes on.
    pub fn reboot(&self) {
        self.0
            .now_ms
            .store(crate::BEFORE_BOOT_MS + 1_000, Ordering::SeqCst);
        self.0.boots.fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::Hand;
    use crate::Clock;

    #[test]
    fn the_hand_moves_every_clone() {
        let (clock, hand) = Clock::manual();
        let other = clock.clone();
        hand.advance_ms(1_500);
        assert_eq!(other.now(), Hand::START.plus(1_500));
        assert_eq!(other.wall_ms(), Hand::WALL_MS + 1_500);
    }

    #[test]
    fn setting_the_wall_does_not_move_time() {
        let (clock, hand) = Clock::manual();
        let before = clock.now();
        hand.set_wall_ms(0);
        assert_eq!(clock.now(), before);
        assert_eq!(clock.steady_wall_ms(before.plus(2)), 2);
    }

    #[test]
    fn a_reboot_has_another_name_and_begins_again() {
        let (clock, hand) = Clock::manual();
        let id = clock.boot_id().to_owned();
        hand.reboot();
        assert_ne!(clock.boot_id(), id);
        assert!(clock.now() < Hand::START);
        assert_eq!(clock.steady_wall_ms(clock.now()), Hand::WALL_MS);
    }
}
