//! The `where` of `_rate_limit`: columns, and the values that each may have.
//!
//! Must never read a condition as a wider one than was written: what is not understood is a 400.

use serde_json::{Map, Value};
use zonai_data::DataError;
use zonai_limit::{Client, Ipv6Prefix};
use zonai_limit_sqlite::{CounterRow, Filter, Order};

use crate::state::State;

/// The most columns that one `where` may test.
const MAX_TESTS: usize = 100;
/// The most values of all of them together.
const MAX_VALUES: usize = 1_000;

/// Which counters are meant: those that pass every test.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    filter: Filter,
    tests: Vec<(Column, Vec<Value>)>,
    values: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    Id,
    ClientIp,
    Table,
    Operation,
    WindowStart,
    Count,
    WindowMs,
}

impl Wanted {
    /// Reads a `where`; `must_name` is whether it has to be there and to test a column.
    pub(super) fn read(
        condition: Option<&Value>,
        must_name: bool,
        prefix: Ipv6Prefix,
    ) -> Result<Self, DataError> {
        let mut wanted = Self::default();
        match condition {
            None if must_name => return Err(DataError::at("where", "is missing")),
            None => {}
            Some(condition) => wanted.condition(condition)?,
        }
        if must_name && wanted.tests.is_empty() {
            return Err(DataError::at("where", "names no column"));
        }
        // One client, or a network with all clients inside it: no other counter is looked at.
        let single = |wanted: Column| {
            move |(column, values): &(Column, Vec<Value>)| match values.as_slice() {
                [Value::String(text)] if *column == wanted => Some(text.clone()),
                _ => None,
            }
        };
        wanted.filter.client = wanted
            .tests
            .iter()
            .find_map(single(Column::ClientIp))
            .and_then(|text| Client::parse(&text, prefix));
        wanted.filter.table = wanted.tests.iter().find_map(single(Column::Table));
        Ok(wanted)
    }

    fn condition(&mut self, condition: &Value) -> Result<(), DataError> {
        let members = condition
            .as_object()
            .ok_or_else(|| DataError::at("where", "expected an object"))?;
        match members.get("type") {
            Some(Value::String(kind)) => self.typed(kind, members),
            _ => self.by_column(members),
        }
    }

    fn typed(&mut self, kind: &str, members: &Map<String, Value>) -> Result<(), DataError> {
        let only = |known: &[&str]| match members.keys().find(|key| !known.contains(&key.as_str()))
        {
            Some(key) => Err(unknown_key(key)),
            None => Ok(()),
        };
        if kind == "and" {
            only(&["type", "conditions"])?;
            let conditions = members.get("conditions");
            return self.all(conditions.ok_or_else(|| missing("conditions"))?);
        }
        let key = match kind {
            "eq" => "value",
            "in" => "values",
            _ => return Err(too_much()),
        };
        only(&["type", "column", key])?;
        let Some(Value::String(column)) = members.get("column") else {
            return Err(DataError::at("where.column", "expected a text"));
        };
        self.test(column, kind, members.get(key).ok_or_else(|| missing(key))?)
    }

    fn by_column(&mut self, members: &Map<String, Value>) -> Result<(), DataError> {
        for (name, operators) in members {
            if name == "and" {
                self.all(operators)?;
                continue;
            }
            let operators = operators.as_object().ok_or_else(too_much)?;
            if operators.is_empty() {
                return Err(too_much());
            }
            for (operator, operand) in operators {
                self.test(name, operator, operand)?;
            }
        }
        Ok(())
    }

    fn all(&mut self, conditions: &Value) -> Result<(), DataError> {
        match conditions.as_array() {
            Some(conditions) if !conditions.is_empty() => conditions
                .iter()
                .try_for_each(|condition| self.condition(condition)),
            _ => Err(DataError::at(
                "where.conditions",
                "expected a list of conditions",
            )),
        }
    }

    fn test(&mut self, column: &str, operator: &str, operand: &Value) -> Result<(), DataError> {
        let column = Column::named(column)?;
        let values = match (operator, operand) {
            ("eq", value) => vec![value.clone()],
            ("in", Value::Array(values)) => values.clone(),
            _ => return Err(too_much()),
        };
        self.values += values.len();
        if self.tests.len() == MAX_TESTS || self.values > MAX_VALUES {
            let most = format_args!("more than {MAX_TESTS} columns or {MAX_VALUES} values");
            return Err(DataError::at("where", most));
        }
        self.tests.push((column, values));
        Ok(())
    }

    /// All of them, the newest window first.
    pub(super) fn find(&self, state: &State) -> Vec<CounterRow> {
        let listing = state.store.list(&self.filter, Order::Newest, 0, usize::MAX);
        let mut rows = listing.rows;
        rows.retain(|row| {
            self.tests
                .iter()
                .all(|(column, values)| values.iter().any(|value| column.is(row, value)))
        });
        rows
    }
}

impl Column {
    fn named(name: &str) -> Result<Self, DataError> {
        Ok(match name {
            "id" => Self::Id,
            "client_ip" => Self::ClientIp,
            "table" => Self::Table,
            "operation" => Self::Operation,
            "window_start" => Self::WindowStart,
            "count" => Self::Count,
            "window_ms" => Self::WindowMs,
            // Of the spelling with `type`, where that is left out or misspelt: no column either.
            _ => return Err(unknown_key(name)),
        })
    }

    fn is(self, row: &CounterRow, value: &Value) -> bool {
        match self {
            Self::Id => value == row.id.as_str(),
            Self::ClientIp => value == row.client_ip.as_str(),
            Self::Table => value == row.table.as_str(),
            Self::Operation => value == row.operation.as_str(),
            Self::WindowStart => *value == row.window_start,
            Self::Count => *value == row.count,
            Self::WindowMs => *value == row.window_ms,
        }
    }
}

fn unknown_key(key: &str) -> DataError {
    let key: String = key.chars().take(64).collect();
    DataError::at("where", format_args!("unknown column or key `{key}`"))
}

fn missing(key: &str) -> DataError {
    DataError::at(format_args!("where.{key}"), "is missing")
}

fn too_much() -> DataError {
    DataError::BadRequest("where: `_rate_limit` takes `eq`, `in` and `and` only".to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tests(condition: &Value) -> Option<usize> {
        let wanted = Wanted::read(Some(condition), true, Ipv6Prefix::DEFAULT);
        wanted.ok().map(|wanted| wanted.tests.len())
    }

    #[test]
    fn both_spellings_are_read() {
        let eq = json!({"type": "eq", "column": "client_ip", "value": "10.0.0.1"});
        for (condition, expected) in [
            (eq.clone(), 1),
            (json!({"client_ip": {"eq": "10.0.0.1"}}), 1),
            (json!({"count": {"in": [1, 2]}, "table": {"eq": "x"}}), 2),
            (json!({"type": "in", "column": "count", "values": []}), 1),
            (
                json!({"type": "and", "conditions": [eq, {"id": {"eq": "a"}}]}),
                2,
            ),
            (json!({"and": [eq]}), 1),
        ] {
            assert_eq!(tests(&condition), Some(expected), "{condition}");
        }
    }

    #[test]
    fn what_is_not_understood_is_never_read_as_everything() {
        let eq = json!({"type": "eq", "column": "id", "value": "a"});
        let many = vec![eq.clone(); MAX_TESTS + 1];
        for condition in [
            json!(null),
            json!([]),
            json!({}),
            json!({"type": "and"}),
            json!({"type": "and", "conditions": []}),
            json!({"type": "and", "conditions": {}}),
            json!({"type": "and", "condition": [eq]}),
            json!({"type": "and", "conditions": [{}]}),
            json!({"type": "and", "conditions": [eq], "conditoins": [eq]}),
            json!({"type": "and", "conditions": many}),
            json!({"type": "or", "conditions": [eq]}),
            json!({"type": "eq", "column": "id"}),
            json!({"type": "eq", "column": "id", "valeu": "a"}),
            json!({"type": "eq", "column": "id", "value": "a", "or": 1}),
            json!({"type": "eq", "value": "a"}),
            json!({"type": "eq", "column": "ip", "value": "a"}),
            json!({"type": "in", "column": "id", "values": "a"}),
            json!({"typ": "eq", "column": "id", "value": "a"}),
            json!({"id": {}}),
            json!({"id": "a"}),
            json!({"id": {"like": "a"}}),
            json!({"id": {"in": vec![1; MAX_VALUES + 1]}}),
        ] {
            assert_eq!(tests(&condition), None, "{condition}");
        }
    }
}
