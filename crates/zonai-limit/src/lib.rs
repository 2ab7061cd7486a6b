//! The rate limiter itself: policy, operation, window, counters, registry, decision.
//!
//! Fixed windows, exact under threads, bounded in memory. This crate does no I/O, knows no HTTP and
//! reads no clock: time is an argument of every decision.

pub mod client;
pub mod counters;
pub mod limits;
pub mod moment;
pub mod operation;
pub mod policy;
pub mod shared;
mod sync;

pub use client::{Client, Ipv6Prefix};
pub use counters::{Charge, CounterKey, CounterState, Counters, Hit, Outcome, Slot};
pub use limits::{Kind, Limit, Mode, Origin, TableLimits};
pub use moment::Moment;
pub use operation::Operation;
pub use policy::{PolicyError, RateLimitPolicy};
pub use shared::Shared;
