//! Behaviour of the data layer, from outside.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod expand;
mod grammar;
mod model;
mod plans;
mod reads;
mod refusals;
mod rights;
mod rules;
mod rules_random;
mod support;
mod updates;
mod writes;
