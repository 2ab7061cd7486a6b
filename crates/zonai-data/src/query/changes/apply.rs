//! The new values of a row, from the old ones. Whole numbers stay exact; what does not fit is an error, never wrapped.

use rusqlite::types::Value as Bound;
use serde_json::{Number, Value};

use super::{Change, Changes};
use crate::DataError;
use crate::schema::{Column, ColumnKind, Table};
use crate::value;

/// The longest list that may be added to, in bytes: each step reads and writes all of it, while other writes wait.
const MAX_LIST: usize = 2 << 20;

impl Changes {
    /// Applies all changes to the values of a row (all columns of the table, in order).
    ///
    /// # Errors
    /// 422 where the value that is there is neither a number nor a list, or the result does not fit.
    pub(crate) fn apply(&self, table: &Table, row: &mut [Bound]) -> Result<(), DataError> {
        for (at, change) in &self.items {
            let column = &table.columns[*at];
            let current = &mut row[*at];
            match change {
                Change::Set(value) => *current = value.clone(),
                Change::Secret(_) => {
                    let cause =
                        "a plain password was not replaced by its hash before the transaction";
                    return Err(DataError::internal("changing a row", &cause));
                }
                Change::Plus(numbers) => {
                    for number in numbers {
                        *current = sum(column, current, number, 1)?;
                    }
                }
                Change::Minus(numbers) => {
                    for number in numbers {
                        *current = sum(column, current, number, -1)?;
                    }
                }
                Change::Append(items) => {
                    let mut list = list(column, current)?;
                    list.extend(items.iter().cloned());
                    let text = Value::Array(list).to_string();
                    if text.len() > MAX_LIST {
                        return Err(DataError::Unprocessable(format!(
                            "The list in `{}` would be longer than {} MiB",
                            column.name,
                            MAX_LIST >> 20
                        )));
                    }
                    *current = Bound::Text(text);
                }
                Change::Remove(items) => {
                    if *current != Bound::Null {
                        let mut list = list(column, current)?;
                        list.retain(|item| !items.iter().any(|gone| same(item, gone)));
                        *current = Bound::Text(Value::Array(list).to_string());
                    }
                }
            }
        }
        Ok(())
    }

    /// The columns that change, each once, in order of their first change.
    pub(crate) fn columns(&self) -> Vec<usize> {
        let mut columns = Vec::new();
        for (at, _) in &self.items {
            if !columns.contains(at) {
                columns.push(*at);
            }
        }
        columns
    }
}

/// `current + sign · step`; NULL counts as 0.
fn sum(column: &Column, current: &Bound, step: &Number, sign: i64) -> Result<Bound, DataError> {
    let name = &column.name;
    let too_large =
        || DataError::Unprocessable(format!("`{name}` would leave the range of its type"));
    let current = match current {
        Bound::Null => Bound::Integer(0),
        number @ (Bound::Integer(_) | Bound::Real(_)) => number.clone(),
        Bound::Text(_) | Bound::Blob(_) => {
            return Err(DataError::Unprocessable(format!(
                "`{name}` does not hold a number"
            )));
        }
    };
    let whole_step = value::whole(step);
    if column.kind == ColumnKind::Integer && whole_step.is_none() {
        return Err(DataError::Unprocessable(format!(
            "`{name}` takes a whole number"
        )));
    }
    if let (Bound::Integer(current), Some(step)) = (&current, whole_step)
        && column.kind != ColumnKind::Real
    {
        let result = step
            .checked_mul(sign)
            .and_then(|step| current.checked_add(step));
        return result.map(Bound::Integer).ok_or_else(too_large);
    }
    #[expect(clippy::cast_precision_loss, reason = "a float is asked for")]
    let float = match current {
        Bound::Integer(current) => current as f64,
        Bound::Real(current) => current,
        _ => 0.0,
    };
    #[expect(clippy::cast_precision_loss, reason = "1 or -1")]
    let result = float + step.as_f64().unwrap_or(0.0) * sign as f64;
    if result.is_finite() {
        Ok(Bound::Real(result))
    } else {
        Err(too_large())
    }
}

/// The list in a JSON column; NULL counts as an empty one.
fn list(column: &Column, current: &Bound) -> Result<Vec<Value>, DataError> {
    let parsed = match current {
        Bound::Null => Some(Vec::new()),
        Bound::Text(text) => serde_json::from_str(text).ok(),
        _ => None,
    };
    parsed
        .ok_or_else(|| DataError::Unprocessable(format!("`{}` does not hold a list", column.name)))
}

/// Whether two JSON values are the same; `1` and `1.0` are.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, value)| other.get(key).is_some_and(|other| same(value, other)))
        }
        _ => one == other,
    }
}
