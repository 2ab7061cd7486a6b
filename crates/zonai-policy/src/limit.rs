//! One limit as it is written: `10/1m`, `none`, and the window by itself.
//!
//! The only place that knows the text form, for policy files and for `rateLimit.shared` alike. Must
//! never repair what is written: a form that is nearly right is refused with the right one as help.

mod node;

use std::time::Duration;

use zonai_limit::{PolicyError, RateLimitPolicy};

use crate::diagnostic::quote;

pub use node::{LimitContext, read_limit, read_mode, read_shared};

/// Why a text is no limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LimitError {
    /// Neither `none` nor a number, a slash and a window.
    #[error("{} is no limit: a limit is a number of requests, a slash and a window, or `none`", quote(.0))]
    Form(String),
    /// The part before the slash.
    #[error("the number of requests must be a whole number from 0 to {}, not {}", u32::MAX, quote(.0))]
    Requests(String),
    /// The part after the slash.
    #[error("the window must be a whole number and a unit (ms, s, m, h or d), not {}", quote(.0))]
    Window(String),
    /// A window that no policy may have.
    #[error(transparent)]
    Policy(#[from] PolicyError),
}

impl LimitError {
    /// What was probably meant.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Form(text) => {
                let parts = text.split_once('/').or_else(|| text.split_once(" per "));
                let meant = parts.and_then(|(requests, window)| {
                    let requests: u32 = requests.trim().parse().ok()?;
                    Some(format!("{requests}/{}", probable_window(window)?))
                });
                let digits: String = text
                    .trim()
                    .chars()
                    .take_while(char::is_ascii_digit)
                    .collect();
                let requests = digits.parse().unwrap_or(10_u32);
                Some(format!(
                    "write `{}`",
                    meant.unwrap_or(format!("{requests}/1m"))
                ))
            }
            Self::Window(text) => Some(match probable_window(text) {
                Some(window) => format!("write `{window}`"),
                None => "such as `1m` or `500ms`".to_owned(),
            }),
            Self::Requests(_) | Self::Policy(_) => None,
        }
    }
}

/// Reads `10/1m`, or `none` as `None`.
///
/// ```
/// use zonai_policy::parse_limit;
/// assert_eq!(parse_limit("10/1m").unwrap().unwrap().max_requests(), 10);
/// assert_eq!(parse_limit("none"), Ok(None));
/// assert_eq!(parse_limit("100/min").unwrap_err().help().unwrap(), "write `100/1m`");
/// ```
///
/// # Errors
/// When the text has another form, a number is no whole number without leading zeros, more than
/// [`u32::MAX`] requests, or a window that is 0 or over 366 days.
pub fn parse_limit(text: &str) -> Result<Option<RateLimitPolicy>, LimitError> {
    if text == "none" {
        return Ok(None);
    }
    let Some((requests, window)) = text.split_once('/') else {
        return Err(LimitError::Form(text.to_owned()));
    };
    let Some(max_requests) = whole(requests).and_then(|number| u32::try_from(number).ok()) else {
        return Err(match requests.trim() == requests {
            true => LimitError::Requests(requests.to_owned()),
            false => LimitError::Form(text.to_owned()),
        });
    };
    let window = parse_window(window).map_err(|error| match error {
        LimitError::Window(_) => LimitError::Form(text.to_owned()),
        other => other,
    })?;
    Ok(Some(RateLimitPolicy::new(max_requests, window)?))
}

/// Reads a window: `250ms`, `30s`, `1m`, `12h`, `366d`.
///
/// # Errors
/// When it is no whole number with a unit, 0, or over 366 days.
pub fn parse_window(text: &str) -> Result<Duration, LimitError> {
    let wrong = || LimitError::Window(text.to_owned());
    let unit_at = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (digits, unit) = text.split_at(unit_at);
    let unit_ms = UNITS
        .iter()
        .find(|(name, _)| *name == unit)
        .ok_or_else(wrong)?
        .1;
    if digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return Err(wrong());
    }
    // What does not fit a u64 is too long as well.
    let window_ms = digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(unit_ms));
    let window = Duration::from_millis(window_ms.unwrap_or(u64::MAX));
    Ok(RateLimitPolicy::new(0, window)?.window())
}

/// A window in the largest unit that divides it: `1m`, `90s`, `1d`.
#[must_use]
pub fn write_window(policy: RateLimitPolicy) -> String {
    let window_ms = policy.window_ms();
    let fits = UNITS
        .iter()
        .rev()
        .find(|(_, unit_ms)| window_ms.is_multiple_of(*unit_ms));
    let (unit, unit_ms) = fits.copied().unwrap_or(("ms", 1));
    format!("{}{unit}", window_ms / unit_ms)
}

/// A limit of one window as it is written: `10/1m`.
#[must_use]
pub fn write_policy(policy: RateLimitPolicy) -> String {
    format!("{}/{}", policy.max_requests(), write_window(policy))
}

const UNITS: [(&str, u64); 5] = [
    ("ms", 1),
    ("s", 1_000),
    ("m", 60_000),
    ("h", 3_600_000),
    ("d", 86_400_000),
];

/// Digits without a leading zero.
fn whole(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (digits && (text.len() == 1 || !text.starts_with('0'))).then(|| text.parse().ok())?
}

/// The window that `min`, `1 hour`, `60 sec` or `2 weeks` was meant to be.
fn probable_window(text: &str) -> Option<String> {
    let text = text.trim();
    let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
    let (digits, unit) = text.split_at(unit_at);
    let number: u64 = if digits.is_empty() {
        1
    } else {
        digits.parse().ok()?
    };
    let (unit, times) = match unit.trim().to_lowercase().as_str() {
        "ms" | "msec" | "millis" | "millisecond" | "milliseconds" => ("ms", 1),
        "s" | "sec" | "secs" | "second" | "seconds" => ("s", 1),
        "m" | "min" | "mins" | "minute" | "minutes" => ("m", 1),
        "h" | "hr" | "hrs" | "hour" | "hours" => ("h", 1),
        "d" | "day" | "days" => ("d", 1),
        "w" | "week" | "weeks" => ("d", 7),
        _ => return None,
    };
    let window = format!("{}{unit}", number.checked_mul(times)?);
    parse_window(&window).is_ok().then_some(window)
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

    fn policy(max: u32, ms: u64) -> Result<Option<RateLimitPolicy>, LimitError> {
        Ok(Some(
            RateLimitPolicy::new(max, Duration::from_millis(ms)).unwrap(),
        ))
    }

    #[test]
    fn a_limit_is_read_as_it_is_written() {
        assert_eq!(parse_limit("10/1m"), policy(10, 60_000));
        assert_eq!(parse_limit("0/1ms"), policy(0, 1));
        assert_eq!(
            parse_limit("4294967295/366d"),
            policy(u32::MAX, 366 * 86_400_000)
        );
        assert_eq!(parse_limit("5/31622400000ms"), policy(5, 366 * 86_400_000));
        assert_eq!(parse_limit("none"), Ok(None));
    }

    #[test]
    fn what_is_no_limit_is_refused_with_the_reason() {
        for (text, says) in [
            ("-1/1m", "whole number from 0 to 4294967295"),
            (
                "9223372036854775808/1m",
                "whole number from 0 to 4294967295",
            ),
            ("4294967296/1m", "whole number from 0"),
            ("1.5/1m", "whole number from 0"),
            ("07/1m", "whole number from 0"),
            ("+7/1m", "whole number from 0"),
            ("10/0s", "at least 1 ms"),
            ("10/0ms", "at least 1 ms"),
            ("10/367d", "at most 366 days"),
            ("10/31622400001ms", "at most 366 days"),
            ("10/99999999999999999999999d", "at most 366 days"),
            ("10/1.5h", "no limit"),
            ("10/-1m", "no limit"),
            ("10/1M", "no limit"),
            ("10/", "no limit"),
            ("/1m", "whole number"),
            ("100", "no limit"),
            ("", "no limit"),
            ("None", "no limit"),
            ("10/1m/1h", "no limit"),
        ] {
            let error = parse_limit(text).unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn the_help_shows_the_right_form() {
        for (text, meant) in [
            ("100/min", "write `100/1m`"),
            ("100/minute", "write `100/1m`"),
            ("5 / 2 weeks", "write `5/14d`"),
            ("100 per hour", "write `100/1h`"),
            ("100", "write `100/1m`"),
            ("many", "write `10/1m`"),
        ] {
            assert_eq!(
                parse_limit(text).unwrap_err().help().unwrap(),
                meant,
                "{text}"
            );
        }
        assert_eq!(
            parse_window("60").unwrap_err().help().unwrap(),
            "such as `1m` or `500ms`"
        );
        assert_eq!(
            parse_window("60 sec").unwrap_err().help().unwrap(),
            "write `60s`"
        );
    }

    #[test]
    fn what_is_written_is_read_back() {
        for ms in [
            1,
            999,
            1_000,
            1_500,
            60_000,
            90_000,
            3_600_000,
            86_400_000,
            7 * 86_400_000,
            31_622_400_000,
        ] {
            let written = policy(7, ms).unwrap().unwrap();
            assert_eq!(parse_limit(&write_policy(written)), policy(7, ms), "{ms}");
        }
    }
}
