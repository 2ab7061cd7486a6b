//! The internal table `_rate_limit`: counters that survive a restart and a `kill -9`.
//!
//! The decision is made in memory, by `zonai_limit::Counters`; this crate makes the file follow the memory, in
//! slices, on one thread of its own. It must never be asked for a decision, never make a decision wait, and
//! never turn a fault of the file into "unlimited" or "refuse everything".

pub mod health;
pub mod naming;
pub mod offline;
pub mod options;
pub mod row;
pub mod store;

mod boot;
mod fault;
mod inbox;
mod load;
mod schema;
mod shared;
mod writer;

pub use fault::Fault;
pub use health::{Health, Metrics};
pub use naming::{SlotNames, StoredName};
pub use options::Options;
pub use row::{CounterRow, Filter};
pub use store::{CloseReport, CommitOutcome, Freed, Listing, Order, SqliteStore, StoreError};

/// The name of the counter file in the data folder.
pub const FILE_NAME: &str = "zonai_rate_limit.sqlite";
