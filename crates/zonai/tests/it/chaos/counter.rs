//! One counter of the limiter as a caller can know it: everything that it may be, given all answers so far.
//!
//! Time is real, so a caller knows a moment only as a span, and what became of a request without an answer not at all. The
//! model keeps each possibility and drops those that an answer rules out; when none is left, the server was wrong. Must never
//! know more of the limiter than the promises say.

/// Between two moments, both included, in ms of the server's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) from: u64,
    pub(super) to: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Policy {
    pub(super) limit: u32,
    pub(super) window: u64,
}

/// What an answer says about a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    Admitted,
    Refused { limit: u32, retry_after: u64 },
}

/// One thing that a counter may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    /// No window, or one that has closed.
    Nothing,
    /// A window that opened within `start` and holds between `low` and `high` requests.
    Open { start: Span, low: u32, high: u32 },
}

#[derive(Clone, Debug)]
pub(super) struct Counter {
    states: Vec<State>,
    /// Counted since the file is known to show everything.
    recent: u32,
    /// Given back since then.
    given: u32,
}

/// More possibilities than this are made one: coarser, never wrong.
const MOST: usize = 24;

impl Default for Counter {
    fn default() -> Self {
        Self {
            states: vec![State::Nothing],
            recent: 0,
            given: 0,
        }
    }
}

impl Counter {
    /// One answer, decided at some moment of `at`.
    pub(super) fn see(&mut self, at: Span, policy: Policy, seen: Seen) -> Result<(), String> {
        let before = std::mem::take(&mut self.states);
        let mut after = Vec::new();
        for state in &before {
            after.extend(opening(state, at, policy, seen));
            after.extend(inside(state, at, policy, seen));
        }
        if after.is_empty() {
            return Err(format!(
                "{seen:?} at {at:?} under {policy:?}, where the counter is one of {before:?}"
            ));
        }
        self.recent += u32::from(seen == Seen::Admitted);
        self.keep(after);
        Ok(())
    }

    /// `count` requests without an answer: each was counted, refused, or never came.
    pub(super) fn lose_sight(&mut self, at: Span, policy: Policy, count: u32) {
        let mut after = self.states.clone();
        for state in &self.states {
            let begins = may_be_closed(state, at, policy).map(|from| Span { from, to: at.to });
            if let Some(start) = begins {
                let most = count.min(policy.limit);
                let low = most.min(1);
                after.push(State::Open {
                    start,
                    low,
                    high: most,
                });
            }
            if let (Some(start), State::Open { low, high, .. }) =
                (may_be_open(state, at, policy), *state)
            {
                let most = high.max(high.saturating_add(count).min(policy.limit));
                after.push(State::Open {
                    start,
                    low,
                    high: most,
                });
            }
        }
        self.recent += count;
        self.keep(after);
    }

    /// A sign-in that was right gives its place back.
    pub(super) fn give_back(&mut self) {
        let mut after = Vec::new();
        for state in &self.states {
            if let State::Open { start, low, high } = *state {
                let (low, high) = (low.saturating_sub(1), high.saturating_sub(1));
                after.push(State::Open { start, low, high });
                if low == 0 {
                    after.push(State::Nothing);
                }
            }
        }
        self.given += 1;
        self.keep(after);
    }

    /// The counter file shows everything now.
    pub(super) fn settle(&mut self) {
        (self.recent, self.given) = (0, 0);
    }

    /// The process was killed. A durable count was committed before its answer came; of others the recent ones may be gone.
    pub(super) fn killed(&mut self, durable: bool) {
        let lost = if durable { 0 } else { self.recent };
        let mut after = Vec::new();
        for state in &self.states {
            let State::Open { start, low, high } = *state else {
                after.push(State::Nothing);
                continue;
            };
            let low = low.saturating_sub(lost);
            let high = high.saturating_add(self.given);
            after.push(State::Open { start, low, high });
            if low == 0 {
                after.push(State::Nothing);
            }
        }
        self.settle();
        self.keep(after);
    }

    /// A clean stop loses nothing but windows that refusals opened: a refusal writes nothing.
    pub(super) fn stopped(&mut self) {
        let empty = |state: &State| matches!(state, State::Open { low: 0, .. });
        if self.states.iter().any(empty) {
            self.states.push(State::Nothing);
        }
        self.settle();
    }

    /// At some moment of `at` the policy became another. A window that has closed stays closed; nothing is kept over `none`.
    pub(super) fn change(&mut self, at: Span, old: Option<Policy>, new: Option<Policy>) {
        let (Some(old), Some(_)) = (old, new) else {
            *self = Self::default();
            return;
        };
        let mut after = Vec::new();
        for state in &self.states {
            if may_be_closed(state, at, old).is_some() {
                after.push(State::Nothing);
            }
            if let (Some(start), State::Open { low, high, .. }) =
                (may_be_open(state, at, old), *state)
            {
                after.push(State::Open { start, low, high });
            }
        }
        self.keep(after);
    }

    fn keep(&mut self, mut states: Vec<State>) {
        states.sort_unstable();
        states.dedup();
        if states.len() > MOST {
            let mut whole: Option<(Span, u32, u32)> = None;
            for state in &states {
                if let State::Open { start, low, high } = *state {
                    let (span, least, most) = whole.unwrap_or((start, low, high));
                    let span = Span {
                        from: span.from.min(start.from),
                        to: span.to.max(start.to),
                    };
                    whole = Some((span, least.min(low), most.max(high)));
                }
            }
            states.retain(|state| *state == State::Nothing);
            states.extend(whole.map(|(start, low, high)| State::Open { start, low, high }));
        }
        self.states = states;
    }
}

/// From when on a new window may have opened within `at`, where there may have been none.
fn may_be_closed(state: &State, at: Span, policy: Policy) -> Option<u64> {
    match *state {
        State::Nothing => Some(at.from),
        State::Open { start, .. } => {
            let closes = start.from.saturating_add(policy.window);
            (closes <= at.to).then_some(closes.max(at.from))
        }
    }
}

/// When the window opened, where it may be open still at some moment of `at`.
fn may_be_open(state: &State, at: Span, policy: Policy) -> Option<Span> {
    let State::Open { start, .. } = *state else {
        return None;
    };
    let from = start.from.max((at.from + 1).saturating_sub(policy.window));
    (from <= start.to).then_some(Span { from, to: start.to })
}

/// What the counter is when the request found no open window.
fn opening(state: &State, at: Span, policy: Policy, seen: Seen) -> Option<State> {
    let start = Span {
        from: may_be_closed(state, at, policy)?,
        to: at.to,
    };
    match seen {
        Seen::Admitted => (policy.limit > 0).then_some(State::Open {
            start,
            low: 1,
            high: 1,
        }),
        Seen::Refused { limit, retry_after } => {
            let right =
                policy.limit == 0 && limit == 0 && retry_after == policy.window.div_ceil(1_000);
            right.then_some(State::Open {
                start,
                low: 0,
                high: 0,
            })
        }
    }
}

/// What the counter is when the request found its window open.
fn inside(state: &State, at: Span, policy: Policy, seen: Seen) -> Option<State> {
    let mut start = may_be_open(state, at, policy)?;
    let State::Open { low, high, .. } = *state else {
        return None;
    };
    match seen {
        Seen::Admitted => (low < policy.limit).then(|| State::Open {
            start,
            low: low + 1,
            high: high.min(policy.limit - 1) + 1,
        }),
        Seen::Refused { limit, retry_after } => {
            if high < policy.limit || limit != policy.limit || retry_after == 0 {
                return None;
            }
            // What is left of the window is more than a second less than it says, and at most what it says.
            let most = (retry_after * 1_000 + at.to).saturating_sub(policy.window);
            let least = ((retry_after - 1) * 1_000 + 1 + at.from).saturating_sub(policy.window);
            start = Span {
                from: start.from.max(least),
                to: start.to.min(most),
            };
            (start.from <= start.to).then_some(State::Open {
                start,
                low: low.max(policy.limit),
                high,
            })
        }
    }
}
