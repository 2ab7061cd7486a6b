//! A refused request that is asked again: what must be as it was for the answer to be the same to the byte.
//!
//! Must never count: where the counter refuses no more, the request takes the whole way.

use std::net::IpAddr;
use std::sync::Arc;

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
    /// The end of the second that `Date` tells.
    until: Moment,
}

impl Shown {
    /// What an answer at `now` tells.
    pub(super) fn at(state: &State, now: Moment, refusal: &Refusal) -> Self {
        let into = state.clock.steady_wall_ms_at(now, now).rem_euclid(1_000);
        let left = 1_000 - u64::try_from(into).unwrap_or(0);
        Self {
            retry_after_s: refusal.retry_after_s(now),
            until: now.plus(left),
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
