//! Custom operations of an embedding program, beside those from files.
//!
//! A name in code is as one from a file: its own counter, its own rule. Must never let an operation answer without its rule
//! having been asked, nor one that panics take more down than its request.

use std::fmt;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;

use futures_util::FutureExt;
use serde_json::{Map, Value};
use zonai_data::error::panic_text;
use zonai_data::{DataError, Json, OperationRows, Payload, Transaction};
use zonai_project::{ANY_NAME, CodeOperation};

use crate::hooks::{HookContext, HookError};

/// A custom operation: `PATCH /db/custom/:operation` and its `/many` for one table and one name.
///
/// It is asked once it is admitted and its rule, `custom: {<name>: …}` of the table's rules file, has not refused the caller
/// whatever the row. What it answers with can only be made by [`OperationRequest::change`] or
/// [`OperationRequest::transaction`], which run in the transaction of the write: what they return an error for, or panic in, is
/// undone as a whole. A panic anywhere is a 500 and nothing else.
///
/// ```
/// use serde_json::{Value, json};
/// use zonai_code::{CustomOperation, OperationError, OperationRequest, Performed};
///
/// struct Sell;
///
/// impl CustomOperation for Sell {
///     const TABLE: &'static str = "items";
///     const NAME: &'static str = "sell";
///
///     async fn perform(&self, request: OperationRequest) -> Result<Performed, OperationError> {
///         let amount = request.input("amount").and_then(Value::as_i64).filter(|amount| *amount > 0);
///         let amount = amount.ok_or("`amount` must be a whole number above 0")?;
///         request
///             .change(move |item, tables| {
///                 let left = item["stock"].as_i64().unwrap_or(0) - amount;
///                 if left < 0 {
///                     return Err("there is not enough of it".into());
///                 }
///                 item.insert("stock".to_owned(), left.into());
///                 let sale = json!({"item": item["id"], "amount": amount});
///                 tables.create(json!({"table": "sales", "object": sale}))?;
///                 Ok(())
///             })
///             .await
///     }
/// }
/// ```
pub trait CustomOperation: Send + Sync + 'static {
    /// The table. One that does not exist stops the start.
    const TABLE: &'static str;

    /// The name: letters, digits, `_` and `-`, a letter first, at most 64. One that the table has already stops the start.
    ///
    /// `*` takes every name that no other operation of the table has; [`OperationRequest::name`] says which was asked for, and the
    /// rule is that of `"*"` under `custom`. Names cannot be validated then: all custom operations of the table share one
    /// counter, limited by `custom_policy(None)` or, in a policy file, by `custom`.
    const NAME: &'static str;

    /// Does it. What takes time (another service, a hash) belongs here, and not into the transaction.
    fn perform(
        &self,
        request: OperationRequest,
    ) -> impl Future<Output = Result<Performed, OperationError>> + Send;
}

/// What is asked of an operation.
pub struct OperationRequest {
    /// Who asks, and the tables outside of the transaction, with their hooks.
    pub context: HookContext,
    name: String,
    rows: OperationRows,
}

/// That an operation was performed: what it answers with.
#[derive(Debug)]
pub struct Performed(Json);

/// Why an operation is not performed. From a text it is a 400 with that text, from a [`DataError`] that error.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(transparent)]
pub struct OperationError(#[from] pub DataError);

impl From<&str> for OperationError {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl From<String> for OperationError {
    fn from(text: String) -> Self {
        Self(DataError::BadRequest(text))
    }
}

impl From<HookError> for OperationError {
    fn from(error: HookError) -> Self {
        error.0.into()
    }
}

impl OperationRequest {
    /// The name that was asked for, as it stands in the path.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The values of the request's `updates`, by name, whichever way they were written.
    #[must_use]
    pub fn inputs(&self) -> &Map<String, Value> {
        &self.rows.inputs
    }

    /// One of them.
    #[must_use]
    pub fn input(&self, name: &str) -> Option<&Value> {
        self.rows.inputs.get(name)
    }

    /// Whether all rows are meant that meet the request's `where` (`/many`), and not only the newest.
    #[must_use]
    pub fn is_many(&self) -> bool {
        self.rows.many
    }

    /// Changes the rows that the request means, all or none, and answers with them as they are then. `change` is called for
    /// each: what it changes of the row is written when it has been called for all, and held against the rule.
    ///
    /// It runs on the one thread that writes, inside the transaction, and must not wait for anything. `tables` are the other
    /// tables in that transaction, with the rights of an admin and without hooks.
    ///
    /// # Errors
    /// What `change` returns. 403 for a row that the rule does not allow, 404 where a single row is asked for and there is
    /// none, 409 and 422 for constraints, 500 for a column that is not there or cannot be set, 503.
    pub async fn change<F>(self, mut change: F) -> Result<Performed, OperationError>
    where
        F: FnMut(&mut Map<String, Value>, &Transaction<'_>) -> Result<(), OperationError>
            + Send
            + 'static,
    {
        let code = self.context.data.code;
        let change = move |row: &mut Map<String, Value>, tables: &Transaction<'_>| {
            change(row, tables).map_err(|error| error.0)
        };
        let changed = code
            .database
            .change_rows(&*code.internal, self.rows, change);
        Ok(Performed(changed.await?))
    }

    /// Works on the tables in one transaction, all or nothing, and answers with what `work` returns. The rows that the request
    /// means are not looked for; so the rule must be about the caller alone, and one about rows refuses everybody.
    ///
    /// It runs where `change` of [`OperationRequest::change`] does, and must not wait for anything either.
    ///
    /// # Errors
    /// What `work` returns; 403 for a rule about rows, 503.
    pub async fn transaction<F>(self, work: F) -> Result<Performed, OperationError>
    where
        F: FnOnce(&Transaction<'_>) -> Result<Value, OperationError> + Send + 'static,
    {
        if self.rows.are_ruled() {
            return Err(DataError::Forbidden.into());
        }
        let code = self.context.data.code;
        let work = code.database.transact(&*code.internal, move |tables| {
            work(tables).map_err(|error| error.0)
        });
        Ok(Performed(Json::from(&work.await?)))
    }
}

/// The operations of a program.
#[derive(Default)]
pub struct CustomOperations {
    all: Vec<Box<dyn DynOperation>>,
}

impl CustomOperations {
    /// Adds one.
    pub fn add(&mut self, operation: impl CustomOperation) {
        self.all.push(Box::new(Erased(operation)));
    }

    /// What the files of a project are held against.
    pub fn in_code(&self) -> impl Iterator<Item = CodeOperation> {
        self.all().map(|operation| CodeOperation {
            table: operation.table(),
            name: operation.name(),
            type_name: operation.type_name(),
        })
    }

    fn all(&self) -> impl Iterator<Item = &dyn DynOperation> {
        self.all.iter().map(AsRef::as_ref)
    }

    pub(crate) fn get(&self, table: &str, name: &str) -> Option<&dyn DynOperation> {
        self.all()
            .find(|operation| operation.table() == table && operation.name() == name)
    }

    /// Under which name a table has the operation that was asked for; `is_known` are names of files and of code.
    pub(crate) fn registered_as<'n>(
        &self,
        table: &str,
        name: &'n str,
        is_known: impl FnOnce() -> bool,
    ) -> &'n str {
        if self.get(table, ANY_NAME).is_some() && !is_known() {
            ANY_NAME
        } else {
            name
        }
    }
}

impl fmt::Debug for CustomOperations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.all().map(|one| (one.table(), one.name()));
        f.debug_list().entries(all).finish()
    }
}

/// An operation of any type.
pub(crate) trait DynOperation: Send + Sync {
    fn table(&self) -> &'static str;
    fn name(&self) -> &'static str;
    /// The Rust type, for messages.
    fn type_name(&self) -> &'static str;
    fn perform(&self, request: OperationRequest) -> Performing<'_>;
}

type Performing<'a> = Pin<Box<dyn Future<Output = Result<Performed, OperationError>> + Send + 'a>>;

struct Erased<T>(T);

impl<T: CustomOperation> DynOperation for Erased<T> {
    fn table(&self) -> &'static str {
        T::TABLE
    }

    fn name(&self) -> &'static str {
        T::NAME
    }

    fn type_name(&self) -> &'static str {
        std::any::type_name::<T>()
    }

    fn perform(&self, request: OperationRequest) -> Performing<'_> {
        Box::pin(async move { self.0.perform(request).await })
    }
}

/// Performs an operation for the caller of the context.
pub(crate) async fn run(
    operation: &dyn DynOperation,
    context: HookContext,
    name: &str,
    payload: &Payload,
    many: bool,
) -> Result<Json, DataError> {
    let data = &context.data.code.database;
    let rows = data.operation_rows(&context.caller, operation.name(), payload, many)?;
    let performing = operation.perform(OperationRequest {
        context,
        name: name.to_owned(),
        rows,
    });
    match AssertUnwindSafe(performing).catch_unwind().await {
        Ok(performed) => performed.map(|done| done.0).map_err(|error| error.0),
        Err(panic) => {
            let (table, name) = (operation.table(), operation.name());
            tracing::error!(
                table,
                name,
                cause = panic_text(&*panic),
                "a custom operation panicked; nothing was answered"
            );
            Err(DataError::Internal)
        }
    }
}
