//! SQLite's own spellings of conditions, in one place, so that another database would change this file and no handler.
//!
//! Names are quoted by the engine's half of the dialect and nowhere else; values are bound, never part of the text.

use rusqlite::types::Value as Bound;

pub(crate) use zonai_engine::dialect::push_quoted;

use crate::query::Sql;

/// What a JSON column holds, to be compared: a scalar as itself, a list or object as its compact text.
pub(crate) fn json_scalar(place: &str) -> String {
    format!("(CASE WHEN json_valid({place}) THEN {place} ->> '$' ELSE {place} END)")
}

/// Whether a list in a JSON column has the item, or a text in it contains the text.
pub(crate) fn json_contains(sql: &mut Sql, place: &str, value: Bound) {
    sql.push("CASE WHEN NOT json_valid(")
        .push(place)
        .push(") THEN instr(")
        .push(place)
        .push(",");
    sql.bind(value.clone())
        .push(")>0 WHEN json_type(")
        .push(place);
    sql.push(")='array' THEN EXISTS (SELECT 1 FROM json_each(")
        .push(place);
    sql.push(") AS item WHERE item.value=").bind(value.clone());
    sql.push(") ELSE instr(")
        .push(place)
        .push(" ->> '$',")
        .bind(value)
        .push(")>0 END");
}

/// Whether a text contains another; letter case counts, and no character is a wildcard.
pub(crate) fn contains(sql: &mut Sql, operand: &str, value: Bound) {
    sql.push("instr(")
        .push(operand)
        .push(",")
        .bind(value)
        .push(")>0");
}

/// Whether a text begins with another.
pub(crate) fn starts_with(sql: &mut Sql, operand: &str, value: Bound) {
    let length = characters(&value);
    sql.push("substr(")
        .push(operand)
        .push(",1,")
        .bind(Bound::Integer(length))
        .push(")=")
        .bind(value);
}

/// Whether a text ends with another; the empty text is the end of every text.
pub(crate) fn ends_with(sql: &mut Sql, operand: &str, value: Bound) {
    let length = characters(&value);
    if length == 0 {
        sql.push(operand).push(" IS NOT NULL");
        return;
    }
    sql.push("substr(")
        .push(operand)
        .push(",")
        .bind(Bound::Integer(-length))
        .push(")=")
        .bind(value);
}

fn characters(value: &Bound) -> i64 {
    match value {
        Bound::Text(text) => i64::try_from(text.chars().count()).unwrap_or(i64::MAX),
        _ => 0,
    }
}
