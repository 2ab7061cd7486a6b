//! Tables over SQLite: query grammar, rights and SQL, over the connections, the schema and the change feed of
//! `zonai-engine`, which are named here too.
//!
//! A request comes as a [`Payload`] with a [`Caller`] and a [`Pass`] of the limiter, and goes back as [`Json`] or a
//! [`DataError`]. This crate knows no HTTP, and is the only one that makes SQL out of what callers send.

pub mod caller;
pub mod database;
pub(crate) mod dialect;
pub mod json;
pub mod operations;
pub mod payload;
pub(crate) mod query;
pub mod rights;
pub mod rules;
pub(crate) mod value;

pub use caller::{Caller, User};
pub use database::{
    Database, DatabaseOptions, HashPassword, OperationRows, ReadKind, ReadPlan, Transaction, Unseen,
};
pub use json::Json;
pub use operations::{Operation, Operations};
pub use payload::{Payload, PayloadError};
pub use rights::{AccountAction, Action, Rights, RowExpr, RuleText, TrueFalse, Verdict};
pub use rules::{ExprFault, RuleKey, Rules};
pub use zonai_engine::{
    Change, ChangeReceiver, Changes, Column, ColumnKind, DataError, Engine, EngineOptions,
    ForeignKey, MigrationError, Migrations, OpenError, Rows, Schema, StartError, Table,
    TableOptions,
};
pub use zonai_engine::{changes, engine, error, history, ids, migrations, schema};
pub use zonai_limit::Pass;
