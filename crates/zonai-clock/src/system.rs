//! The machine's own clocks.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads time"
)]

use std::time::{SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};
use zonai_limit::Moment;

use crate::steady::Steady;

#[cfg(any(target_os = "linux", target_os = "android"))]
const BOOT_CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const BOOT_CLOCK: ClockId = ClockId::Monotonic;

#[derive(Debug)]
pub(crate) struct System {
    pub(crate) boot_id: String,
    pub(crate) steady: Steady,
}

impl System {
    pub(crate) fn new() -> Self {
        Self {
            boot_id: boot_id(),
            steady: Steady::new(since_boot(), wall_ms()),
        }
    }
}

pub(crate) fn since_boot() -> Moment {
    let time = clock_gettime(BOOT_CLOCK);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let millis = u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000_000;
    let uptime = seconds.saturating_mul(1_000).saturating_add(millis);
    Moment::from_millis(uptime.saturating_add(crate::BEFORE_BOOT_MS))
}

pub(crate) fn wall_ms() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
    }
}

/// The wall clock as the kernel last wrote it down, some milliseconds late at most: enough to see a step of a second,
/// for a fifth of the price.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(crate) fn coarse_wall_ms() -> i64 {
    let time = clock_gettime(ClockId::RealtimeCoarse);
    let millis = time.tv_nsec / 1_000_000;
    time.tv_sec.saturating_mul(1_000).saturating_add(millis)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(crate) fn coarse_wall_ms() -> i64 {
    wall_ms()
}

/// The kernel's name for this boot. Elsewhere the second of the boot, which differs between boots, is the name.
fn boot_id() -> String {
    match std::fs::read_to_string("/proc/sys/kernel/random/boot_id") {
        Ok(id) if !id.trim().is_empty() => id.trim().to_owned(),
        _ => {
            let booted =
                wall_ms().saturating_sub(i64::try_from(since_boot().as_millis()).unwrap_or(0));
            format!("booted-{}", booted.div_euclid(1_000))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_forward_and_the_boot_has_a_name() {
        let system = System::new();
        let first = since_boot();
        assert!(since_boot() >= first);
        assert!(first > Moment::from_millis(0));
        assert!(wall_ms() > 1_600_000_000_000);
        assert!(!system.boot_id.is_empty());
    }
}
