//! The rate limiter itself: policy, operation, window, counters, registry, decision.
//!
//! Fixed windows, exact under threads, bounded in memory. This crate does no I/O, knows no HTTP and
//! reads no clock: time is an argument of every decision.

pub mod client;
pub mod code;
pub mod counters;
pub mod limiter;
pub mod limits;
pub mod moment;
pub mod operation;
pub mod policy;
pub mod registry;
pub mod shared;
mod sync;
pub mod verdict;

pub use client::{Client, Ipv6Prefix};
pub use code::{AuthTableRateLimits, DynRateLimits, PolicyFuture, TableRateLimits};
pub use counters::{Charge, CounterKey, CounterState, Counters, Hit, Outcome, Slot};
pub use limiter::{
    Changes, CustomBucket, EffectiveLimit, Explained, Limiter, NotTaken, Place, Standing,
};
pub use limits::{Kind, Limit, Mode, Origin, TableLimits};
pub use moment::Moment;
pub use operation::Operation;
pub use policy::{PolicyError, RateLimitPolicy};
pub use registry::{
    Accounts, CustomId, CustomNames, Known, KnownTable, Misregistered, Registration, RegistryFault,
    SlotName, Source, TableId,
};
pub use shared::Shared;
pub use verdict::{Admitted, Ask, Bucket, Internal, Pass, Refusal, Verdict};
