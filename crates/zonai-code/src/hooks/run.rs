//! One operation with its hooks: rules on the table, before-hooks, the operation, after-hooks.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::Value;
use zonai_data::error::panic_text;
use zonai_data::{Action, Caller, DataError, Json, Pass, Payload, Verdict};

use super::HookContext;
use super::erased::{AccountEvent, Doing, TableEvent};
use crate::{Ask, Code, DataOperation as Data, operations};

impl Code {
    /// Does what is asked of a table, with its hooks and by its rules. `None` where there is nothing to answer with.
    ///
    /// # Errors
    /// As the operation; what a before-hook aborts is a 400 with its text, and a 500 where it panicked.
    pub async fn perform(
        self: &Arc<Self>,
        pass: &impl Pass,
        caller: &Caller,
        ask: Ask<'_>,
        payload: Payload,
    ) -> Result<Option<Json>, DataError> {
        self.perform_at(0, pass, caller, ask, payload).await
    }

    /// The same for a hook: so deep in hooks that call each other.
    pub(super) async fn perform_at(
        self: &Arc<Self>,
        depth: usize,
        pass: &impl Pass,
        caller: &Caller,
        ask: Ask<'_>,
        mut payload: Payload,
    ) -> Result<Option<Json>, DataError> {
        let context = || HookContext::new(self, caller, depth);
        let Some(table) = self.hooked(&payload) else {
            return self.operate(pass, caller, ask, &payload, context).await;
        };
        let hook_context = context();
        self.before(&hook_context, &table, ask, &mut payload)
            .await?;
        let result = match ask {
            Ask::Data(Data::DeleteMany) => {
                let rows = self.database.delete_many(pass, caller, &payload).await?;
                self.after_delete(&hook_context, &table, rows).await;
                return Ok(None);
            }
            Ask::Data(Data::Delete) => {
                self.database.delete(pass, caller, &payload).await?;
                self.after_delete(&hook_context, &table, 1).await;
                return Ok(None);
            }
            _ => self.operate(pass, caller, ask, &payload, context).await?,
        };
        if let Some(json) = &result {
            self.after(&hook_context, &table, ask, json).await;
        }
        Ok(result)
    }

    /// The before-hooks of the read that a live query is, at its opening.
    ///
    /// # Errors
    /// As [`Code::perform`], and 403 where the rules say no whatever the row.
    pub async fn before_stream(
        self: &Arc<Self>,
        caller: &Caller,
        data: Data,
        payload: &mut Payload,
    ) -> Result<(), DataError> {
        let Some(table) = self.hooked(payload) else {
            return Ok(());
        };
        let context = HookContext::new(self, caller, 0);
        self.before(&context, &table, Ask::Data(data), payload)
            .await
    }

    /// Whether there are hooks around sign-ins.
    #[must_use]
    pub fn hears_accounts(&self) -> bool {
        !self.hooks.accounts.is_empty()
    }

    /// Runs the hooks of an account's table. What they answer undoes nothing.
    pub async fn on_account(
        self: &Arc<Self>,
        event: AccountEvent,
        caller: &Caller,
        table: &str,
        user: &Value,
    ) {
        let all = self.hooks.accounts.iter();
        for hooks in all.filter(|hooks| hooks.table() == table) {
            let context = HookContext::new(self, caller, 0);
            note(hooks.on(event, &context, user), table).await;
        }
    }

    /// The table that a payload names, where it has hooks.
    fn hooked(&self, payload: &Payload) -> Option<String> {
        let table = payload.table().ok()?;
        self.hooks.of(table).next().map(|_| table.to_owned())
    }

    async fn operate(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        ask: Ask<'_>,
        payload: &Payload,
        context: impl FnOnce() -> HookContext,
    ) -> Result<Option<Json>, DataError> {
        let database = &self.database;
        let data = match ask {
            Ask::Data(data) => data,
            Ask::Custom { name, many } => {
                let table = payload.table()?;
                let registered = self.operation_name(table, name);
                let done = match (self.operations.get(table, registered), many) {
                    (Some(operation), _) => {
                        operations::run(operation, context(), name, payload, many).await
                    }
                    (None, false) => database.custom(pass, caller, name, payload).await,
                    (None, true) => database.custom_many(pass, caller, name, payload).await,
                };
                return done.map(Some);
            }
        };
        match data {
            Data::Get => database.get(pass, caller, payload).await.map(Some),
            Data::List => database.list(pass, caller, payload).await.map(Some),
            Data::Count => database.count(pass, caller, payload).await.map(Some),
            Data::Create => database.create(pass, caller, payload).await.map(Some),
            Data::CreateMany => database.create_many(pass, caller, payload).await.map(Some),
            Data::Update => database.update(pass, caller, payload).await.map(Some),
            Data::UpdateMany => database.update_many(pass, caller, payload).await.map(Some),
            Data::Delete => database.delete(pass, caller, payload).await.map(|()| None),
            Data::DeleteMany => database
                .delete_many(pass, caller, payload)
                .await
                .map(|_rows| None),
        }
    }

    /// Whether the rules say no whatever the row.
    fn is_denied(&self, table: &str, caller: &Caller, ask: Ask<'_>) -> bool {
        let Some(table) = self.database.schema().table(table) else {
            return false;
        };
        let action = match ask {
            Ask::Custom { name, .. } => {
                let name = self.operation_name(&table.name, name);
                return self.database.custom_verdict(table, name, caller) == Verdict::Deny;
            }
            Ask::Data(Data::Get) => Action::View,
            Ask::Data(Data::List) => Action::List,
            Ask::Data(Data::Count) => Action::Count,
            Ask::Data(Data::Create | Data::CreateMany) => Action::Create,
            Ask::Data(Data::Update | Data::UpdateMany) => Action::Update,
            Ask::Data(Data::Delete | Data::DeleteMany) => Action::Delete,
        };
        self.database.verdict(table, action, caller) == Verdict::Deny
    }

    /// Runs the before-hooks; none where the rules say no whatever the row.
    async fn before(
        &self,
        context: &HookContext,
        table: &str,
        ask: Ask<'_>,
        payload: &mut Payload,
    ) -> Result<(), DataError> {
        if self.is_denied(table, &context.caller, ask) {
            return Err(DataError::Forbidden);
        }
        for hooks in self.hooks.of(table) {
            let event = match ask {
                Ask::Data(Data::Create) => match payload.get_mut("object") {
                    Some(Value::Object(object)) => TableEvent::BeforeCreate(object),
                    _ => continue,
                },
                Ask::Data(Data::CreateMany) => {
                    if let Some(Value::Array(objects)) = payload.get_mut("objects") {
                        for object in objects.iter_mut().filter_map(Value::as_object_mut) {
                            abort(hooks.on(TableEvent::BeforeCreate(object), context)).await?;
                        }
                    }
                    continue;
                }
                Ask::Data(Data::Update | Data::UpdateMany) => TableEvent::BeforeUpdate(payload),
                Ask::Data(Data::Delete | Data::DeleteMany) => TableEvent::BeforeDelete(payload),
                Ask::Custom { name, .. } => TableEvent::BeforeCustom(name, payload),
                Ask::Data(Data::Get) => TableEvent::BeforeGet(payload),
                Ask::Data(Data::List) => TableEvent::BeforeList(payload),
                Ask::Data(Data::Count) => TableEvent::BeforeCount(payload),
            };
            abort(hooks.on(event, context)).await?;
        }
        Ok(())
    }

    async fn after(&self, context: &HookContext, table: &str, ask: Ask<'_>, json: &Json) {
        let read = || match ask {
            Ask::Data(Data::Get) => Some(TableEvent::AfterGet(json)),
            Ask::Data(Data::List) => Some(TableEvent::AfterList(json)),
            Ask::Data(Data::Count) => Some(TableEvent::AfterCount(json)),
            _ => None,
        };
        if read().is_some() {
            for (hooks, event) in self.hooks.of(table).zip(std::iter::from_fn(read)) {
                note(hooks.on(event, context), table).await;
            }
            return;
        }
        let event = |row| match ask {
            Ask::Data(Data::Create | Data::CreateMany) => Some(TableEvent::AfterCreate(row)),
            Ask::Data(Data::Update | Data::UpdateMany) => Some(TableEvent::AfterUpdate(row)),
            Ask::Custom { name, .. } => Some(TableEvent::AfterCustom(name, row)),
            Ask::Data(Data::Get | Data::List | Data::Count | Data::Delete | Data::DeleteMany) => {
                None
            }
        };
        let rows = match json.to_value() {
            Value::Array(rows) => rows,
            row => vec![row],
        };
        for hooks in self.hooks.of(table) {
            for event in rows.iter().filter_map(event) {
                note(hooks.on(event, context), table).await;
            }
        }
    }

    async fn after_delete(&self, context: &HookContext, table: &str, rows: u64) {
        for hooks in self.hooks.of(table) {
            note(hooks.on(TableEvent::AfterDelete(rows), context), table).await;
        }
    }
}

/// A before-hook's no is a 400 with its text, its panic a 500.
async fn abort(hook: Doing<'_>) -> Result<(), DataError> {
    match AssertUnwindSafe(hook).catch_unwind().await {
        Ok(done) => done.map_err(|error| DataError::BadRequest(error.0)),
        Err(panic) => {
            tracing::error!(
                cause = panic_text(&*panic),
                "a hook panicked; its request was aborted"
            );
            Err(DataError::Internal)
        }
    }
}

/// What was read is answered with, and what was written stays written, whatever an after-hook says.
async fn note(hook: Doing<'_>, table: &str) {
    match AssertUnwindSafe(hook).catch_unwind().await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(table, "an after-hook failed: {error}"),
        Err(panic) => tracing::error!(table, cause = panic_text(&*panic), "an after-hook panicked"),
    }
}
