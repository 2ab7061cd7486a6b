//! The only place that reads time.
//!
//! Windows are measured on a clock that never jumps and counts while the machine sleeps; the wall clock is
//! only for what people and other programs read. Must never sleep, and must never decide anything.

mod manual;
mod steady;
mod system;

use std::sync::Arc;

pub use manual::Hand;
use manual::Manual;
use system::System;
use zonai_limit::Moment;

/// How long before the boot moments begin: 400 days, in milliseconds. The longest window is 366 days, so that a window
/// that opened before a reboot still has a moment at which it opened.
pub(crate) const BEFORE_BOOT_MS: u64 = 400 * 24 * 60 * 60 * 1_000;

/// Where time comes from: the machine, or a [`Hand`] in tests. Cheap to clone; clones share everything.
///
/// ```
/// use zonai_clock::Clock;
/// let (clock, hand) = Clock::manual();
/// let before = clock.now();
/// hand.advance_ms(250);
/// assert_eq!(clock.now().since(before), 250);
/// ```
#[derive(Clone, Debug)]
pub struct Clock(Inner);

#[derive(Clone, Debug)]
enum Inner {
    System(Arc<System>),
    Manual(Arc<Manual>),
}

impl Clock {
    /// The machine's clocks. Reads the identity of the boot once.
    #[must_use]
    pub fn system() -> Self {
        Self(Inner::System(Arc::new(System::new())))
    }

    /// A clock that stands still until its hand is moved. It starts at [`Hand::START`] with the wall at [`Hand::WALL_MS`].
    #[must_use]
    pub fn manual() -> (Self, Hand) {
        let manual = Arc::new(Manual::new());
        (Self(Inner::Manual(Arc::clone(&manual))), Hand::new(manual))
    }

    /// Now, on the clock that never jumps and goes on while the machine sleeps.
    #[must_use]
    pub fn now(&self) -> Moment {
        match &self.0 {
            Inner::System(_) => system::since_boot(),
            Inner::Manual(manual) => manual.now(),
        }
    }

    /// The wall clock as it is set, in milliseconds since 1970 UTC. It may jump either way.
    #[must_use]
    pub fn wall_ms(&self) -> i64 {
        match &self.0 {
            Inner::System(_) => system::wall_ms(),
            Inner::Manual(manual) => manual.wall_ms(),
        }
    }

    /// The wall time of a moment, in milliseconds since 1970 UTC, derived from the clock that does not jump: it
    /// follows the wall clock only when that has stepped by more than a second. For headers and stored windows, so
    /// that one window shows one reset.
    #[must_use]
    pub fn steady_wall_ms(&self, at: Moment) -> i64 {
        self.steady_wall_ms_at(self.now(), at)
    }

    /// The same for whoever has just read [`Clock::now`]: a reading less.
    #[must_use]
    pub fn steady_wall_ms_at(&self, now: Moment, at: Moment) -> i64 {
        match &self.0 {
            Inner::System(system) => system.steady.wall_ms(at, now, system::coarse_wall_ms()),
            Inner::Manual(manual) => manual.steady.wall_ms(at, now, manual.wall_ms()),
        }
    }

    /// What identifies this boot of the machine. Moments of one boot can be compared, those of two cannot.
    #[must_use]
    pub fn boot_id(&self) -> &str {
        match &self.0 {
            Inner::System(system) => &system.boot_id,
            Inner::Manual(manual) => manual.boot_id(),
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}
