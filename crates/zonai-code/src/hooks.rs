//! Code of an embedding program that runs around the operations on a table, and around sign-ins.
//!
//! A before-hook may change what is asked or written, or abort it; an after-hook sees what was read or written and cannot
//! undo it. Hooks do not pass the limiter. Must never let a hook that panics take more down than its request.

mod erased;
mod run;

use std::future::{Future, ready};
use std::sync::Arc;

use serde_json::{Map, Value};
use zonai_data::{Caller, DataError, Json, Payload};

pub use erased::AccountEvent;
use erased::{DynAccountHooks, DynTableHooks, ErasedAccount, ErasedTable};

use crate::{Ask, Code, DataOperation};

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
    pub(crate) code: Arc<Code>,
    depth: usize,
}

impl HookContext {
    fn new(code: &Arc<Code>, caller: &Caller, depth: usize) -> Self {
        Self {
            caller: caller.clone(),
            data: HookData {
                code: Arc::clone(code),
                depth,
            },
        }
    }
}

type Done = Result<(), HookError>;

macro_rules! hook {
    ($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*)) => {
        $(#[$doc])*
        fn $name(
            &self,
            context: &HookContext,
            $($argument: $type),*
        ) -> impl Future<Output = Result<(), HookError>> + Send {
            let _ = (context, $($argument),*);
            ready(Ok(()))
        }
    };
}

/// Hooks around the operations on one table; what is left out does nothing.
///
/// ```
/// use serde_json::{Map, Value};
/// use zonai_code::{HookContext, HookError, TableHooks};
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

    hook!(
        /// Before a row is read; `payload` is the request's `{table, where, …}`. This one and those of lists and counts
        /// run also where a live query opens, and for what it is asked then; not for its later results.
        before_get(payload: &mut Payload)
    );
    hook!(
        /// After a row was read, before it is answered with. A tree is only made of it where one is asked for.
        after_get(row: &Json)
    );
    hook!(
        /// Before rows are listed; `payload` is the request's `{table, where, …}`.
        before_list(payload: &mut Payload)
    );
    hook!(
        /// After rows were listed: `{items, total, …}`.
        after_list(page: &Json)
    );
    hook!(
        /// Before rows are counted; `payload` is the request's `{table, where}`.
        before_count(payload: &mut Payload)
    );
    hook!(
        /// After rows were counted: the number.
        after_count(count: &Json)
    );
    hook!(
        /// Before a row is made: may change it, or abort.
        before_create(object: &mut Map<String, Value>)
    );
    hook!(
        /// After a row was made.
        after_create(row: &Value)
    );
    hook!(
        /// Before rows are changed; `payload` is the request's `{table, where, updates, …}`.
        before_update(payload: &mut Payload)
    );
    hook!(
        /// After a row was changed, for each of them.
        after_update(row: &Value)
    );
    hook!(
        /// Before rows are deleted; `payload` is the request's `{table, where, …}`.
        before_delete(payload: &mut Payload)
    );
    hook!(
        /// After rows were deleted: how many.
        after_delete(rows: u64)
    );
    hook!(
        /// Before a custom operation, from a file or in code; `payload` is the request's `{table, where, updates, …}`.
        before_custom(operation: &str, payload: &mut Payload)
    );
    hook!(
        /// After a custom operation, for each row that it changed; or for each value that one in code answered with.
        after_custom(operation: &str, row: &Value)
    );
}

/// Hooks around sign-ins of one auth table. They run when the session is open already, and cannot undo it.
pub trait AccountHooks: Send + Sync + 'static {
    /// The auth table.
    const TABLE: &'static str;

    hook!(
        /// An account was made or, for an address that had one, signed in.
        on_sign_up(user: &Value)
    );
    hook!(
        /// An account signed in.
        on_sign_in(user: &Value)
    );
    hook!(
        /// A session was renewed.
        on_refresh(user: &Value)
    );
    hook!(
        /// An account logged out.
        on_log_out(user: &Value)
    );

    /// What goes into a new token as `claims`: for rules, as `@claims.<name>`, and for whoever reads the token, so no
    /// secrets. They hold until the session is renewed, which asks anew. `user` is the account's row without its password.
    ///
    /// It is asked on the one thread that writes, and must not wait for anything. A panic opens no session: 500.
    fn claims(&self, user: &Map<String, Value>) -> Map<String, Value> {
        let _ = user;
        Map::new()
    }
}

/// The hooks of a server.
#[derive(Default)]
pub struct Hooks {
    tables: Vec<Box<dyn DynTableHooks>>,
    accounts: Vec<Box<dyn DynAccountHooks>>,
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
    pub fn table_names(&self) -> impl Iterator<Item = &'static str> {
        let accounts = self.accounts.iter().map(|hooks| hooks.table());
        self.tables
            .iter()
            .map(|hooks| hooks.table())
            .chain(accounts)
    }

    /// What all hooks of an auth table say goes into a new token; of two that say one name differently the later counts.
    #[must_use]
    pub fn claims(&self, table: &str, user: &Map<String, Value>) -> Map<String, Value> {
        let hooks = self.accounts.iter().filter(|hooks| hooks.table() == table);
        hooks.flat_map(|hooks| hooks.claims(user)).collect()
    }

    fn of(&self, table: &str) -> impl Iterator<Item = &dyn DynTableHooks> {
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
        pub async fn $name(&self, payload: impl Into<Value> + Send) -> Result<Value, DataError> {
            self.operate(Ask::Data(DataOperation::$route), payload.into()).await
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

    /// `PATCH /db/custom/:operation`.
    ///
    /// # Errors
    /// As the route; and 400 where hooks and operations nest deeper than [`MAX_DEPTH`].
    pub async fn custom(
        &self,
        name: &str,
        payload: impl Into<Value> + Send,
    ) -> Result<Value, DataError> {
        let ask = Ask::Custom { name, many: false };
        self.operate(ask, payload.into()).await
    }

    /// `PATCH /db/custom/:operation/many`.
    ///
    /// # Errors
    /// As [`HookData::custom`].
    pub async fn custom_many(
        &self,
        name: &str,
        payload: impl Into<Value> + Send,
    ) -> Result<Value, DataError> {
        let ask = Ask::Custom { name, many: true };
        self.operate(ask, payload.into()).await
    }

    async fn operate(&self, ask: Ask<'_>, payload: Value) -> Result<Value, DataError> {
        if self.depth >= MAX_DEPTH {
            return Err(DataError::BadRequest(format!(
                "hooks call each other more than {MAX_DEPTH} deep"
            )));
        }
        let payload = Payload::from_value(payload)?;
        let (code, depth) = (&self.code, self.depth + 1);
        let work = code.perform_at(depth, &*code.internal, &Caller::Admin(None), ask, payload);
        // Boxed, because an operation may run hooks that run operations.
        let work: std::pin::Pin<Box<dyn Future<Output = _> + Send + '_>> = Box::pin(work);
        Ok(work.await?.map_or(Value::Null, |json| json.to_value()))
    }
}
