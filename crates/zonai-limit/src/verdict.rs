//! What is asked of the limiter and what it answers. An [`Admitted`] or an [`Internal`] can only come from it, so that
//! no route can forget it.
//! Must never get another way to make either.

use std::sync::Arc;

use crate::counters::{CounterKey, Taken};
use crate::registry::{CustomId, Misregistered, TableId};
use crate::{Moment, Operation, RateLimitPolicy, Shared};

/// What a request targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bucket {
    /// A table.
    Table(TableId),
    /// A bucket that is no table.
    Shared(Shared),
}

/// One request, as the limiter sees it.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// What it targets.
    pub bucket: Bucket,
    /// What it does; every one of them has counters, and all must admit. An operation that the bucket does not have
    /// counts in [`Shared::Unknown`].
    pub operations: &'a [Operation],
    /// For [`Operation::Custom`]: which; `None` where names are not validated.
    pub custom: Option<CustomId>,
    /// Never refused, still counted (`rateLimit.exempt`). Without effect on the buckets of admins.
    pub exempt: bool,
}

impl<'a> Ask<'a> {
    /// A request that targets `bucket`, is not exempt, and names no custom operation.
    #[must_use]
    pub const fn new(bucket: Bucket, operations: &'a [Operation]) -> Self {
        Self {
            bucket,
            operations,
            custom: None,
            exempt: false,
        }
    }
}

/// The limiter's answer.
#[derive(Debug)]
#[must_use]
pub enum Verdict {
    /// Counted; the request goes on.
    Admitted(Admitted),
    /// Not counted; a 429.
    Refused(Refusal),
    /// Two registrations for one table: a 500, whoever asks.
    Misregistered(Misregistered),
}

/// Proof that the limiter let a request through.
#[derive(Debug)]
#[must_use]
pub struct Admitted {
    durable: Taken,
    would_refuse: Option<Box<Refusal>>,
}

impl Admitted {
    #[inline]
    pub(crate) const fn new(durable: Taken, would_refuse: Option<Box<Refusal>>) -> Self {
        Self {
            durable,
            would_refuse,
        }
    }

    /// The counters that must be committed to disk before the request goes on; none for most.
    #[must_use]
    pub fn durable(&self) -> &[CounterKey] {
        &self.durable.keys
    }

    pub(crate) const fn taken(&self) -> &Taken {
        &self.durable
    }

    /// The refusal that a limit in mode `observe`, or an exempt client, was spared.
    #[must_use]
    pub fn would_refuse(&self) -> Option<&Refusal> {
        self.would_refuse.as_deref()
    }
}

/// The token of jobs and hooks, which do not pass the limiter. Made once, with the limiter.
#[derive(Debug)]
pub struct Internal(());

impl Internal {
    pub(crate) const fn new() -> Self {
        Self(())
    }
}

/// What the data layer asks for: [`Admitted`] or [`Internal`], nothing else.
pub trait Pass: sealed::Sealed + Send + Sync {}

impl Pass for Admitted {}
impl Pass for Internal {}

mod sealed {
    //! Keeps others from passing.

    pub trait Sealed {}
    impl Sealed for super::Admitted {}
    impl Sealed for super::Internal {}
}

/// Why a request was refused, and until when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The table or the shared bucket.
    pub collection: Arc<str>,
    /// The operation whose counter resets last.
    pub operation: Operation,
    /// The custom operation, where its name was validated.
    pub custom: Option<Arc<str>>,
    /// The policy that refused.
    pub policy: RateLimitPolicy,
    /// When the window closes; a request at that moment is admitted.
    pub reset: Moment,
}

impl Refusal {
    /// Whole seconds from `now` until the reset, rounded up, never 0.
    #[must_use]
    pub const fn retry_after_s(&self, now: Moment) -> u64 {
        let seconds = self.reset.since(now).div_ceil(1_000);
        if seconds == 0 { 1 } else { seconds }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_rounded_up_and_never_0() {
        let at = Moment::from_millis;
        let refusal = Refusal {
            collection: "items".into(),
            operation: Operation::Get,
            custom: None,
            policy: RateLimitPolicy::DEFAULT,
            reset: at(10_000),
        };
        for (now, seconds) in [
            (0, 10),
            (1, 10),
            (9_000, 1),
            (9_001, 1),
            (9_999, 1),
            (10_000, 1),
            (11_000, 1),
        ] {
            assert_eq!(refusal.retry_after_s(at(now)), seconds, "at {now}");
        }
    }
}
