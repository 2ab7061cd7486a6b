//! What the limiter promises, with its values. Time is set by hand; nothing sleeps.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod admission;
mod again;
mod cap;
mod common;
mod cost;
mod policies;
mod reclaim;
mod registration;
mod replace;
mod sign_in;
mod storing;
mod threads;
mod window;
