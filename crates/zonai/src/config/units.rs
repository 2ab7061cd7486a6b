//! Durations (`30s`, `24h`) and sizes (`4MiB`) as they are written in `zonai.yaml`.
//!
//! Must never round and never guess a unit: a number without one is a fault for a duration.

use std::time::Duration;

const DURATIONS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];
const SIZES: [(&str, u64); 4] = [
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

/// A whole number and a unit out of `ms s m h d`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text).ok_or("expected a duration such as 30s, 15m or 24h")?;
    let Some(scale) = scale(&DURATIONS, unit) else {
        return Err(match unit {
            "" => format!(
                "a duration needs its unit: {number}s, {number}m …; the units are ms, s, m, h, d"
            ),
            _ => format!("`{unit}` is no unit of time; the units are ms, s, m, h, d"),
        });
    };
    number
        .checked_mul(scale)
        .map(Duration::from_millis)
        .ok_or_else(|| "the duration is too long".into())
}

/// A whole number of bytes, or one with a unit out of `B KiB MiB GiB`.
pub(crate) fn bytes(text: &str) -> Result<usize, String> {
    let (number, unit) = split(text).ok_or("expected a size such as 65536, 64KiB or 4MiB")?;
    let scale = if unit.is_empty() {
        Some(1)
    } else {
        scale(&SIZES, unit)
    };
    let Some(scale) = scale else {
        return Err(format!(
            "`{unit}` is no unit of size; the units are B, KiB, MiB, GiB"
        ));
    };
    let size = number
        .checked_mul(scale)
        .and_then(|size| usize::try_from(size).ok());
    size.ok_or_else(|| "the size is too large".into())
}

/// A duration as it would be written: in the largest unit that is whole.
pub(crate) fn show_duration(duration: Duration) -> String {
    let ms = duration.as_millis();
    let (unit, scale) = DURATIONS
        .into_iter()
        .rev()
        .find(|(_, scale)| ms != 0 && ms.is_multiple_of(u128::from(*scale)))
        .unwrap_or(("ms", 1));
    format!("{}{unit}", ms / u128::from(scale))
}

/// A size as it would be written.
pub(crate) fn show_bytes(size: usize) -> String {
    let size = size as u64;
    let whole = SIZES
        .into_iter()
        .rev()
        .find(|(_, scale)| size != 0 && size.is_multiple_of(*scale));
    let (unit, scale) = whole.unwrap_or(("B", 1));
    format!("{}{unit}", size / scale)
}

fn split(text: &str) -> Option<(u64, &str)> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit.trim_start_matches(' ')))
}

fn scale(units: &[(&str, u64)], unit: &str) -> Option<u64> {
    units
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, scale)| *scale)
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "tests"
    )]

    use super::*;

    #[test]
    fn durations_have_a_unit() {
        for (text, ms) in [
            ("0s", 0),
            ("250ms", 250),
            ("30s", 30_000),
            ("15m", 900_000),
            ("24 h", 86_400_000),
        ] {
            assert_eq!(duration(text).unwrap(), Duration::from_millis(ms), "{text}");
        }
        for text in [
            "",
            "s",
            "10",
            "10 min",
            "-1s",
            "1.5h",
            "10S",
            "99999999999999999d",
            "1s ",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_may_have_a_unit() {
        for (text, size) in [
            ("0", 0),
            ("65536", 65_536),
            ("1B", 1),
            ("64KiB", 65_536),
            ("4 MiB", 4 << 20),
        ] {
            assert_eq!(bytes(text).unwrap(), size, "{text}");
        }
        for text in ["", "MiB", "1MB", "-1", "1.5MiB", "99999999999GiB"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_shown_reads_back() {
        for ms in [1, 999, 1_000, 60_000, 90_000, 86_400_000] {
            let span = Duration::from_millis(ms);
            assert_eq!(duration(&show_duration(span)).unwrap(), span);
        }
        for size in [1, 1_000, 65_536, 4 << 20] {
            assert_eq!(bytes(&show_bytes(size)).unwrap(), size);
        }
    }
}
