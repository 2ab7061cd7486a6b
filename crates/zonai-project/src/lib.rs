//! A project as its files and settings describe it: schema, rules, operations, jobs, policies.
//!
//! The start, `zonai check` and the commands that work without a server read it here, so that they cannot differ. Must never
//! serve or write, and never fail at the first fault: all of them are listed, each at its place.

pub mod accounts;
mod check;
pub mod crons;
mod files;
mod in_code;
mod known;
pub mod operations;
mod place;
pub mod policies;
pub mod reading;
mod rules;
pub mod schema;
pub mod settings;
mod tables;

pub use check::{check, stopping, template_fault};
pub use in_code::{ANY_NAME, CodeOperation, InCode};
pub use known::{RATE_LIMIT_TABLE, table_options};
pub use policies::Policies;
pub use settings::Settings;
