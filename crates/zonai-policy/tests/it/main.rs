//! The behaviour of the policy readers, through the public API.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod dart_file;
mod folder;
mod support;
mod yaml_file;
mod yaml_tree;
