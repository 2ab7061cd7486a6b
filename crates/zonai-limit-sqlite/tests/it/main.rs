//! How a store of counters behaves: over restarts, kills, faults of the file, steps of the clock, and in an admin's hands.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod admin;
mod boot;
mod durable;
mod faults;
mod full;
mod kill;
mod limiter;
mod restart;
mod suite;
mod support;
mod sweep;
