//! `_rate_limit` through `/db`: admins list the counters in memory, and free clients by deleting them.
//!
//! The decision follows at once, because the counters in memory are what is listed and deleted. Must never show a
//! counter to anybody else.

use serde_json::{Map, Value, json};
use zonai_data::{Caller, DataError, Payload};
use zonai_limit_sqlite::{CounterRow, Filter, Order};

use crate::admin::row;
use crate::route::Data;
use crate::state::State;

/// As for other tables.
const MAX_LIMIT: u64 = 500;

/// Answers an admitted request for counters; `None` is 204.
pub(super) async fn answer(
    state: &State,
    data: Data,
    caller: &Caller,
    payload: &Payload,
) -> Result<Option<Value>, DataError> {
    if !caller.is_admin() {
        return Err(DataError::Forbidden);
    }
    let wanted = Wanted::read(payload, state)?;
    let found = wanted.find(state);
    match data {
        Data::Get => found
            .first()
            .map(|counter| Some(row(counter)))
            .ok_or_else(not_found),
        Data::List => {
            let page =
                |key, default: u64| payload.get(key).and_then(Value::as_u64).unwrap_or(default);
            let (offset, limit) = (page("offset", 0), page("limit", MAX_LIMIT).min(MAX_LIMIT));
            let items: Vec<Value> = found
                .iter()
                .skip(usize::try_from(offset).unwrap_or(usize::MAX))
                .take(usize::try_from(limit).unwrap_or(0))
                .map(row)
                .collect();
            Ok(Some(json!({"items": items, "total": found.len()})))
        }
        Data::Count => Ok(Some(json!(found.len()))),
        Data::Delete => {
            let first = found.into_iter().next().ok_or_else(not_found)?;
            free(state, &[first]).await
        }
        Data::DeleteMany => free(state, &found).await,
        Data::Create | Data::CreateMany | Data::Update | Data::UpdateMany => {
            Err(DataError::BadRequest(
                "`_rate_limit` holds what was counted: it can be listed and deleted from"
                    .to_owned(),
            ))
        }
    }
}

fn not_found() -> DataError {
    DataError::RecordNotFound {
        table: zonai_project::RATE_LIMIT_TABLE.to_owned(),
    }
}

async fn free(state: &State, rows: &[CounterRow]) -> Result<Option<Value>, DataError> {
    match state.store.free_rows(rows).await {
        Ok(_freed) => Ok(None),
        Err(_busy) => Err(DataError::BusyWriting),
    }
}

/// Which counters are meant: columns and the values that each may have.
struct Wanted {
    filter: Filter,
    columns: Vec<(String, Vec<Value>)>,
}

impl Wanted {
    fn read(payload: &Payload, state: &State) -> Result<Self, DataError> {
        let mut wanted = Self {
            filter: Filter::default(),
            columns: Vec::new(),
        };
        match payload.get("where") {
            None | Some(Value::Null) => {}
            Some(Value::Object(condition)) => wanted.condition(condition)?,
            Some(_) => {
                return Err(DataError::BadRequest(
                    "where: expected an object".to_owned(),
                ));
            }
        }
        // One client, or a network with all clients inside it: no other counter is looked at.
        if let Some((_, values)) = wanted
            .columns
            .iter()
            .find(|(column, _)| column == "client_ip")
            && let [Value::String(text)] = values.as_slice()
        {
            wanted.filter.client = zonai_limit::Client::parse(text, state.gate.ipv6_prefix);
        }
        Ok(wanted)
    }

    fn condition(&mut self, condition: &Map<String, Value>) -> Result<(), DataError> {
        let kind = condition.get("type").and_then(Value::as_str);
        match (kind, condition.get("column").and_then(Value::as_str)) {
            (Some("and"), _) => {
                let all = condition.get("conditions").and_then(Value::as_array);
                for part in all.into_iter().flatten() {
                    self.condition(part.as_object().ok_or_else(too_much)?)?;
                }
                Ok(())
            }
            (Some("eq"), Some(column)) => self.allow(
                column,
                condition.get("value").into_iter().cloned().collect(),
            ),
            (Some("in"), Some(column)) => {
                let values = condition
                    .get("values")
                    .and_then(Value::as_array)
                    .ok_or_else(too_much)?;
                self.allow(column, values.clone())
            }
            (Some(_), _) => Err(too_much()),
            (None, _) => {
                for (column, test) in condition {
                    match test
                        .as_object()
                        .map(|test| (test.len(), test.get("eq"), test.get("in")))
                    {
                        Some((1, Some(value), None)) => self.allow(column, vec![value.clone()])?,
                        Some((1, None, Some(Value::Array(values)))) => {
                            self.allow(column, values.clone())?
                        }
                        _ => return Err(too_much()),
                    }
                }
                Ok(())
            }
        }
    }

    fn allow(&mut self, column: &str, values: Vec<Value>) -> Result<(), DataError> {
        const COLUMNS: [&str; 7] = [
            "id",
            "client_ip",
            "table",
            "operation",
            "window_start",
            "count",
            "window_ms",
        ];
        if !COLUMNS.contains(&column) {
            return Err(DataError::BadRequest(format!(
                "where: unknown column `{column}`"
            )));
        }
        self.columns.push((column.to_owned(), values));
        Ok(())
    }

    fn find(&self, state: &State) -> Vec<CounterRow> {
        let listing = state.store.list(&self.filter, Order::Newest, 0, usize::MAX);
        let mut rows = listing.rows;
        rows.retain(|counter| {
            let shown = row(counter);
            self.columns.iter().all(|(column, values)| {
                shown
                    .get(column)
                    .is_some_and(|value| values.contains(value))
            })
        });
        rows
    }
}

fn too_much() -> DataError {
    DataError::BadRequest("where: `_rate_limit` takes `eq`, `in` and `and` only".to_owned())
}
