//! Accounts as a server uses them, against a real data file and a real mail server on loopback.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod admins;
mod delivery;
mod links;
mod otp;
mod passwords;
mod requests;
mod rotation;
mod rules;
mod sessions;
mod timing;
mod world;
