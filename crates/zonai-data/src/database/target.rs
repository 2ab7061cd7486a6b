//! Rows of a write, found again by what tells them apart.

use rusqlite::types::Value as Bound;
use rusqlite::{Connection, Row, params_from_iter};

use super::run;
use crate::DataError;
use crate::query::Sql;
use crate::schema::{Identity, Table};

/// The rowid, or the values of the primary key.
pub(crate) type Key = Vec<Bound>;

impl Sql {
    /// The columns of the key, for a select list.
    pub(crate) fn key_columns(&mut self, table: &Table, alias: &str) -> &mut Self {
        match table.identity {
            Identity::RowId(name) => {
                self.name(alias).push(".").push(name);
            }
            _ => {
                for (nth, at) in table.primary_key.iter().enumerate() {
                    if nth > 0 {
                        self.push(",");
                    }
                    self.column(alias, &table.columns[*at].name);
                }
            }
        }
        self
    }

    /// The condition that only the row with a key meets; the values of the key are to follow.
    pub(crate) fn identified(&mut self, table: &Table, alias: &str) -> &mut Self {
        match table.identity {
            Identity::RowId(name) => {
                self.name(alias).push(".").push(name).push("=?");
            }
            _ => {
                for (nth, at) in table.primary_key.iter().enumerate() {
                    if nth > 0 {
                        self.push(" AND ");
                    }
                    self.column(alias, &table.columns[*at].name).push(" IS ?");
                }
            }
        }
        self
    }
}

/// How many columns the key has.
pub(crate) fn key_width(table: &Table) -> usize {
    match table.identity {
        Identity::RowId(_) => 1,
        _ => table.primary_key.len(),
    }
}

/// The first columns of a row as its key.
pub(crate) fn key(table: &Table, row: &Row<'_>) -> rusqlite::Result<Key> {
    (0..key_width(table)).map(|nth| row.get(nth)).collect()
}

/// Appends the row as it is now. With `ruled` the column after the shown ones says whether the rules let it be so.
pub(crate) fn shown(
    conn: &Connection,
    select: &Sql,
    key: &Key,
    table: &Table,
    ruled: bool,
    out: &mut String,
) -> Result<(), DataError> {
    let mut statement = select.prepare(conn)?;
    let mut rows = statement.query(params_from_iter(select.values.iter().chain(key)))?;
    // A trigger of the project may have taken the row away again.
    let row = rows.next()?.ok_or_else(super::create::not_accepted)?;
    if ruled && !row.get::<_, bool>(table.select.shown.len())? {
        return Err(DataError::Forbidden);
    }
    run::row(out, table, row)?;
    run::fits(out)
}
