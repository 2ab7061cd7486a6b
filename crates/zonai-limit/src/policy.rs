//! How many requests a client may make in how long: one policy, which cannot be built wrong.
//!
//! Must never hold state: counting is the business of [`crate::counters`].

use std::time::Duration;

/// The longest window a policy may have: 366 days, so that a year always fits.
pub const MAX_WINDOW: Duration = Duration::from_secs(366 * 24 * 60 * 60);

/// At most `max_requests` requests in a window of fixed length (1 ms to 366 days, whole milliseconds).
///
/// ```
/// use zonai_limit::RateLimitPolicy;
/// const UPLOADS: RateLimitPolicy = RateLimitPolicy::per_hour(20);
/// assert_eq!(UPLOADS.max_requests(), 20);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RateLimitPolicy {
    window_ms: u64,
    max_requests: u32,
}

/// Why a policy was refused when it was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyError {
    /// The window is 0 or shorter than the resolution.
    #[error("the window must be at least 1 ms")]
    WindowTooShort,
    /// The window is longer than [`MAX_WINDOW`].
    #[error("the window must be at most 366 days")]
    WindowTooLong,
    /// The window has a fraction of a millisecond.
    #[error("the window must be a whole number of milliseconds")]
    WindowNotWhole,
}

impl RateLimitPolicy {
    /// What applies where nothing is configured: 100 requests per minute.
    pub const DEFAULT: Self = Self::per_minute(100);

    /// A policy of `max_requests` (0 refuses everything) per `window`.
    ///
    /// # Errors
    /// When the window is 0, over 366 days, or not a whole number of milliseconds.
    pub const fn new(max_requests: u32, window: Duration) -> Result<Self, PolicyError> {
        if window.is_zero() {
            return Err(PolicyError::WindowTooShort);
        }
        if !window.subsec_nanos().is_multiple_of(1_000_000) {
            return Err(PolicyError::WindowNotWhole);
        }
        if window.as_secs() > MAX_WINDOW.as_secs()
            || (window.as_secs() == MAX_WINDOW.as_secs() && window.subsec_nanos() > 0)
        {
            return Err(PolicyError::WindowTooLong);
        }
        let window_ms = window.as_secs() * 1_000 + window.subsec_millis() as u64;
        Ok(Self {
            window_ms,
            max_requests,
        })
    }

    /// `max_requests` per second.
    #[must_use]
    pub const fn per_second(max_requests: u32) -> Self {
        Self {
            window_ms: 1_000,
            max_requests,
        }
    }

    /// `max_requests` per minute.
    #[must_use]
    pub const fn per_minute(max_requests: u32) -> Self {
        Self {
            window_ms: 60_000,
            max_requests,
        }
    }

    /// `max_requests` per hour.
    #[must_use]
    pub const fn per_hour(max_requests: u32) -> Self {
        Self {
            window_ms: 3_600_000,
            max_requests,
        }
    }

    /// `max_requests` per day of 24 hours.
    #[must_use]
    pub const fn per_day(max_requests: u32) -> Self {
        Self {
            window_ms: 86_400_000,
            max_requests,
        }
    }

    /// How many requests one window admits.
    #[must_use]
    pub const fn max_requests(self) -> u32 {
        self.max_requests
    }

    /// How long a window is.
    #[must_use]
    pub const fn window(self) -> Duration {
        Duration::from_millis(self.window_ms)
    }

    /// How long a window is, in milliseconds; never 0.
    #[must_use]
    pub const fn window_ms(self) -> u64 {
        self.window_ms
    }
}
