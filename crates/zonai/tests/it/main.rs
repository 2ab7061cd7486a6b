//! What a user of the program and of the library sees, with the real binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod accounts;
mod activation;
mod browser;
mod chaos;
mod check;
mod clients;
mod cron;
mod embedded;
mod files;
mod help;
mod init;
mod lock;
mod open_files;
mod run;
mod secrets;
mod serve;
mod settings;
