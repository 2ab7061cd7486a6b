//! Runs a read and renders its rows, straight from SQLite into the text of the response.

use std::collections::HashMap;

use rusqlite::types::{Value as Bound, ValueRef};
use rusqlite::{Connection, Row, params_from_iter};

use super::plan::{ReadPlan, Shape, Unseen};
use crate::query::Sql;
use crate::query::expand::Expand;
use crate::schema::Table;
use crate::{DataError, Json, value};

/// The longest answer, in bytes: some hundred rows of many kilobytes each. What is asked for must not fill the memory of all.
const MAX_ANSWER: usize = 32 << 20;

/// That what was rendered so far can be answered.
///
/// # Errors
/// 400 where it is too long.
pub(super) fn fits(out: &str) -> Result<(), DataError> {
    if out.len() <= MAX_ANSWER {
        return Ok(());
    }
    let text = format!(
        "The answer would be longer than {} MiB; ask for fewer rows",
        MAX_ANSWER >> 20
    );
    Err(DataError::BadRequest(text))
}

/// Runs a plan on a connection.
pub(super) fn read(plan: &ReadPlan, conn: &Connection) -> Result<Json, DataError> {
    match &plan.shape {
        Shape::Get { select, ruled } => get(plan, conn, select, *ruled),
        Shape::Count { refused, total } => {
            refuse(conn, refused.as_ref())?;
            Ok(Json(integer(conn, total)?.to_string()))
        }
        Shape::List { refused, .. } => {
            refuse(conn, refused.as_ref())?;
            list(plan, conn)
        }
    }
}

fn get(plan: &ReadPlan, conn: &Connection, select: &Sql, ruled: bool) -> Result<Json, DataError> {
    let mut statement = select.prepare(conn)?;
    let mut rows = statement.query(params_from_iter(&select.values))?;
    let Some(row) = rows.next()? else {
        return Err(DataError::RecordNotFound {
            table: plan.table.name.clone(),
        });
    };
    if ruled && !row.get::<_, bool>(plan.table.select.shown.len())? {
        return Err(DataError::Forbidden);
    }
    let mut out = String::with_capacity(256);
    Related::new(conn, plan.unseen).row(&mut out, &plan.table, row, &plan.expand)?;
    Ok(Json(out))
}

fn list(plan: &ReadPlan, conn: &Connection) -> Result<Json, DataError> {
    let Shape::List {
        items,
        total,
        limit,
        offset,
        groups,
        ..
    } = &plan.shape
    else {
        return Err(DataError::internal(
            "listing rows",
            &"the plan is of no list",
        ));
    };
    let mut out = String::with_capacity(4_096);
    out.push_str("{\"items\":[");
    let mut found = 0;
    {
        let mut related = Related::new(conn, plan.unseen);
        let mut statement = items.prepare(conn)?;
        let mut rows = statement.query(params_from_iter(&items.values))?;
        while let Some(row) = rows.next()? {
            if found > 0 {
                out.push(',');
            }
            if groups.is_empty() {
                related.row(&mut out, &plan.table, row, &plan.expand)?;
                fits(&out)?;
            } else {
                group(&mut out, &plan.table, row, groups)?;
            }
            found += 1;
        }
    }
    // A first page that is not full has shown all there is.
    let total = if *offset == 0 && found < *limit {
        found
    } else {
        integer(conn, total)?
    };
    out.push_str("],\"total\":");
    out.push_str(&total.to_string());
    out.push('}');
    Ok(Json(out))
}

fn group(
    out: &mut String,
    table: &Table,
    row: &Row<'_>,
    groups: &[usize],
) -> Result<(), DataError> {
    for (nth, at) in groups.iter().enumerate() {
        let column = &table.columns[*at];
        out.push(if nth == 0 { '{' } else { ',' });
        value::write_text(out, &column.name);
        out.push(':');
        value::write_column(out, column.kind, row.get_ref(nth)?);
    }
    out.push_str(",\"count\":");
    value::write_column(out, crate::ColumnKind::Integer, row.get_ref(groups.len())?);
    out.push('}');
    Ok(())
}

fn refuse(conn: &Connection, refused: Option<&Sql>) -> Result<(), DataError> {
    let Some(sql) = refused else { return Ok(()) };
    if sql.prepare(conn)?.exists(params_from_iter(&sql.values))? {
        return Err(DataError::Forbidden);
    }
    Ok(())
}

fn integer(conn: &Connection, sql: &Sql) -> Result<i64, DataError> {
    let mut statement = sql.prepare(conn)?;
    Ok(statement.query_row(params_from_iter(&sql.values), |row| row.get(0))?)
}

/// Appends a row without related ones.
pub(crate) fn row(out: &mut String, table: &Table, row: &Row<'_>) -> Result<(), DataError> {
    columns(out, table, row)?;
    out.push('}');
    Ok(())
}

/// Appends the shown columns, without the closing brace.
fn columns(out: &mut String, table: &Table, row: &Row<'_>) -> Result<(), DataError> {
    out.push('{');
    for (nth, (at, key)) in table
        .select
        .shown
        .iter()
        .zip(&table.select.keys)
        .enumerate()
    {
        out.push_str(key);
        value::write_column(out, table.columns[*at].kind, row.get_ref(nth)?);
    }
    Ok(())
}

/// Looks up related rows; each once in a response, however many rows point to it.
struct Related<'c> {
    conn: &'c Connection,
    unseen: Unseen,
    known: HashMap<(usize, Key), String>,
}

/// A foreign key's value.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Key {
    Integer(i64),
    Text(Vec<u8>),
    /// Not remembered.
    Other,
}

impl<'c> Related<'c> {
    fn new(conn: &'c Connection, unseen: Unseen) -> Self {
        Self {
            conn,
            unseen,
            known: HashMap::new(),
        }
    }

    /// Appends a row, and under `expanded` its related rows.
    fn row(
        &mut self,
        out: &mut String,
        table: &Table,
        row: &Row<'_>,
        steps: &[Expand],
    ) -> Result<(), DataError> {
        columns(out, table, row)?;
        for (nth, step) in steps.iter().enumerate() {
            out.push_str(if nth > 0 {
                ","
            } else if table.select.shown.is_empty() {
                "\"expanded\":{"
            } else {
                ",\"expanded\":{"
            });
            value::write_text(out, &step.key);
            out.push(':');
            self.step(out, row.get_ref(step.at)?, step)?;
        }
        out.push_str(if steps.is_empty() { "}" } else { "}}" });
        Ok(())
    }

    fn step(
        &mut self,
        out: &mut String,
        value: ValueRef<'_>,
        step: &Expand,
    ) -> Result<(), DataError> {
        let key = match value {
            ValueRef::Null => {
                out.push_str("null");
                return Ok(());
            }
            ValueRef::Integer(number) => Key::Integer(number),
            ValueRef::Text(text) => Key::Text(text.to_vec()),
            ValueRef::Real(_) | ValueRef::Blob(_) => Key::Other,
        };
        let key = (step.id, key);
        if let Some(known) = self.known.get(&key) {
            out.push_str(known);
            return Ok(());
        }
        let start = out.len();
        self.look_up(out, value, step)?;
        if key.1 != Key::Other {
            self.known.insert(key, out[start..].to_owned());
        }
        Ok(())
    }

    fn look_up(
        &mut self,
        out: &mut String,
        value: ValueRef<'_>,
        step: &Expand,
    ) -> Result<(), DataError> {
        let Some(select) = &step.select else {
            return self.unseen(out);
        };
        let value = Bound::try_from(value)
            .map_err(|cause| DataError::internal("reading a foreign key", &cause))?;
        let mut statement = select.prepare(self.conn)?;
        let mut rows = statement.query(params_from_iter(select.values.iter().chain([&value])))?;
        let Some(row) = rows.next()? else {
            out.push_str("null");
            return Ok(());
        };
        if step.ruled && !row.get::<_, bool>(step.table.select.shown.len())? {
            return self.unseen(out);
        }
        self.row(out, &step.table, row, &step.inner)
    }

    fn unseen(&self, out: &mut String) -> Result<(), DataError> {
        match self.unseen {
            Unseen::Fail => Err(DataError::Forbidden),
            Unseen::LeaveOut => {
                out.push_str("null");
                Ok(())
            }
        }
    }
}
