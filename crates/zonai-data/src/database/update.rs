//! Changes of rows: find the targets, hold them against the rules and `expect`, write, and look at the result.

use std::sync::Arc;

use rusqlite::types::Value as Bound;
use rusqlite::{Connection, params_from_iter};

use super::create::not_accepted;
use super::foreign;
use super::target::{Key, key, key_width, shown};
use crate::query::changes::Changes;
use crate::query::{Condition, Sql};
use crate::rights::RowExpr;
use crate::schema::Table;
use crate::{DataError, Json, value};

/// Rows to change.
pub(super) struct Plan {
    pub(super) table: Arc<Table>,
    pub(super) before: Option<RowExpr>,
    pub(super) after: Option<RowExpr>,
    pub(super) condition: Condition,
    pub(super) expect: Option<Condition>,
    pub(super) changes: Changes,
    /// Of a custom operation: which rows, over [`RowExpr::OLD`].
    pub(super) narrow: Option<RowExpr>,
    /// Of a custom operation: new values of columns, from the row as it was.
    pub(super) computed: Vec<(usize, RowExpr)>,
    /// `updatedAt`, where the table has it.
    pub(super) stamp: Option<(usize, Bound)>,
    pub(super) limit: Option<i64>,
    /// No row is an error.
    pub(super) one: bool,
}

/// A row before its change.
struct Target {
    key: Key,
    row: Vec<Bound>,
    /// The new values of a custom operation.
    computed: Vec<Bound>,
}

impl Plan {
    /// The changed rows as a JSON list without its brackets.
    pub(super) fn run(&self, conn: &Connection) -> Result<Json, DataError> {
        let targets = self.targets(conn)?;
        if targets.is_empty() && self.one {
            return Err(DataError::RecordNotFound {
                table: self.table.name.clone(),
            });
        }
        let mut written = self.changes.columns();
        written.extend(self.computed.iter().map(|(at, _)| *at));
        written.extend(self.stamp.iter().map(|(at, _)| *at));
        if !written.is_empty() {
            let update = self.update(&written);
            for target in &targets {
                self.write(conn, &update, &written, target)?;
            }
        }
        let mut out = String::with_capacity(256 * targets.len());
        let mut select = self.read_back(&[]);
        for target in &targets {
            if !out.is_empty() {
                out.push(',');
            }
            let mut values = target.key.clone();
            if self.after.is_some() {
                select = self.read_back(&target.row);
                values = target.row.iter().chain(&target.key).cloned().collect();
            }
            shown(
                conn,
                &select,
                &values,
                &self.table,
                self.after.is_some(),
                &mut out,
            )?;
        }
        Ok(Json(out))
    }

    fn targets(&self, conn: &Connection) -> Result<Vec<Target>, DataError> {
        let table = &self.table;
        let (alias, width, columns) = (RowExpr::OLD, key_width(table), table.columns.len());
        let mut sql = Sql::new("SELECT ");
        sql.key_columns(table, alias);
        for column in &table.columns {
            sql.push(",").column(alias, &column.name);
        }
        match &self.before {
            Some(rule) => sql.push(",").rule(rule, true),
            None => sql.push(",1"),
        };
        match &self.expect {
            Some(expect) => sql
                .push(",((")
                .condition(table, alias, expect)
                .push(") IS TRUE)"),
            None => sql.push(",1"),
        };
        for (_, value) in &self.computed {
            sql.push(",").expression(value);
        }
        sql.from(table, alias)
            .push(" WHERE ")
            .condition(table, alias, &self.condition);
        if let Some(narrow) = &self.narrow {
            sql.push(" AND ").expression(narrow);
        }
        sql.order(table, alias, &[]);
        if let Some(limit) = self.limit {
            sql.push(" LIMIT ").bind(limit.into());
        }
        let mut targets = Vec::new();
        let mut unexpected = 0;
        let mut statement = sql.prepare(conn)?;
        let mut rows = statement.query(params_from_iter(&sql.values))?;
        while let Some(row) = rows.next()? {
            if !row.get::<_, bool>(width + columns)? {
                return Err(DataError::Forbidden);
            }
            if !row.get::<_, bool>(width + columns + 1)? {
                unexpected += 1;
            }
            targets.push(Target {
                key: key(table, row)?,
                row: (width..width + columns)
                    .map(|at| row.get(at))
                    .collect::<Result<_, _>>()?,
                computed: (0..self.computed.len())
                    .map(|nth| row.get(width + columns + 2 + nth))
                    .collect::<Result<_, _>>()?,
            });
        }
        if unexpected > 0 {
            return Err(self.unexpected(unexpected, targets.len()));
        }
        Ok(targets)
    }

    fn unexpected(&self, unexpected: usize, targets: usize) -> DataError {
        DataError::PreconditionFailed {
            message: format!(
                "A record does not meet `expect` (table: {})",
                self.table.name
            ),
            details: serde_json::json!({
                "table": self.table.name,
                "targets": targets,
                "unexpected": unexpected,
            }),
        }
    }

    fn update(&self, written: &[usize]) -> Sql {
        let mut sql = Sql::new("UPDATE ");
        sql.name(&self.table.name).push(" AS ").name(RowExpr::NEW);
        for (nth, at) in written.iter().enumerate() {
            sql.push(if nth == 0 { " SET " } else { "," });
            sql.name(&self.table.columns[*at].name).push("=?");
        }
        sql.push(" WHERE ").identified(&self.table, RowExpr::NEW);
        sql
    }

    fn write(
        &self,
        conn: &Connection,
        update: &Sql,
        written: &[usize],
        target: &Target,
    ) -> Result<(), DataError> {
        let (table, mut row) = (&self.table, target.row.clone());
        self.changes.apply(table, &mut row)?;
        for ((at, _), value) in self.computed.iter().zip(&target.computed) {
            row[*at] = value::fitting(&table.columns[*at], value)?;
        }
        if let Some((at, now)) = &self.stamp {
            row[*at] = now.clone();
        }
        let values = written.iter().map(|at| &row[*at]).chain(&target.key);
        let changed = update
            .prepare(conn)
            .and_then(|mut statement| statement.execute(params_from_iter(values)))
            .map_err(|error| {
                let new = written.iter().map(|at| (*at, &row[*at]));
                foreign::explain(error, conn, &self.table, new)
            })?;
        if changed == 0 {
            return Err(not_accepted());
        }
        Ok(())
    }

    /// Selects a row as it is now; with a rule on the result beside the row as it was, whose values go before the key.
    /// Without a rule it is the same for every row.
    fn read_back(&self, before: &[Bound]) -> Sql {
        let table = &self.table;
        let mut sql = Sql::new("SELECT ");
        for (nth, at) in table.select.shown.iter().enumerate() {
            sql.push(if nth == 0 { "" } else { "," })
                .column(RowExpr::NEW, &table.columns[*at].name);
        }
        if let Some(rule) = &self.after {
            sql.push(",").rule(rule, true);
        }
        sql.from(table, RowExpr::NEW);
        if self.after.is_some() {
            // The first SELECT has no rows: it lends the values the affinity and collation of the columns they came from,
            // which SQLite takes over where it knows the type of the values. The casts change none of them.
            for (nth, column) in table.columns.iter().enumerate() {
                sql.push(if nth == 0 { ",(SELECT " } else { "," })
                    .name(&column.name);
            }
            sql.push(" FROM ")
                .name(&table.name)
                .push(" WHERE 0 UNION ALL SELECT ");
            for (nth, value) in before.iter().enumerate() {
                sql.push(if nth == 0 { "" } else { "," }).push(match value {
                    Bound::Integer(_) => "CAST(? AS INTEGER)",
                    Bound::Real(_) => "CAST(? AS REAL)",
                    Bound::Text(_) => "CAST(? AS TEXT)",
                    Bound::Blob(_) | Bound::Null => "?",
                });
            }
            sql.push(") AS ").name(RowExpr::OLD);
        }
        sql.push(" WHERE ").identified(table, RowExpr::NEW);
        sql
    }
}
