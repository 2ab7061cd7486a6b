//! Code of an embedding program: hooks around the operations on tables and around sign-ins, and custom operations.
//!
//! [`Code`] is the tables with that code around them, as the routes ask them. Must never know of a request, a route or HTTP:
//! what is asked comes as an [`Ask`], admitted already.

mod ask;
mod hooks;
mod operations;

use std::sync::Arc;

use zonai_data::Database;
use zonai_limit::Internal;

pub use ask::{Ask, DataOperation};
pub use hooks::{
    AccountEvent, AccountHooks, HookContext, HookData, HookError, Hooks, MAX_DEPTH, TableHooks,
};
pub use operations::{
    CustomOperation, CustomOperations, OperationError, OperationRequest, Performed,
};
pub use zonai_data::Transaction;

/// The tables of a server, with the code around them.
pub struct Code {
    database: Database,
    hooks: Arc<Hooks>,
    operations: CustomOperations,
    /// For what code does, which no request asked for.
    internal: Arc<Internal>,
}

impl Code {
    /// Puts code around tables.
    #[must_use]
    pub fn new(
        database: Database,
        hooks: Arc<Hooks>,
        operations: CustomOperations,
        internal: Arc<Internal>,
    ) -> Arc<Self> {
        Arc::new(Self {
            database,
            hooks,
            operations,
            internal,
        })
    }

    /// Under which name a table has a custom operation that is asked for.
    fn operation_name<'n>(&self, table: &str, asked: &'n str) -> &'n str {
        self.operations
            .registered_as(table, asked, || self.database.has_operation(table, asked))
    }
}
