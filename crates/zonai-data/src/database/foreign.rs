//! Which foreign key of a row failed: SQLite does not say.

use rusqlite::Connection;
use rusqlite::types::Value as Bound;

use crate::DataError;
use crate::query::Sql;
use crate::schema::Table;

/// Names the column, where the error is about a foreign key of this row that points to nothing. All other errors as they are.
pub(super) fn explain<'v>(
    error: rusqlite::Error,
    conn: &Connection,
    table: &Table,
    row: impl Iterator<Item = (usize, &'v Bound)>,
) -> DataError {
    let error = DataError::from(error);
    if error != DataError::foreign_key() {
        return error;
    }
    for (at, value) in row {
        for key in table.foreign_keys.iter().filter(|key| key.column == at) {
            if *value == Bound::Null || points(conn, &key.table, &key.references, value) {
                continue;
            }
            let name = &table.columns[at].name;
            return DataError::Unprocessable(format!(
                "Foreign key failed: `{name}` points to a record that does not exist (table: {})",
                key.table
            ));
        }
    }
    error
}

/// Whether the row is there; also when that cannot be told.
fn points(conn: &Connection, table: &str, column: &str, value: &Bound) -> bool {
    let mut sql = Sql::new("SELECT 1 FROM ");
    sql.name(table).push(" WHERE ").name(column).push("=?");
    sql.prepare(conn)
        .and_then(|mut statement| statement.exists([value]))
        .unwrap_or(true)
}
