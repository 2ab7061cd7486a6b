//! Tables over SQLite: payloads, the grammar of queries, custom operations and the SQL of them all, over the data file of
//! `zonai-engine` and the rights of `zonai-rules`. What those two offer is named here too.
//!
//! A request comes as a [`Payload`] with a [`Caller`] and a [`Pass`] of the limiter, and goes back as [`Json`] or a
//! [`DataError`]. This crate knows no HTTP, and is the only one that makes SQL out of what callers send.

pub mod database;
pub(crate) mod dialect;
pub mod json;
pub mod operations;
pub mod payload;
pub(crate) mod query;
pub(crate) mod value;

pub use database::{
    Database, DatabaseOptions, HashPassword, OperationRows, ReadKind, ReadPlan, Transaction, Unseen,
};
pub use json::Json;
pub use operations::{Operation, Operations};
pub use payload::{Payload, PayloadError};
pub use query::page::{list_limit, many_limit, offset};
pub use zonai_engine::{
    Change, ChangeReceiver, Changes, Column, ColumnKind, DataError, Engine, EngineOptions,
    ForeignKey, MigrationError, Migrations, OpenError, Rows, Schema, StartError, Table,
    TableOptions,
};
pub use zonai_engine::{changes, engine, error, history, ids, migrations, schema};
pub use zonai_limit::Pass;
pub use zonai_rules::{
    AccountAction, Action, Caller, ExprFault, Rights, RowExpr, RuleKey, RuleText, Rules, TrueFalse,
    User, Verdict,
};
pub use zonai_rules::{caller, rights, rules};
