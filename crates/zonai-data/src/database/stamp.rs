//! Timestamps that the server keeps: epoch milliseconds in number columns, ISO 8601 in UTC in all others.

use jiff::Timestamp;
use rusqlite::types::Value as Bound;

use crate::schema::{Column, ColumnKind};

/// `wall_ms`, in the form of the column.
pub(super) fn at(column: &Column, wall_ms: i64) -> Bound {
    match column.kind {
        ColumnKind::Integer | ColumnKind::Real => Bound::Integer(wall_ms),
        _ => Bound::Text(iso(wall_ms)),
    }
}

fn iso(wall_ms: i64) -> String {
    let time = Timestamp::from_millisecond(wall_ms).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_milliseconds_and_sorts_as_time_does() {
        assert_eq!(iso(1_788_307_242_007), "2026-09-02T00:00:42.007Z");
        assert_eq!(iso(0), "1970-01-01T00:00:00.000Z");
    }
}
