//! The server: listeners, the way of a request, and what runs beside the requests.
//!
//! The order of a request is fixed: client, route, limiter, rules, SQL, answer. Must never read a file of the
//! project's settings (the crate `zonai` does), and never hold SQL.

mod accounts;
pub mod admin;
mod cors;
mod errors;
pub mod explain;
mod gate;
mod handlers;
mod jobs;
mod live;
pub mod offline;
mod reply;
mod route;
mod self_check;
mod server;
mod state;
mod telemetry;
#[cfg(test)]
mod testing;
mod top;
mod way;

pub use jobs::JobError;
pub use server::{Additions, Running, StartError};
pub use zonai_connection::ListenError;

/// The database in the data folder.
pub const DATA_FILE: &str = "zonai.sqlite";
