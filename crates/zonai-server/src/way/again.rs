//! A refused request that is asked again: what must be as it was for the answer to be the same to the byte.
//!
//! Must never count: where the counter refuses no more, the request takes the whole way.

use std::net::IpAddr;
use std::sync::Arc;

use zonai_clock::Clock;
use zonai_connection::Refused;
use zonai_http::{Found, scan_query};
use zonai_limit::{Moment, Refusal};

use super::target::{self, Source, Target};
use crate::state::State;

/// A request that was refused, and what its answer said.
pub(super) struct Again {
    pub(super) state: Arc<State>,
    pub(super) peer: Option<IpAddr>,
    pub(super) found: Found,
    pub(super) source: Source,
    pub(super) target: Target,
    pub(super) refusal: Refusal,
    pub(super) shown: Shown,
}

/// What an answer tells of the time, and until when that is so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shown {
    retry_after_s: u64,
    /// The end of the second that `Date` tells, or before.
    until: Moment,
}

/// The library reads the wall clock for `Date` when it begins to read a request: so long ago, at most, but on a machine
/// that is too busy to answer.
const DATE_READ_MS: u64 = 50;

impl Shown {
    /// What an answer at `now` tells.
    pub(super) fn at(clock: &Clock, now: Moment, refusal: &Refusal) -> Self {
        // As it is set: the steady wall clock, which may be ahead, would make each answer a second old.
        let into = u64::try_from(clock.wall_ms().rem_euclid(1_000)).unwrap_or(0);
        // Where a second has just begun, the one before may have been told.
        let end = if into < DATE_READ_MS {
            DATE_READ_MS
        } else {
            1_000
        };
        Self {
            retry_after_s: refusal.retry_after_s(now),
            until: now.plus(end - into),
        }
    }

    fn holds(self, now: Moment, refusal: &Refusal) -> bool {
        now < self.until && refusal.retry_after_s(now) == self.retry_after_s
    }
}

impl Again {
    /// Whether a request with this query, and otherwise the same, is counted as that one was.
    fn is_counted_alike(&self, query: &str) -> bool {
        match self.source {
            Source::Nothing => true,
            Source::Query => {
                let named = scan_query(query);
                target::bucket_named(&self.state.gate, named.named()) == self.target.bucket
            }
            Source::Body(_) | Source::BodyLater => false,
        }
    }
}

impl Refused for Again {
    fn again(&self, query: Option<&str>) -> bool {
        let state = &self.state;
        if query.is_some_and(|query| !self.is_counted_alike(query)) {
            return false;
        }
        let now = state.clock.now();
        let ask = self.target.ask(state.gate.is_exempt(&self.found));
        let limiter = &state.gate.limiter;
        if !self.shown.holds(now, &self.refusal)
            || !limiter.refuses_again(now, self.found.client, &ask, &self.refusal)
        {
            return false;
        }
        // As on the whole way.
        state.self_check.note(&self.found, self.peer);
        state
            .telemetry
            .refused_again(self.found.client, &self.refusal);
        true
    }
}

#[cfg(test)]
mod tests {
    use zonai_limit::{Operation, RateLimitPolicy};

    use super::*;

    #[test]
    fn an_answer_is_given_again_only_while_it_tells_the_time() {
        let (clock, hand) = Clock::manual();
        let refusal = Refusal {
            collection: "notes".into(),
            operation: Operation::List,
            custom: None,
            policy: RateLimitPolicy::per_minute(100),
            reset: clock.now().plus(60_000),
        };
        let second = |ms_ago: u64| (clock.wall_ms() - ms_ago.cast_signed()).div_euclid(1_000);
        // Steps that the steady wall clock does not follow, and how long before the date was read.
        for (step, read_ms_ago) in [(0, 0), (700, 0), (-300, 1), (400, DATE_READ_MS - 1)] {
            hand.set_wall_ms(clock.wall_ms() + step);
            let mut last: Option<(Shown, i64, u64)> = None;
            let mut made = 0;
            for _ in 0..5_000 {
                hand.advance_ms(1);
                let now = clock.now();
                let retry_after_s = refusal.retry_after_s(now);
                if let Some((shown, date, told)) = last
                    && shown.holds(now, &refusal)
                {
                    assert_eq!(told, retry_after_s);
                    assert!((second(DATE_READ_MS)..=second(0)).contains(&date));
                } else {
                    let shown = Shown::at(&clock, now, &refusal);
                    last = Some((shown, second(read_ms_ago), retry_after_s));
                    made += 1;
                }
            }
            assert!(made <= 20, "{made}");
        }
    }
}
