//! `_rate_limit` through `/db`: admins list the counters in memory, and free clients by deleting them.
//!
//! The decision follows at once, because the counters in memory are what is listed and deleted. Must never show a
//! counter to anybody else, free one that was not named, or look through a million of them on an async thread.

mod wanted;

use std::sync::Arc;

use serde_json::{Value, json};
use tokio::runtime::Handle;
use zonai_data::{Caller, DataError, Payload, list_limit, many_limit, offset};
use zonai_limit_sqlite::CounterRow;

use crate::admin::row;
use crate::route::Data;
use crate::state::State;
use wanted::Wanted;

/// What is to be done with the counters that are wanted.
#[derive(Clone, Copy)]
enum Task {
    Get,
    List { offset: usize, limit: usize },
    Count,
    Delete,
    DeleteMany { limit: usize },
}

/// Answers an admitted request for counters; `None` is 204.
pub(super) async fn answer(
    state: &Arc<State>,
    data: Data,
    caller: &Caller,
    payload: &Payload,
) -> Result<Option<Value>, DataError> {
    if !caller.is_admin() {
        return Err(DataError::Forbidden);
    }
    let task = Task::read(data, payload)?;
    let wanted = Wanted::read(
        payload.get("where"),
        task.must_name(),
        state.gate.ipv6_prefix,
    )?;
    let of_work = Arc::clone(state);
    let runtime = Handle::current();
    let work = move || task.perform(&wanted, &of_work, &runtime);
    state
        .tasks
        .spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(DataError::internal("going through the counters", &error)))
}

impl Task {
    fn read(data: Data, payload: &Payload) -> Result<Self, DataError> {
        let (task, known): (_, &[&str]) = match data {
            Data::Get => (Self::Get, &["table", "where"]),
            Data::List => {
                let (offset, limit) = (offset(payload)?, list_limit(payload)?);
                let task = Self::List {
                    offset: places(offset),
                    limit: places(limit),
                };
                (task, &["table", "where", "limit", "offset"])
            }
            Data::Count => (Self::Count, &["table", "where"]),
            Data::Delete => (Self::Delete, &["table", "where"]),
            Data::DeleteMany => {
                let limit = many_limit(payload)?.map_or(usize::MAX, places);
                (Self::DeleteMany { limit }, &["table", "where", "limit"])
            }
            Data::Create | Data::CreateMany | Data::Update | Data::UpdateMany => {
                return Err(DataError::BadRequest(
                    "`_rate_limit` holds what was counted: it can be listed and deleted from"
                        .to_owned(),
                ));
            }
        };
        payload.only(known)?;
        Ok(task)
    }

    /// Whether a `where` must say which counters.
    const fn must_name(self) -> bool {
        matches!(self, Self::Get | Self::Delete | Self::DeleteMany { .. })
    }

    /// Goes through all counters: for a thread that may take its time.
    fn perform(
        self,
        wanted: &Wanted,
        state: &State,
        runtime: &Handle,
    ) -> Result<Option<Value>, DataError> {
        let mut found = wanted.find(state);
        match self {
            Self::Get => found
                .first()
                .map(|counter| Some(row(counter)))
                .ok_or_else(not_found),
            Self::List { offset, limit } => {
                let items: Vec<Value> = found.iter().skip(offset).take(limit).map(row).collect();
                Ok(Some(json!({"items": items, "total": found.len()})))
            }
            Self::Count => Ok(Some(json!(found.len()))),
            Self::Delete if found.is_empty() => Err(not_found()),
            Self::Delete => {
                found.truncate(1);
                free(state, &found, runtime)
            }
            Self::DeleteMany { limit } => {
                found.truncate(limit);
                free(state, &found, runtime)
            }
        }
    }
}

fn places(number: i64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn not_found() -> DataError {
    DataError::RecordNotFound {
        table: zonai_project::RATE_LIMIT_TABLE.to_owned(),
    }
}

fn free(state: &State, rows: &[CounterRow], runtime: &Handle) -> Result<Option<Value>, DataError> {
    match runtime.block_on(state.store.free_rows(rows)) {
        Ok(_freed) => Ok(None),
        Err(_busy) => Err(DataError::BusyWriting),
    }
}
