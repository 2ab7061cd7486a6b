//! The counters in memory: decide and count in one step, all of a request's counters or none.

use crate::{Client, Moment, RateLimitPolicy};

/// An interned (bucket, operation, custom name, window): what a counter is for, apart from the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub(crate) u32);

/// One counter that a request spends from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// Which counter.
    pub slot: Slot,
    /// The policy now in force.
    pub policy: RateLimitPolicy,
    /// Count and report, never refuse.
    pub observe: bool,
}

/// What identifies one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CounterKey {
    /// Whose (a wider group past the cap).
    pub client: Client,
    /// What for.
    pub slot: Slot,
    /// A keyed hash of the account, for failed sign-ins only; 0 elsewhere.
    pub account: u64,
}

/// One counter's whole state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterState {
    /// When its window opened.
    pub window_start: Moment,
    /// How many requests it admitted.
    pub count: u32,
}

/// The answer of one decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Counted in every counter.
    Admitted {
        /// The first charge that would have refused, had it not been observed or exempt.
        would_refuse: Option<Hit>,
    },
    /// Counted in none.
    Refused(Hit),
}

/// The counter that refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The index of the charge.
    pub charge: usize,
    /// When its window closes.
    pub reset: Moment,
}

/// The counters of one server.
pub struct Counters {}

impl Counters {
    /// Room for at most `max_counters` counters.
    #[must_use]
    pub fn new(_max_counters: usize) -> Self {
        todo!()
    }

    /// Decides and counts in one step.
    #[must_use]
    pub fn decide(&self, _now: Moment, _client: Client, _charges: &[Charge], _exempt: bool) -> Outcome {
        todo!()
    }

    /// The state of one counter, `None` where it does not exist.
    #[must_use]
    pub fn get(&self, _key: CounterKey) -> Option<CounterState> {
        todo!()
    }

    /// Puts a stored counter back, at start. A counter that exists with a later window is left alone.
    pub fn restore(&self, _key: CounterKey, _state: CounterState) {
        todo!()
    }

    /// How many counters changed since they were last taken by [`Self::take_changed`].
    #[must_use]
    pub fn changed(&self) -> usize {
        todo!()
    }

    /// Takes at most `max` changed counters, oldest shards first, and marks them as taken.
    pub fn take_changed(&self, _max: usize, _out: &mut Vec<(CounterKey, CounterState)>) {
        todo!()
    }

    /// Marks a counter changed again: what was taken could not be written.
    pub fn mark_changed(&self, _key: CounterKey) {
        todo!()
    }

    /// Removes every counter that `matches`; returns the keys.
    pub fn free(&self, _matches: &mut dyn FnMut(&CounterKey) -> bool) -> Vec<CounterKey> {
        todo!()
    }

    /// Calls `each` for every counter, a few at a time under a lock.
    pub fn for_each(&self, _each: &mut dyn FnMut(CounterKey, CounterState)) {
        todo!()
    }
}
