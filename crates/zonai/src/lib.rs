//! Zonai: the SQL tables of a project folder over HTTP, every table rate limited from the first request.
//!
//! This crate is what users name: [`App`] opens a project and serves it, with code where files do not reach,
//! and the program `zonai` is a command line over the same. What it adds to the libraries below it is where
//! settings come from; it must never decide on a request.
//!
//! ```no_run
//! use zonai::{RateLimitPolicy, TableRateLimits};
//!
//! struct TaskRateLimits;
//!
//! impl TableRateLimits for TaskRateLimits {
//!     const TABLE: &'static str = "tasks";
//!
//!     async fn create_policy(&self) -> Option<RateLimitPolicy> {
//!         Some(RateLimitPolicy::per_minute(10))
//!     }
//! }
//!
//! fn main() -> zonai::Result<()> {
//!     zonai::App::open(".")?.rate_limits(TaskRateLimits).serve()
//! }
//! ```
//!
//! Code is a trait and a type a table: limits ([`TableRateLimits`], [`AuthTableRateLimits`]), hooks around operations and
//! sign-ins ([`TableHooks`], [`AccountHooks`]), and custom operations ([`CustomOperation`]); [`App`] shows them together.

mod accounts;
mod app;
#[doc(hidden)]
pub mod cli;
mod config;
mod error;
mod files;
pub mod lock;
pub mod new_project;
mod project;

pub use app::{App, Server};
pub use error::{Error, Result};
pub use zonai_auth::{MailFrom, MailSettings, MailTls};
pub use zonai_code::{
    AccountHooks, CustomOperation, HookContext, HookData, HookError, OperationError,
    OperationRequest, Performed, TableHooks, Transaction,
};
pub use zonai_data::{Caller, DataError, Json, Payload};
pub use zonai_http::{CidrList, TrustedProxy};
pub use zonai_limit::{
    AuthTableRateLimits, Ipv6Prefix, Limit, Operation, PolicyError, RateLimitPolicy,
    TableRateLimits,
};
pub use zonai_policy::Diagnostic;
pub use zonai_project::settings::{AuthMethod, Bounds, Listen, Settings, TableSettings};

/// The programs of the documentation are compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/code.md")]
struct Documented;
