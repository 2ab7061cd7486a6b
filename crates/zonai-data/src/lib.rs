//! Tables over SQLite: schema, query grammar, rights, SQL, the read pool, the write queue and the change feed.
//!
//! A request comes as a [`Payload`] with a [`Caller`] and a [`Pass`] of the limiter, and goes back as [`Json`] or a
//! [`DataError`]. This crate knows no HTTP, and is the only one that makes SQL out of what callers send.

pub mod caller;
pub mod changes;
pub mod database;
pub(crate) mod dialect;
pub mod engine;
pub mod error;
pub mod history;
pub mod ids;
pub mod json;
pub mod migrations;
pub mod operations;
pub mod payload;
pub(crate) mod query;
pub mod rights;
pub mod rules;
pub mod schema;
pub(crate) mod value;

pub use caller::{Caller, User};
pub use changes::{Change, ChangeReceiver, Changes, Rows};
pub use database::{
    Database, DatabaseOptions, HashPassword, OperationRows, ReadKind, ReadPlan, StartError,
    Transaction, Unseen,
};
pub use engine::{Engine, EngineOptions, OpenError};
pub use error::DataError;
pub use json::Json;
pub use migrations::{MigrationError, Migrations};
pub use operations::{Operation, Operations};
pub use payload::{Payload, PayloadError};
pub use rights::{AccountAction, Action, Rights, RowExpr, RuleText, TrueFalse, Verdict};
pub use rules::{ExprFault, RuleKey, Rules};
pub use schema::{Column, ColumnKind, ForeignKey, Schema, Table, TableOptions};
pub use zonai_limit::Pass;
