//! Wall time derived from the boot clock, so that slewing and small corrections do not show.

use std::sync::atomic::{AtomicI64, Ordering};

use zonai_limit::Moment;

/// Steps of the wall clock up to this many milliseconds are not followed.
const TOLERANCE_MS: i64 = 1_000;

/// The difference between wall clock and boot clock, as it was when the wall clock last stepped.
#[derive(Debug)]
pub(crate) struct Steady {
    offset_ms: AtomicI64,
}

impl Steady {
    pub(crate) fn new(now: Moment, wall_ms: i64) -> Self {
        Self {
            offset_ms: AtomicI64::new(offset(now, wall_ms)),
        }
    }

    /// The wall time of `at`, given what both clocks say now.
    pub(crate) fn wall_ms(&self, at: Moment, now: Moment, wall_ms: i64) -> i64 {
        let seen = offset(now, wall_ms);
        let mut used = self.offset_ms.load(Ordering::Relaxed);
        if seen.abs_diff(used) > TOLERANCE_MS.unsigned_abs() {
            self.offset_ms.store(seen, Ordering::Relaxed);
            used = seen;
        }
        millis(at).saturating_add(used)
    }
}

fn offset(now: Moment, wall_ms: i64) -> i64 {
    wall_ms.saturating_sub(millis(now))
}

fn millis(moment: Moment) -> i64 {
    i64::try_from(moment.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn follows_only_steps_over_a_second() {
        let at = Moment::from_millis;
        let steady = Steady::new(at(10_000), 1_000_010_000);
        assert_eq!(
            steady.wall_ms(at(12_000), at(10_000), 1_000_010_900),
            1_000_012_000
        );
        assert_eq!(
            steady.wall_ms(at(12_000), at(10_000), 1_000_009_000),
            1_000_012_000
        );
        assert_eq!(
            steady.wall_ms(at(12_000), at(10_000), 1_000_011_001),
            1_000_013_001
        );
        // A drift of less than a second from the new base does not show either.
        assert_eq!(
            steady.wall_ms(at(12_000), at(10_000), 1_000_010_500),
            1_000_013_001
        );
    }
}
