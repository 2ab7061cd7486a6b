//! A whole server for tests: a temporary project, a client of any address, a mail server, a clock that is set by hand.
//!
//! Not published. Panics where a test would: what goes wrong here is a failed test.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "a failure here is a failed test"
)]

mod client;
mod mail;
mod project;
mod server;

pub use client::{Client, Reply, read_reply, target};
pub use mail::{Arrived, MailServer, Mood, Seen};
pub use project::Project;
pub use server::TestServer;
