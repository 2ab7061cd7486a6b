//! The SQLite side that knows no request: the data file with its readers and its one writer, the change feed, the schema
//! files and the tables they make.
//!
//! Must never know what a caller may do or how a payload is written: it takes closures over a connection, each with a
//! [`Pass`] of the limiter, and what they may hold up is bounded. Who may do what is `zonai-rules`, payloads are `zonai-data`.

pub mod changes;
pub mod dialect;
pub mod engine;
pub mod error;
pub mod history;
pub mod ids;
pub mod migrations;
pub mod schema;

pub use changes::{Change, ChangeReceiver, Changes, Rows};
pub use engine::{Engine, EngineOptions, OpenError};
pub use error::{DataError, StartError};
pub use migrations::{MigrationError, Migrations, Scratch};
pub use schema::{Column, ColumnKind, ForeignKey, Schema, Table, TableOptions};
pub use zonai_limit::Pass;
