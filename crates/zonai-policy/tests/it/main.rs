//! The behaviour of the policy readers, through the public API.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod anything;
mod convert;
mod dart_file;
mod folder;
mod schema;
mod support;
mod watch;
mod yaml_file;
mod yaml_tree;
