//! From JSON into SQLite: strictly for what is stored, leniently for what is only compared.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::types::Value as Bound;
use serde_json::{Number, Value};

use crate::DataError;
use crate::payload::describe;
use crate::schema::{Column, ColumnKind};

/// A value for a column that is written.
///
/// # Errors
/// 422 that names the column and what it takes.
pub(crate) fn to_store(column: &Column, value: &Value) -> Result<Bound, DataError> {
    let wrong = || {
        DataError::Unprocessable(format!(
            "`{}` takes {}, not {}",
            column.name,
            column.kind.describe(),
            found(value),
        ))
    };
    if let (true, Value::String(text)) = (column.address, value) {
        return Ok(Bound::Text(address(text)));
    }
    let stored = match (column.kind, value) {
        (_, Value::Null) => Some(Bound::Null),
        (ColumnKind::Boolean, Value::Bool(value)) => Some(Bound::Integer((*value).into())),
        (ColumnKind::Boolean, Value::Number(number)) => number
            .as_i64()
            .filter(|number| (0..=1).contains(number))
            .map(Bound::Integer),
        (ColumnKind::Json, value) => Some(Bound::Text(value.to_string())),
        (ColumnKind::Integer, Value::Number(number)) => whole(number).map(Bound::Integer),
        (ColumnKind::Real, Value::Number(number)) => number.as_f64().map(Bound::Real),
        (ColumnKind::Text | ColumnKind::Date | ColumnKind::Any, Value::String(text)) => {
            Some(Bound::Text(text.clone()))
        }
        (ColumnKind::Blob, Value::String(text)) => STANDARD.decode(text).ok().map(Bound::Blob),
        (ColumnKind::Date | ColumnKind::Any, Value::Number(number)) => Some(plain_number(number)),
        (ColumnKind::Any, Value::Bool(value)) => Some(Bound::Integer((*value).into())),
        _ => None,
    };
    stored.ok_or_else(wrong)
}

/// A value that a column is compared with.
///
/// # Errors
/// The reason why the two can never be compared.
pub(crate) fn to_compare(column: &Column, value: &Value) -> Result<Bound, String> {
    match (column.kind, value) {
        (_, Value::Null) => Ok(Bound::Null),
        (ColumnKind::Blob, Value::String(text)) => STANDARD
            .decode(text)
            .map(Bound::Blob)
            .map_err(|_| format!("`{}` holds {}", column.name, column.kind.describe())),
        (ColumnKind::Text, Value::Bool(_)) => Err(format!(
            "`{}` holds {}, not true or false",
            column.name,
            column.kind.describe()
        )),
        (_, Value::Bool(value)) => Ok(Bound::Integer((*value).into())),
        (_, Value::Number(number)) => Ok(plain_number(number)),
        (_, Value::String(text)) if column.address => Ok(Bound::Text(address(text))),
        (_, Value::String(text)) => Ok(Bound::Text(text.clone())),
        (ColumnKind::Json, list) => Ok(Bound::Text(list.to_string())),
        (_, other) => Err(format!(
            "expected a text, a number or true or false, found {}",
            describe(other)
        )),
    }
}

/// A number as SQLite's integer where it fits, else as a float.
fn plain_number(number: &Number) -> Bound {
    match (number.as_i64(), number.as_f64()) {
        (Some(whole), _) => Bound::Integer(whole),
        (None, Some(float)) => Bound::Real(float),
        (None, None) => Bound::Null,
    }
}

/// A whole number of 64 bits; `2.0` is one, `2.5` and 2⁶³ are not.
pub(crate) fn whole(number: &Number) -> Option<i64> {
    if let Some(whole) = number.as_i64() {
        return Some(whole);
    }
    // A float beyond 2^53 may stand for a neighbour of what was meant.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let float = number.as_f64().filter(|_| !number.is_u64())?;
    #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
    (float.fract() == 0.0 && float.abs() <= EXACT).then_some(float as i64)
}

/// An e-mail address as accounts are found by it.
pub(super) fn address(text: &str) -> String {
    text.trim().to_ascii_lowercase()
}

/// What a value is, more exactly where the kind alone does not tell what is wrong.
fn found(value: &Value) -> &'static str {
    match value {
        Value::Number(number)
            if whole(number).is_none()
                && number.as_f64().is_some_and(|float| float.fract() == 0.0) =>
        {
            "one beyond 64 bits"
        }
        Value::Number(number) if number.is_f64() => "a fraction",
        Value::String(_) => "a text like this",
        other => describe(other),
    }
}
