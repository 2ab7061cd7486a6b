//! New rows: what the caller sends, what the server adds, and the check of the row as it then is.

use std::sync::Arc;

use rusqlite::types::Value as Bound;
use rusqlite::{Connection, params_from_iter};
use serde_json::{Map, Value};

use super::target::{Key, shown};
use super::{Inner, foreign, proposed, stamp};
use crate::payload::describe;
use crate::query::{Place, Sql, unknown};
use crate::rights::RowExpr;
use crate::schema::{Identity, Table};
use crate::{Caller, DataError, Json, ids, value};

/// How many passwords one request may bring.
const MAX_SECRETS: usize = 20;

/// Rows to insert.
pub(super) struct Plan {
    pub(super) table: Arc<Table>,
    pub(super) rule: Option<RowExpr>,
    rows: Vec<Given>,
}

/// The values that an INSERT names, by the place of their column.
type Given = Vec<(usize, Bound)>;

impl Plan {
    /// Takes in the objects; passwords are hashed here, before the write queue.
    pub(super) async fn new(
        inner: &Inner,
        caller: &Caller,
        table: Arc<Table>,
        rule: Option<RowExpr>,
        objects: &[(&Value, Place<'_>)],
    ) -> Result<Self, DataError> {
        let mut plan = Self::parse(inner, caller, table, rule, objects)?;
        plan.check_secrets()?;
        for (row, (_, place)) in plan.rows.iter_mut().zip(objects) {
            for (at, value) in row {
                if plan.table.columns[*at].secret {
                    super::hash(inner, &plan.table.columns[*at], value, place).await?;
                }
            }
        }
        Ok(plan)
    }

    /// Each password costs as much as a sign-in, so that few may come in one request.
    fn check_secrets(&self) -> Result<(), DataError> {
        let named = self.rows.iter().flatten();
        let secrets = named.filter(|(at, _)| self.table.columns[*at].secret);
        if secrets.count() > MAX_SECRETS {
            let place = Place::Root("objects");
            return Err(DataError::at(
                place,
                format_args!("more than {MAX_SECRETS} passwords in one request"),
            ));
        }
        Ok(())
    }

    /// Takes in the objects, with their passwords as they are.
    fn parse(
        inner: &Inner,
        caller: &Caller,
        table: Arc<Table>,
        rule: Option<RowExpr>,
        objects: &[(&Value, Place<'_>)],
    ) -> Result<Self, DataError> {
        let mut rows = Vec::with_capacity(objects.len());
        for (object, place) in objects {
            let Value::Object(members) = object else {
                return Err(DataError::at(
                    place,
                    format_args!("expected an object, found {}", describe(object)),
                ));
            };
            let mut row = columns(&table, members, place)?;
            if !caller.is_admin() {
                row.retain(|(at, _)| table.verified != Some(*at));
            }
            keep(inner, &table, &mut row)?;
            rows.push(row);
        }
        Ok(Self { table, rule, rows })
    }

    /// As [`Plan::new`], where nothing can be waited for.
    ///
    /// # Errors
    /// Also 422 for a password.
    pub(super) fn without_secrets(
        inner: &Inner,
        caller: &Caller,
        table: Arc<Table>,
        rule: Option<RowExpr>,
        objects: &[(&Value, Place<'_>)],
    ) -> Result<Self, DataError> {
        let plan = Self::parse(inner, caller, table, rule, objects)?;
        let mut named = plan.rows.iter().flatten().map(|(at, _)| *at);
        match named.find(|at| plan.table.columns[*at].secret) {
            Some(at) => Err(secret(&plan.table, at)),
            None => Ok(plan),
        }
    }

    /// Inserts all; the rows as a JSON list without its brackets.
    pub(super) fn run(&self, conn: &Connection) -> Result<Json, DataError> {
        let read_back = self.read_back();
        let mut out = String::with_capacity(256 * self.rows.len());
        let (table, ruled) = (&self.table, self.rule.is_some());
        for (nth, row) in self.rows.iter().enumerate() {
            if !out.is_empty() {
                out.push(',');
            }
            self.insert(conn, row)
                .and_then(|key| shown(conn, &read_back, &key, table, ruled, &mut out))
                .map_err(|error| self.told(conn, &self.rows[nth..], error))?;
        }
        Ok(Json(out))
    }

    /// The error, for those whom the rules let write the rows that are still to be written.
    fn told(&self, conn: &Connection, rows: &[Given], error: DataError) -> DataError {
        let Some(rule) = self.rule.as_ref().filter(|_| proposed::tells(&error)) else {
            return error;
        };
        let mut rows = rows.iter();
        if rows.all(|row| proposed::allows_new(conn, &self.table, rule, row)) {
            error
        } else {
            DataError::Forbidden
        }
    }

    fn insert(&self, conn: &Connection, row: &[(usize, Bound)]) -> Result<Key, DataError> {
        let table = &self.table;
        let mut sql = Sql::new("INSERT INTO ");
        sql.name(&table.name);
        if row.is_empty() {
            sql.push(" DEFAULT VALUES");
        } else {
            for (nth, (at, _)) in row.iter().enumerate() {
                sql.push(if nth == 0 { " (" } else { "," })
                    .name(&table.columns[*at].name);
            }
            for (nth, (_, value)) in row.iter().enumerate() {
                sql.push(if nth == 0 { ") VALUES (" } else { "," })
                    .bind(value.clone());
            }
            sql.push(")");
        }
        let inserted = insert_one(conn, table, sql).map_err(|error| {
            foreign::explain(
                error,
                conn,
                table,
                row.iter().map(|(at, value)| (*at, value)),
            )
        })?;
        inserted.ok_or_else(not_accepted)
    }

    fn read_back(&self) -> Sql {
        let mut sql = Sql::new("SELECT ");
        sql.push(&self.table.select.list);
        if let Some(rule) = &self.rule {
            sql.push(",").rule(rule, true);
        }
        sql.from(&self.table, RowExpr::ROW).push(" WHERE ");
        sql.identified(&self.table, RowExpr::ROW);
        sql
    }
}

/// Runs an INSERT; the key of the new row, unless there is none.
fn insert_one(conn: &Connection, table: &Table, mut sql: Sql) -> rusqlite::Result<Option<Key>> {
    if table.identity != Identity::PrimaryKey {
        let inserted = sql.prepare(conn)?.execute(params_from_iter(&sql.values))?;
        return Ok((inserted > 0).then(|| vec![Bound::Integer(conn.last_insert_rowid())]));
    }
    sql.push(" RETURNING ");
    for (nth, at) in table.primary_key.iter().enumerate() {
        sql.push(if nth == 0 { "" } else { "," })
            .name(&table.columns[*at].name);
    }
    let mut statement = sql.prepare(conn)?;
    let mut rows = statement.query(params_from_iter(&sql.values))?;
    let Some(row) = rows.next()? else {
        return Ok(None);
    };
    let key = (0..table.primary_key.len())
        .map(|nth| row.get(nth))
        .collect::<rusqlite::Result<_>>()?;
    while rows.next()?.is_some() {}
    Ok(Some(key))
}

/// A password takes its time to be hashed, and no transaction waits for that.
pub(super) fn secret(table: &Table, at: usize) -> DataError {
    let name = &table.columns[at].name;
    DataError::Unprocessable(format!("`{name}` cannot be written in a transaction"))
}

/// A trigger of the project took the row away without an error of its own.
pub(super) fn not_accepted() -> DataError {
    DataError::Unprocessable("The row was not accepted".to_owned())
}

fn columns(
    table: &Table,
    members: &Map<String, Value>,
    place: &Place<'_>,
) -> Result<Vec<(usize, Bound)>, DataError> {
    let mut row = Vec::with_capacity(members.len() + 3);
    for (name, value) in members {
        let at = table
            .place(name)
            .ok_or_else(|| unknown(table, name, &place.member(name)))?;
        if table.columns[at].generated {
            return Err(DataError::at(
                place.member(name),
                "is computed and cannot be written",
            ));
        }
        // What the server keeps may stand in an object that is sent back, and is not taken over.
        if !table.is_kept(at) {
            row.push((at, value::to_store(&table.columns[at], value)?));
        }
    }
    Ok(row)
}

/// Adds what the server keeps: the id and the timestamps.
fn keep(inner: &Inner, table: &Table, row: &mut Vec<(usize, Bound)>) -> Result<(), DataError> {
    if let Some(at) = table.made_id {
        row.push((at, Bound::Text(ids::new_id(&table.id_suffix)?)));
    }
    let now = inner.clock.wall_ms();
    for at in [table.created, table.updated].into_iter().flatten() {
        row.push((at, stamp::at(&table.columns[at], now)));
    }
    Ok(())
}
