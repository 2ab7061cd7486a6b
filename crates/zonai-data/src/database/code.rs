//! Custom operations that a program performs: code that makes new rows out of rows, in the transaction of the write.
//!
//! Which rows, and whether the rules let them be changed, is decided here. Must never let code write what an operation from
//! a file could not: keys, secrets, computed columns and what the server keeps.

use rusqlite::types::{Value as Bound, ValueRef};
use serde_json::{Map, Value};

use super::transaction::Transaction;
use super::{Database, update, writes};
use crate::operations::{Operation, inputs};
use crate::schema::Table;
use crate::{Caller, DataError, Json, Pass, Payload, value};

/// Rows that a caller may run an operation on, still to be found.
pub struct OperationRows {
    plan: update::Plan,
    /// The values of the request's `updates`, whichever way they were written.
    pub inputs: Map<String, Value>,
    /// `/many`: all rows, and none is no error.
    pub many: bool,
}

impl OperationRows {
    /// Whether the rules have to see the rows; else they have said yes.
    #[must_use]
    pub fn are_ruled(&self) -> bool {
        self.plan.before.is_some() || self.plan.after.is_some()
    }
}

impl Database {
    /// Checks a request for an operation that a program performs.
    ///
    /// # Errors
    /// 400, 403 where the rules say no whatever the row, 404 for the table.
    pub fn operation_rows(
        &self,
        caller: &Caller,
        operation: &str,
        payload: &Payload,
        many: bool,
    ) -> Result<OperationRows, DataError> {
        let plan = self.rows_plan(caller, operation, payload, !many)?;
        Ok(OperationRows {
            plan: update::Plan {
                in_code: true,
                ..plan
            },
            inputs: inputs(payload.get("updates"))?,
            many,
        })
    }

    /// Changes the rows in one transaction: `change` is called for each of them, with its columns as JSON. The changed row;
    /// with [`OperationRows::many`] the rows, all or none.
    ///
    /// `change` runs on the one thread that writes, and holds up whoever waits for it: it must not wait for anything.
    ///
    /// # Errors
    /// What `change` returns; 403, 404 for the row, 409, 422, 500 for a column that it must not set, 503.
    pub async fn change_rows<F>(
        &self,
        pass: &impl Pass,
        rows: OperationRows,
        mut change: F,
    ) -> Result<Json, DataError>
    where
        F: FnMut(&mut Map<String, Value>, &Transaction<'_>) -> Result<(), DataError>
            + Send
            + 'static,
    {
        let (plan, database) = (rows.plan, self.clone());
        let changed = self.inner.engine.write(pass, move |conn| {
            let transaction = Transaction::new(&database, conn);
            let mut make = |_: &_, row: &[Bound]| {
                let before = object(&plan.table, row)?;
                let mut after = before.clone();
                change(&mut after, &transaction)?;
                transaction.holds()?;
                changed(&plan.table, row, &before, &after)
            };
            plan.run_with(conn, Some(&mut make))
        });
        let changed = changed.await?;
        Ok(if rows.many {
            writes::in_brackets(changed)
        } else {
            changed
        })
    }

    /// Runs code in one transaction, all or nothing, on the thread that writes: it must not wait for anything.
    ///
    /// # Errors
    /// What it returns; 503.
    pub async fn transact<T, F>(&self, pass: &impl Pass, work: F) -> Result<T, DataError>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction<'_>) -> Result<T, DataError> + Send + 'static,
    {
        let database = self.clone();
        let work = self.inner.engine.write(pass, move |conn| {
            let transaction = Transaction::new(&database, conn);
            let done = work(&transaction)?;
            transaction.holds().map(|()| done)
        });
        work.await
    }
}

/// The shown columns of a row, as answers show them.
fn object(table: &Table, row: &[Bound]) -> Result<Map<String, Value>, DataError> {
    let mut object = Map::new();
    let mut text = String::new();
    for at in &table.select.shown {
        let column = &table.columns[*at];
        text.clear();
        value::write_column(&mut text, column.kind, ValueRef::from(&row[*at]));
        let value = serde_json::from_str(&text)
            .map_err(|cause| DataError::internal("reading a row for code", &cause))?;
        object.insert(column.name.clone(), value);
    }
    Ok(object)
}

/// The row with what code has changed; what it left out stays as it is.
fn changed(
    table: &Table,
    row: &[Bound],
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Result<Vec<Bound>, DataError> {
    let mut row = row.to_vec();
    for (name, value) in after {
        if before.get(name) == Some(value) {
            continue;
        }
        let at = Operation::settable(table, name)
            .map_err(|fault| DataError::internal("changing a row in code", &fault))?;
        row[at] = value::to_store(&table.columns[at], value)?;
    }
    Ok(row)
}
