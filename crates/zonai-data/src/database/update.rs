//! Changes of rows: find the targets, hold them against the rules and `expect`, write, and look at the result.

use std::sync::Arc;

use rusqlite::types::Value as Bound;
use rusqlite::{Connection, params_from_iter};

use super::create::not_accepted;
use super::target::{Key, key, key_width, shown};
use super::{foreign, proposed};
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
    /// Code makes the new values.
    pub(super) in_code: bool,
}

/// What code makes of a row.
pub(super) type Make<'m> =
    &'m mut dyn FnMut(&Connection, &[Bound]) -> Result<Vec<Bound>, DataError>;

/// A row before its change.
struct Target {
    key: Key,
    row: Vec<Bound>,
    /// The new values of a custom operation.
    computed: Vec<Bound>,
    /// The row after its change, as far as it can be told before it is written.
    new: Option<Vec<Bound>>,
}

impl Plan {
    /// The changed rows as a JSON list without its brackets.
    pub(super) fn run(&self, conn: &Connection) -> Result<Json, DataError> {
        self.run_with(conn, None)
    }

    /// The same, where code makes the new values.
    pub(super) fn run_with(
        &self,
        conn: &Connection,
        make: Option<Make<'_>>,
    ) -> Result<Json, DataError> {
        let (mut targets, unexpected) = self.targets(conn)?;
        if targets.is_empty() && self.one {
            return Err(DataError::RecordNotFound {
                table: self.table.name.clone(),
            });
        }
        let made = self.make(conn, &mut targets, make);
        let done = if unexpected > 0 {
            Err(self.unexpected(unexpected, targets.len()))
        } else {
            made.and_then(|()| self.write(conn, &targets))
        };
        done.and_then(|()| self.shown(conn, &targets))
            .map_err(|error| self.told(conn, &targets, error))
    }

    /// The error, for those whom the rules let do what failed.
    fn told(&self, conn: &Connection, targets: &[Target], error: DataError) -> DataError {
        let Some(rule) = self.after.as_ref().filter(|_| proposed::tells(&error)) else {
            return error;
        };
        let allowed = targets.iter().all(|target| match &target.new {
            Some(new) => proposed::allows_change(conn, &self.table, rule, &target.row, new),
            None => true,
        });
        if allowed { error } else { DataError::Forbidden }
    }

    fn shown(&self, conn: &Connection, targets: &[Target]) -> Result<Json, DataError> {
        let (table, ruled) = (&self.table, self.after.is_some());
        let mut out = String::with_capacity(256 * targets.len());
        let mut select = self.read_back(&[]);
        for target in targets {
            if !out.is_empty() {
                out.push(',');
            }
            if ruled {
                select = self.read_back(&target.row);
            }
            shown(conn, &select, &target.key, table, ruled, &mut out)?;
        }
        Ok(Json(out))
    }

    /// The rows, and how many of them do not meet `expect`.
    fn targets(&self, conn: &Connection) -> Result<(Vec<Target>, usize), DataError> {
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
                new: None,
            });
        }
        Ok((targets, unexpected))
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

    /// Works out the new rows: all of them, also where one fails, for the rules are asked about each. What an error leaves
    /// undone is as it was.
    fn make(
        &self,
        conn: &Connection,
        targets: &mut [Target],
        mut make: Option<Make<'_>>,
    ) -> Result<(), DataError> {
        let mut first = Ok(());
        for target in targets {
            let mut row = match &mut make {
                Some(make) => make(conn, &target.row)?,
                None => target.row.clone(),
            };
            let made = self.apply(target, &mut row);
            if let Some((at, now)) = &self.stamp {
                row[*at] = now.clone();
            }
            target.new = Some(row);
            first = first.and(made);
        }
        first
    }

    fn apply(&self, target: &Target, row: &mut [Bound]) -> Result<(), DataError> {
        self.changes.apply(&self.table, row)?;
        for ((at, _), value) in self.computed.iter().zip(&target.computed) {
            row[*at] = value::fitting(&self.table.columns[*at], value)?;
        }
        Ok(())
    }

    fn write(&self, conn: &Connection, targets: &[Target]) -> Result<(), DataError> {
        let mut named = self.changes.columns();
        named.extend(self.computed.iter().map(|(at, _)| *at));
        named.extend(self.stamp.iter().map(|(at, _)| *at));
        let (mut update, mut written) = (self.update(&named), named.clone());
        for target in targets {
            let Some(new) = &target.new else { continue };
            // What code has changed; a row that it leaves alone is written all the same where there is a timestamp.
            let columns = match self.in_code {
                true => (0..new.len())
                    .filter(|at| new[*at] != target.row[*at] || named.contains(at))
                    .collect(),
                false => named.clone(),
            };
            if columns != written {
                (update, written) = (self.update(&columns), columns);
            }
            if !written.is_empty() {
                self.write_one(conn, &update, &written, target, new)?;
            }
        }
        Ok(())
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

    fn write_one(
        &self,
        conn: &Connection,
        update: &Sql,
        written: &[usize],
        target: &Target,
        new: &[Bound],
    ) -> Result<(), DataError> {
        let values = written.iter().map(|at| &new[*at]).chain(&target.key);
        let changed = update
            .prepare(conn)
            .and_then(|mut statement| statement.execute(params_from_iter(values)))
            .map_err(|error| {
                let new = written.iter().map(|at| (*at, &new[*at]));
                foreign::explain(error, conn, &self.table, new)
            })?;
        if changed == 0 {
            return Err(not_accepted());
        }
        Ok(())
    }

    /// Selects a row as it is now; with a rule on the result beside the row as it was. Without one it is the same for every
    /// row.
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
            let before: Vec<_> = before.iter().cloned().map(Some).collect();
            sql.push(",").lent(table, RowExpr::OLD, &before);
        }
        sql.push(" WHERE ").identified(table, RowExpr::NEW);
        sql
    }
}
