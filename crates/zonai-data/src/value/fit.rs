//! What SQL computed, for a column: held to the same types as what callers send.

use rusqlite::types::Value as Bound;
use serde::de::IgnoredAny;

use super::store::address;
use crate::DataError;
use crate::schema::{Column, ColumnKind};

/// A computed value as it is stored. Whole floats are whole numbers; `NULL` is left to the table's own constraints.
///
/// # Errors
/// 422 that names the column and what it takes.
pub(crate) fn fitting(column: &Column, value: &Bound) -> Result<Bound, DataError> {
    let fits = match (column.kind, value) {
        (_, Bound::Null) => Some(Bound::Null),
        (ColumnKind::Boolean, Bound::Integer(0 | 1))
        | (ColumnKind::Integer, Bound::Integer(_))
        | (ColumnKind::Blob, Bound::Blob(_))
        | (ColumnKind::Date | ColumnKind::Any, Bound::Integer(_) | Bound::Text(_)) => {
            Some(value.clone())
        }
        (ColumnKind::Integer, Bound::Real(float)) => whole(*float).map(Bound::Integer),
        #[expect(clippy::cast_precision_loss, reason = "the column holds floats")]
        (ColumnKind::Real, Bound::Integer(number)) => Some(Bound::Real(*number as f64)),
        (ColumnKind::Real | ColumnKind::Date | ColumnKind::Any, Bound::Real(float)) => {
            float.is_finite().then(|| value.clone())
        }
        (ColumnKind::Text, Bound::Text(text)) if column.address => Some(Bound::Text(address(text))),
        (ColumnKind::Text, Bound::Text(_)) => Some(value.clone()),
        (ColumnKind::Json, Bound::Text(text)) => serde_json::from_str::<IgnoredAny>(text)
            .is_ok()
            .then(|| value.clone()),
        (ColumnKind::Json, Bound::Integer(number)) => Some(Bound::Text(number.to_string())),
        _ => None,
    };
    fits.ok_or_else(|| {
        let found = match value {
            Bound::Integer(_) => "a whole number",
            Bound::Real(_) => "a number",
            Bound::Text(_) => "a text like this",
            Bound::Blob(_) => "bytes",
            Bound::Null => "null",
        };
        let kind = column.kind.describe();
        DataError::Unprocessable(format!("`{}` takes {kind}, not {found}", column.name))
    })
}

/// Beyond 2^53 a float may stand for a neighbour of what was meant.
fn whole(float: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "whole and within 2^53")]
    (float.fract() == 0.0 && float.abs() <= EXACT).then_some(float as i64)
}
