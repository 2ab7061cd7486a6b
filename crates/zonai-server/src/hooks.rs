//! Code of an embedding program that runs around the operations on a table, and around sign-ins.
//!
//! A before-hook may change what is written, or abort it; an after-hook sees what was written and cannot undo it. Hooks do
//! not pass the limiter. Must never let a hook that panics take more down than its request.

mod erased;
mod run;

use std::future::{Future, ready};
use std::sync::Arc;

use serde_json::{Map, Value};
use zonai_data::{Caller, DataError, Payload};

pub(crate) use erased::{AccountEvent, DynAccountHooks, DynTableHooks, ErasedAccount, ErasedTable};
pub(crate) use run::{account_hook, perform};

use crate::route::Data as Route;
use crate::state::State;

/// How deep hooks may call operations that have hooks.
pub const MAX_DEPTH: usize = 10;

/// Why a hook aborts what was asked. The text is the caller's: a 400 with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct HookError(pub String);

impl<T: Into<String>> From<T> for HookError {
    fn from(text: T) -> Self {
        Self(text.into())
    }
}

/// What a hook may know and do.
pub struct HookContext {
    /// Who asks.
    pub caller: Caller,
    /// The tables, without rules and without limits.
    pub data: HookData,
}

/// The tables as hooks reach them: with the rights of an admin. Operations run their own hooks, at most
/// [`MAX_DEPTH`] deep.
#[derive(Clone)]
pub struct HookData {
    state: Arc<State>,
    depth: usize,
}

type Done = Result<(), HookError>;

/// Hooks around the operations on one table; what is left out does nothing.
///
/// ```
/// use serde_json::{Map, Value};
/// use zonai_server::{HookContext, HookError, TableHooks};
///
/// struct NoShouting;
///
/// impl TableHooks for NoShouting {
///     const TABLE: &'static str = "notes";
///
///     async fn before_create(&self, _: &HookContext, object: &mut Map<String, Value>) -> Result<(), HookError> {
///         match object.get("text").and_then(Value::as_str) {
///             Some(text) if text == text.to_uppercase() => Err("do not shout".into()),
///             _ => Ok(()),
///         }
///     }
/// }
/// ```
pub trait TableHooks: Send + Sync + 'static {
    /// The table. One that does not exist stops the start.
    const TABLE: &'static str;

    /// Before a row is made: may change it, or abort.
    fn before_create(
        &self,
        context: &HookContext,
        object: &mut Map<String, Value>,
    ) -> impl Future<Output = Done> + Send {
        let _ = (context, object);
        ready(Ok(()))
    }

    /// After a row was made.
    fn after_create(
        &self,
        context: &HookContext,
        row: &Value,
    ) -> impl Future<Output = Done> + Send {
        let _ = (context, row);
        ready(Ok(()))
    }

    /// Before rows are changed; `payload` is the request's `{table, where, updates, …}`.
    fn before_update(
        &self,
        context: &HookContext,
        payload: &mut Payload,
    ) -> impl Future<Output = Done> + Send {
        let _ = (context, payload);
        ready(Ok(()))
    }

    /// After a row was changed, for each of them.
    fn after_update(
        &self,
        context: &HookContext,
        row: &Value,
    ) -> impl Future<Output = Done> + Send {
        let _ = (context, row);
        ready(Ok(()))
    }

    /// Before rows are deleted; `payload` is the request's `{table, where, …}`.
    fn before_delete(
        &self,
        context: &HookContext,
        payload: &mut Payload,
    ) -> impl Future<Output = Done> + Send {
        let _ = (context, payload);
        ready(Ok(()))
    }

    /// After rows were deleted: how many.
    fn after_delete(&self, context: &HookContext, rows: u64) -> impl Future<Output = Done> + Send {
        let _ = (context, rows);
        ready(Ok(()))
    }
}

/// Hooks around sign-ins of one auth table. They run when the session is open already, and cannot undo it.
pub trait AccountHooks: Send + Sync + 'static {
    /// The auth table.
    const TABLE: &'static str;

    /// An account was made or, for an address that had one, signed in.
    fn on_sign_up(&self, context: &HookContext, user: &Value) -> impl Future<Output = Done> + Send {
        let _ = (context, user);
        ready(Ok(()))
    }

    /// An account signed in.
    fn on_sign_in(&self, context: &HookContext, user: &Value) -> impl Future<Output = Done> + Send {
        let _ = (context, user);
        ready(Ok(()))
    }

    /// A session was renewed.
    fn on_refresh(&self, context: &HookContext, user: &Value) -> impl Future<Output = Done> + Send {
        let _ = (context, user);
        ready(Ok(()))
    }

    /// An account logged out.
    fn on_log_out(&self, context: &HookContext, user: &Value) -> impl Future<Output = Done> + Send {
        let _ = (context, user);
        ready(Ok(()))
    }
}

/// The hooks of a server.
#[derive(Default)]
pub struct Hooks {
    pub(crate) tables: Vec<Box<dyn DynTableHooks>>,
    pub(crate) accounts: Vec<Box<dyn DynAccountHooks>>,
}

impl Hooks {
    /// Adds hooks of a table; several for one table run in the order in which they were added.
    pub fn add_table(&mut self, hooks: impl TableHooks) {
        self.tables.push(Box::new(ErasedTable(hooks)));
    }

    /// Adds hooks of an auth table.
    pub fn add_accounts(&mut self, hooks: impl AccountHooks) {
        self.accounts.push(Box::new(ErasedAccount(hooks)));
    }

    /// Every table that hooks name.
    pub(crate) fn table_names(&self) -> impl Iterator<Item = &'static str> {
        let accounts = self.accounts.iter().map(|hooks| hooks.table());
        self.tables
            .iter()
            .map(|hooks| hooks.table())
            .chain(accounts)
    }

    pub(crate) fn of(&self, table: &str) -> impl Iterator<Item = &dyn DynTableHooks> {
        self.tables
            .iter()
            .filter(move |hooks| hooks.table() == table)
            .map(AsRef::as_ref)
    }
}

macro_rules! operation {
    ($(#[$doc:meta])* $name:ident, $route:ident) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// As the route; and 400 where hooks nest deeper than [`MAX_DEPTH`].
        pub async fn $name(&self, payload: Map<String, Value>) -> Result<Value, DataError> {
            self.operate(Route::$route, payload).await
        }
    };
}

impl HookData {
    operation!(
        /// `GET /db`.
        get, Get
    );
    operation!(
        /// `GET /db/list`.
        list, List
    );
    operation!(
        /// `GET /db/count`.
        count, Count
    );
    operation!(
        /// `POST /db`.
        create, Create
    );
    operation!(
        /// `PATCH /db`.
        update, Update
    );
    operation!(
        /// `PATCH /db/many`.
        update_many, UpdateMany
    );
    operation!(
        /// `DELETE /db`.
        delete, Delete
    );
    operation!(
        /// `DELETE /db/many`.
        delete_many, DeleteMany
    );

    async fn operate(&self, route: Route, payload: Map<String, Value>) -> Result<Value, DataError> {
        if self.depth >= MAX_DEPTH {
            return Err(DataError::BadRequest(format!(
                "hooks call each other more than {MAX_DEPTH} deep"
            )));
        }
        let payload = Payload::from_members(payload);
        let internal = Arc::clone(&self.state.internal);
        let work = perform(
            &self.state,
            &*internal,
            &Caller::Admin(None),
            route,
            payload,
            self.depth + 1,
        );
        // Boxed, because an operation may run hooks that run operations.
        let work: std::pin::Pin<Box<dyn Future<Output = _> + Send + '_>> = Box::pin(work);
        Ok(work.await?.map_or(Value::Null, |json| json.to_value()))
    }
}
