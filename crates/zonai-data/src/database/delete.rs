//! The end of rows: find the targets, hold them against the rules, delete.

use std::sync::Arc;

use rusqlite::{Connection, params_from_iter};

use super::target::{Key, key, key_width};
use crate::DataError;
use crate::query::{Condition, Sql};
use crate::rights::RowExpr;
use crate::schema::Table;

/// Rows to delete.
pub(super) struct Plan {
    pub(super) table: Arc<Table>,
    pub(super) rule: Option<RowExpr>,
    pub(super) condition: Condition,
    pub(super) limit: Option<i64>,
    /// No row is an error.
    pub(super) one: bool,
}

impl Plan {
    /// How many rows are gone.
    pub(super) fn run(&self, conn: &Connection) -> Result<u64, DataError> {
        let table = &self.table;
        if self.rule.is_none() && self.limit.is_none() {
            let mut sql = Sql::new("DELETE");
            sql.from(table, RowExpr::ROW).push(" WHERE ").condition(
                table,
                RowExpr::ROW,
                &self.condition,
            );
            let gone = sql.prepare(conn)?.execute(params_from_iter(&sql.values))?;
            return Ok(u64::try_from(gone).unwrap_or(u64::MAX));
        }
        let targets = self.targets(conn)?;
        if targets.is_empty() && self.one {
            return Err(DataError::RecordNotFound {
                table: table.name.clone(),
            });
        }
        let mut sql = Sql::new("DELETE");
        sql.from(table, RowExpr::ROW)
            .push(" WHERE ")
            .identified(table, RowExpr::ROW);
        let mut statement = sql.prepare(conn)?;
        let mut gone = 0;
        for target in &targets {
            // A row may have gone with one before it, by a cascade.
            gone += statement.execute(params_from_iter(target))?;
        }
        Ok(u64::try_from(gone).unwrap_or(u64::MAX))
    }

    fn targets(&self, conn: &Connection) -> Result<Vec<Key>, DataError> {
        let (table, alias) = (&self.table, RowExpr::ROW);
        let mut sql = Sql::new("SELECT ");
        sql.key_columns(table, alias);
        match &self.rule {
            Some(rule) => sql.push(",").rule(rule, true),
            None => sql.push(",1"),
        };
        sql.from(table, alias)
            .push(" WHERE ")
            .condition(table, alias, &self.condition);
        sql.order(table, alias, &[]);
        if let Some(limit) = self.limit {
            sql.push(" LIMIT ").bind(limit.into());
        }
        let mut targets = Vec::new();
        let mut statement = sql.prepare(conn)?;
        let mut rows = statement.query(params_from_iter(&sql.values))?;
        while let Some(row) = rows.next()? {
            if !row.get::<_, bool>(key_width(table))? {
                return Err(DataError::Forbidden);
            }
            targets.push(key(table, row)?);
        }
        Ok(targets)
    }
}
