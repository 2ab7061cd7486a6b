//! Behaviour of `zonai-http`: one binary, a module for each concern. Cases of the field are named by their number.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod client;
mod client_random;
mod guard;
mod payload;
mod payload_random;
mod proxy_protocol;
mod random;
mod refusal;
