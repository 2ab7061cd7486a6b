//! Values between JSON and the columns of an auth table.
//!
//! Must never hand out a password column, and never take a value for a column that the server keeps.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::Row;
use rusqlite::types::{Value as Cell, ValueRef};
use serde_json::{Map, Value};
use zonai_data::{Column, ColumnKind};

use super::accounts::AuthTable;
use crate::AuthError;

/// The row as callers may see it.
pub(super) fn to_json(table: &AuthTable, row: &Row<'_>) -> rusqlite::Result<Map<String, Value>> {
    let mut object = Map::new();
    for (at, column) in table.table.columns.iter().enumerate() {
        if !is_secret(column) {
            object.insert(
                column.name.clone(),
                cell_to_json(row.get_ref(at)?, column.kind),
            );
        }
    }
    Ok(object)
}

/// The cells of the `object` of a sign-up.
///
/// # Errors
/// 400 for a column that there is not, or that the caller must not set.
pub(super) fn from_object(
    table: &AuthTable,
    object: &Map<String, Value>,
) -> Result<Vec<(String, Cell)>, AuthError> {
    let cell = |(name, value): (&String, &Value)| {
        let at = table
            .table
            .place(name)
            .filter(|at| !is_secret(&table.table.columns[*at]));
        let Some(at) = at else {
            let text = format!("`object.{name}`: no such column in table {}", table.name);
            return Err(AuthError::BadRequest(text));
        };
        let column = &table.table.columns[at];
        if column.generated || table.is_kept_by_server(at) {
            return Err(AuthError::bad(format!(
                "`object.{name}` is set by the server"
            )));
        }
        let cell = cell_from_json(value, column.kind).ok_or_else(|| {
            AuthError::BadRequest(format!(
                "`object.{name}` must be {}",
                column.kind.describe()
            ))
        })?;
        Ok((name.clone(), cell))
    };
    object.iter().map(cell).collect()
}

fn is_secret(column: &Column) -> bool {
    column.secret || column.name.eq_ignore_ascii_case("password")
}

fn cell_to_json(cell: ValueRef<'_>, kind: ColumnKind) -> Value {
    match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) if kind == ColumnKind::Boolean => Value::Bool(number != 0),
        ValueRef::Integer(number) => Value::from(number),
        ValueRef::Real(number) => Value::from(number),
        ValueRef::Text(text) => {
            let text = String::from_utf8_lossy(text);
            match (kind == ColumnKind::Json).then(|| serde_json::from_str(&text)) {
                Some(Ok(value)) => value,
                _ => Value::String(text.into_owned()),
            }
        }
        ValueRef::Blob(bytes) => Value::String(STANDARD.encode(bytes)),
    }
}

/// `None`: the value is of another kind than the column.
fn cell_from_json(value: &Value, kind: ColumnKind) -> Option<Cell> {
    use ColumnKind as Kind;
    Some(match (kind, value) {
        (_, Value::Null) => Cell::Null,
        (Kind::Json, value) => Cell::Text(value.to_string()),
        (Kind::Boolean, Value::Bool(value)) => Cell::Integer(i64::from(*value)),
        (Kind::Integer, Value::Number(number)) => Cell::Integer(number.as_i64()?),
        (Kind::Real, Value::Number(number)) => Cell::Real(number.as_f64()?),
        (Kind::Blob, Value::String(text)) => Cell::Blob(STANDARD.decode(text).ok()?),
        (Kind::Text | Kind::Date | Kind::Any, Value::String(text)) => Cell::Text(text.clone()),
        (Kind::Date | Kind::Any, Value::Number(number)) => match number.as_i64() {
            Some(integer) => Cell::Integer(integer),
            None => Cell::Real(number.as_f64()?),
        },
        _ => return None,
    })
}

/// A moment as the column keeps it: milliseconds since 1970 in a number, else RFC 3339 in UTC.
pub(super) fn time(kind: ColumnKind, ms: i64) -> Cell {
    match kind {
        ColumnKind::Integer | ColumnKind::Real => Cell::Integer(ms),
        _ => Cell::Text(rfc3339(ms)),
    }
}

/// Days to a date after Howard Hinnant's `civil_from_days`.
fn rfc3339(ms: i64) -> String {
    let (days, rest) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    let z = days + 719_468;
    let (era, doe) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let yoe = (doe - doe / 1_460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let (day, month) = (
        doy - (153 * mp + 2) / 5 + 1,
        if mp < 10 { mp + 3 } else { mp - 9 },
    );
    let year = yoe + era * 400 + i64::from(month <= 2);
    let (h, m, s) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1_000 % 60);
    format!(
        "{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}.{:03}Z",
        rest % 1_000
    )
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "tests"
    )]
    use super::*;

    #[test]
    fn times_are_written_as_the_data_layer_writes_them() {
        assert_eq!(rfc3339(1_788_307_242_007), "2026-09-02T00:00:42.007Z");
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(951_782_399_999), "2000-02-28T23:59:59.999Z");
        assert_eq!(rfc3339(951_782_400_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(time(ColumnKind::Integer, 7), Cell::Integer(7));
    }
}
