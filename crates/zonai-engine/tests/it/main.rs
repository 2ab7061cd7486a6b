//! Behaviour of the engine, from outside.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod changes;
mod engine;
mod history;
mod migrations;
mod support;
