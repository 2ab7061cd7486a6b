//! Rows as a write would make them, on values alone: so that the rules can say no before a constraint says what is there.
//!
//! Asked only where a write failed, so that one that does not pays nothing. What only the database can tell (a computed
//! column, a number that it has yet to give) is not offered, and a rule that asks for it says no: must never say yes where the
//! written row would have been refused.

use rusqlite::types::Value as Bound;
use rusqlite::{Connection, params_from_iter};

use crate::DataError;
use crate::query::Sql;
use crate::rights::RowExpr;
use crate::schema::{Identity, Table};

/// The values of a row, all columns in order; `None` where only the database can tell.
type Proposed = Vec<Option<Bound>>;

/// Whether an error tells of the data: then it is for those only whom the rules let write the row.
pub(super) fn tells(error: &DataError) -> bool {
    matches!(
        error,
        DataError::Conflict(_) | DataError::Unprocessable(_) | DataError::PreconditionFailed { .. }
    )
}

/// Whether the rule allows a new row with these values; the others have their defaults.
pub(super) fn allows_new(
    conn: &Connection,
    table: &Table,
    rule: &RowExpr,
    given: &[(usize, Bound)],
) -> bool {
    let row = (0..table.columns.len())
        .map(|at| match given.iter().find(|(place, _)| *place == at) {
            Some((_, Bound::Null)) | None if is_numbered(table, at) => None,
            Some((_, value)) => Some(value.clone()),
            None => default(conn, table, at),
        })
        .collect();
    let allowed = stored(conn, table, row)
        .and_then(|row| ask(conn, table, rule, &[(RowExpr::ROW, row.as_slice())]));
    yes(allowed)
}

/// Whether the rule allows a change of a row, over [`RowExpr::OLD`] and [`RowExpr::NEW`].
pub(super) fn allows_change(
    conn: &Connection,
    table: &Table,
    rule: &RowExpr,
    old: &[Bound],
    new: &[Bound],
) -> bool {
    let open = |(at, value): (usize, &Bound)| {
        let computed = table.columns[at].generated;
        (!computed).then(|| value.clone())
    };
    let new = new.iter().enumerate().map(open).collect();
    let old: Vec<_> = old.iter().cloned().map(Some).collect();
    let allowed = stored(conn, table, new).and_then(|new| {
        let rows = [(RowExpr::NEW, new.as_slice()), (RowExpr::OLD, &old)];
        ask(conn, table, rule, &rows)
    });
    yes(allowed)
}

impl Sql {
    /// A row of values that compare as those of the table do. The first SELECT has no rows: it lends the values the affinity
    /// and collation of the columns they came from, which SQLite takes over where it knows the type of the values. The
    /// casts change none of them.
    pub(super) fn lent(&mut self, table: &Table, alias: &str, values: &[Option<Bound>]) {
        let known = || table.columns.iter().zip(values);
        let known = || known().filter_map(|(column, value)| Some((column, value.as_ref()?)));
        for (nth, (column, _)) in known().enumerate() {
            self.push(if nth == 0 { "(SELECT " } else { "," })
                .name(&column.name);
        }
        self.push(" FROM ")
            .name(&table.name)
            .push(" WHERE 0 UNION ALL SELECT ");
        for (nth, (_, value)) in known().enumerate() {
            self.push(if nth == 0 { "" } else { "," });
            let kind = match value {
                Bound::Integer(_) => "INTEGER",
                Bound::Real(_) => "REAL",
                Bound::Text(_) => "TEXT",
                Bound::Blob(_) | Bound::Null => {
                    self.bind(value.clone());
                    continue;
                }
            };
            self.push("CAST(").bind(value.clone());
            self.push(" AS ").push(kind).push(")");
        }
        self.push(") AS ").name(alias);
    }
}

/// Whether SQLite numbers the rows by this column.
fn is_numbered(table: &Table, at: usize) -> bool {
    table.key_column() == Some(at) && table.identity != Identity::PrimaryKey
}

fn default(conn: &Connection, table: &Table, at: usize) -> Option<Bound> {
    let column = &table.columns[at];
    if column.generated {
        return None;
    }
    match &column.default {
        None => Some(Bound::Null),
        // Of the project's own schema. A word without quotes is a text there and nothing here: then the value is not known.
        Some(text) => conn
            .query_row(&format!("SELECT ({text})"), [], |row| row.get(0))
            .ok(),
    }
}

/// The values as the table would keep them: a column of numbers makes a number of `'12'`, and leaves `'a'` alone.
fn stored(conn: &Connection, table: &Table, row: Proposed) -> rusqlite::Result<Proposed> {
    let mut sql = Sql::new("SELECT 1");
    for (column, value) in table.columns.iter().zip(&row) {
        let Some(value) = value else { continue };
        sql.push(",");
        match column.affinity {
            None => sql.bind(value.clone()),
            // Compared with a cast the value is converted as it would be when it is stored, and equal where that is possible.
            Some(kind) => {
                let cast = format!("CAST(\"v\" AS {kind})");
                sql.push("(SELECT CASE WHEN ").push(&cast);
                sql.push(" = \"v\" THEN ").push(&cast);
                sql.push(" ELSE \"v\" END FROM (SELECT ")
                    .bind(value.clone());
                sql.push(" AS \"v\"))")
            }
        };
    }
    let mut statement = conn.prepare(&sql.text)?;
    statement.query_row(params_from_iter(&sql.values), |found| {
        let mut nth = 0;
        let mut next = |value: Option<Bound>| {
            value
                .map(|_| {
                    nth += 1;
                    found.get(nth)
                })
                .transpose()
        };
        row.into_iter().map(&mut next).collect()
    })
}

fn ask(
    conn: &Connection,
    table: &Table,
    rule: &RowExpr,
    rows: &[(&str, &[Option<Bound>])],
) -> rusqlite::Result<bool> {
    let mut sql = Sql::new("SELECT ");
    sql.rule(rule, true);
    for (nth, (alias, row)) in rows.iter().enumerate() {
        sql.push(if nth == 0 { " FROM " } else { "," });
        sql.lent(table, alias, row);
    }
    // Not kept: callers choose the types of the values, and with them the text.
    let mut statement = conn.prepare(&sql.text)?;
    statement.query_row(params_from_iter(&sql.values), |row| row.get(0))
}

fn yes(allowed: rusqlite::Result<bool>) -> bool {
    allowed.unwrap_or_else(|cause| {
        tracing::debug!(%cause, "a rule cannot be asked about a row that could not be written");
        false
    })
}
