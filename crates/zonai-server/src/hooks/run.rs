//! One operation with its hooks: rules on the table, before-hooks, the operation, after-hooks.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::Value;
use zonai_data::{Action, Caller, DataError, Json, Pass, Payload, Verdict};

use super::erased::{AccountEvent, Doing};
use super::{HookContext, HookData};
use crate::route::Data;
use crate::state::State;

/// Does what a route asks of a table. Without hooks for the table it is the operation alone.
pub(crate) async fn perform(
    state: &Arc<State>,
    pass: &impl Pass,
    caller: &Caller,
    data: Data,
    mut payload: Payload,
    depth: usize,
) -> Result<Option<Json>, DataError> {
    let hooked = payload
        .table()
        .is_ok_and(|table| state.hooks.of(table).next().is_some());
    if !hooked {
        return operate(state, pass, caller, data, &payload).await;
    }
    let table = payload.table()?.to_owned();
    if is_denied(state, &table, caller, data) {
        return Err(DataError::Forbidden);
    }
    let context = HookContext {
        caller: caller.clone(),
        data: HookData {
            state: Arc::clone(state),
            depth,
        },
    };
    before(state, &context, &table, data, &mut payload).await?;
    let result = match data {
        Data::DeleteMany => {
            let rows = state.data.delete_many(pass, caller, &payload).await?;
            after_delete(state, &context, &table, rows).await;
            return Ok(None);
        }
        Data::Delete => {
            state.data.delete(pass, caller, &payload).await?;
            after_delete(state, &context, &table, 1).await;
            return Ok(None);
        }
        _ => operate(state, pass, caller, data, &payload).await?,
    };
    if let Some(json) = &result {
        after(state, &context, &table, data, json).await;
    }
    Ok(result)
}

async fn operate(
    state: &State,
    pass: &impl Pass,
    caller: &Caller,
    data: Data,
    payload: &Payload,
) -> Result<Option<Json>, DataError> {
    let database = &state.data;
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

/// Whether the rules say no whatever the row: then no hook runs.
fn is_denied(state: &State, table: &str, caller: &Caller, data: Data) -> bool {
    let action = match data {
        Data::Get => Action::View,
        Data::List => Action::List,
        Data::Count => Action::Count,
        Data::Create | Data::CreateMany => Action::Create,
        Data::Update | Data::UpdateMany => Action::Update,
        Data::Delete | Data::DeleteMany => Action::Delete,
    };
    let found = state.data.schema().table(table);
    found.is_some_and(|table| state.data.verdict(table, action, caller) == Verdict::Deny)
}

async fn before(
    state: &State,
    context: &HookContext,
    table: &str,
    data: Data,
    payload: &mut Payload,
) -> Result<(), DataError> {
    for hooks in state.hooks.of(table) {
        match data {
            Data::Create => {
                if let Some(Value::Object(object)) = payload.get_mut("object") {
                    abort(hooks.before_create(context, object)).await?;
                }
            }
            Data::CreateMany => {
                if let Some(Value::Array(objects)) = payload.get_mut("objects") {
                    for object in objects.iter_mut().filter_map(Value::as_object_mut) {
                        abort(hooks.before_create(context, object)).await?;
                    }
                }
            }
            Data::Update | Data::UpdateMany => abort(hooks.before_update(context, payload)).await?,
            Data::Delete | Data::DeleteMany => abort(hooks.before_delete(context, payload)).await?,
            Data::Get | Data::List | Data::Count => {}
        }
    }
    Ok(())
}

async fn after(state: &State, context: &HookContext, table: &str, data: Data, json: &Json) {
    if matches!(data, Data::Get | Data::List | Data::Count) {
        return;
    }
    let rows = match json.to_value() {
        Value::Array(rows) => rows,
        row => vec![row],
    };
    for hooks in state.hooks.of(table) {
        for row in &rows {
            match data {
                Data::Create | Data::CreateMany => {
                    note(hooks.after_create(context, row), table).await
                }
                _ => note(hooks.after_update(context, row), table).await,
            }
        }
    }
}

async fn after_delete(state: &State, context: &HookContext, table: &str, rows: u64) {
    for hooks in state.hooks.of(table) {
        note(hooks.after_delete(context, rows), table).await;
    }
}

/// Runs the hooks of an account's table.
pub(crate) async fn account_hook(
    state: &Arc<State>,
    event: AccountEvent,
    caller: &Caller,
    table: &str,
    user: &Value,
) {
    for hooks in state
        .hooks
        .accounts
        .iter()
        .filter(|hooks| hooks.table() == table)
    {
        let context = HookContext {
            caller: caller.clone(),
            data: HookData {
                state: Arc::clone(state),
                depth: 0,
            },
        };
        note(hooks.on(event, &context, user), table).await;
    }
}

/// A before-hook's no is a 400 with its text, its panic a 500.
async fn abort(hook: Doing<'_>) -> Result<(), DataError> {
    match AssertUnwindSafe(hook).catch_unwind().await {
        Ok(done) => done.map_err(|error| DataError::BadRequest(error.0)),
        Err(_panic) => {
            tracing::error!("a hook panicked; its request was aborted");
            Err(DataError::Internal)
        }
    }
}

/// What was written stays written, whatever an after-hook says.
async fn note(hook: Doing<'_>, table: &str) {
    match AssertUnwindSafe(hook).catch_unwind().await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::warn!(table, "a hook failed after the write: {error}"),
        Err(_panic) => tracing::error!(table, "a hook panicked after the write"),
    }
}
