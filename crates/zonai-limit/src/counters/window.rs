//! The window itself: whether it is open, whether it is full, when it closes. Nothing but arithmetic.

use super::CounterState;
use crate::{Moment, RateLimitPolicy};

/// What one counter says to one more request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    /// The counter as it is if the request is counted.
    pub(crate) counted: CounterState,
    /// When the window closes in which it would be counted.
    pub(crate) reset: Moment,
    /// Whether it is full.
    pub(crate) full: bool,
    /// Whether the request opens the window.
    pub(crate) opens: bool,
}

/// Judges one request at `now` against a counter (`None`: there is none yet) and the policy in force, whose maximum
/// is multiplied by `factor` for wider groups.
#[inline]
pub(crate) fn judge(
    state: Option<CounterState>,
    now: Moment,
    policy: RateLimitPolicy,
    factor: u32,
) -> Judged {
    let max = policy.max_requests().saturating_mul(factor);
    match state {
        // A thread may come with a moment from before the window that another has just opened: it is inside.
        Some(state) if now.since(state.window_start) < policy.window_ms() => Judged {
            counted: CounterState {
                window_start: state.window_start,
                count: state.count.saturating_add(1),
            },
            reset: state.window_start.plus(policy.window_ms()),
            full: state.count >= max,
            opens: false,
        },
        _ => Judged {
            counted: CounterState {
                window_start: now,
                count: 1,
            },
            reset: now.plus(policy.window_ms()),
            full: max == 0,
            opens: true,
        },
    }
}
