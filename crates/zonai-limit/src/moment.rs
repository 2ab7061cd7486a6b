//! A point in time, in whole milliseconds.
//!
//! Time is an argument of everything in this crate. Nothing here reads a clock, so that every
//! rule is tested with a hand-set one. Where a `Moment` comes from is the business of the crate `zonai-clock`.

/// Milliseconds on a clock that never jumps and goes on while the machine sleeps. It begins some time before the boot, so that
/// windows that opened before a reboot can be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Moment(u64);

impl Moment {
    /// The latest moment a counter can hold: 48 bits of milliseconds, about 8,900 years of uptime.
    pub const MAX: Moment = Moment((1 << 48) - 1);

    /// The moment `ms` milliseconds after the beginning; later than [`Moment::MAX`] is cut to it.
    #[must_use]
    pub const fn from_millis(ms: u64) -> Self {
        if ms > Self::MAX.0 {
            Self::MAX
        } else {
            Self(ms)
        }
    }

    /// Milliseconds since the beginning.
    #[must_use]
    pub const fn as_millis(self) -> u64 {
        self.0
    }

    /// The moment `ms` milliseconds later.
    #[must_use]
    pub const fn plus(self, ms: u64) -> Self {
        Self::from_millis(self.0.saturating_add(ms))
    }

    /// The moment `ms` milliseconds earlier, not before the beginning.
    #[must_use]
    pub const fn minus(self, ms: u64) -> Self {
        Self(self.0.saturating_sub(ms))
    }

    /// Milliseconds from `earlier` to `self`; 0 where `earlier` is the later one.
    #[must_use]
    pub const fn since(self, earlier: Moment) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
