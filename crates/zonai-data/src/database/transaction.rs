//! The tables inside the transaction of a write, for code of an embedding program.
//!
//! Each operation that fails leaves no trace of its own. Must never be kept beyond the transaction, nor wait for anything.

use rusqlite::Connection;
use serde_json::Value;

use super::plan::{self, ReadKind, Unseen};
use super::writes::in_brackets;
use super::{Database, create, run, update};
use crate::query::changes::Change;
use crate::{Caller, DataError, Json, Payload};

/// The tables inside a transaction: with the rights of an admin, and without hooks. Payloads are those of the routes.
pub struct Transaction<'c> {
    database: &'c Database,
    conn: &'c Connection,
}

/// Whose rights they are.
const CALLER: Caller = Caller::Admin(None);

macro_rules! operation {
    ($(#[$doc:meta])* $name:ident = $plan:ident($($argument:expr),*)) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// As the route.
        pub fn $name(&self, payload: Value) -> Result<Value, DataError> {
            self.$plan(payload, $($argument),*).map(|json| json.to_value())
        }
    };
}

impl<'c> Transaction<'c> {
    pub(super) fn new(database: &'c Database, conn: &'c Connection) -> Self {
        Self { database, conn }
    }

    operation!(
        /// `GET /db`, `{table, where, expand?}`: the row.
        get = read(ReadKind::Get)
    );
    operation!(
        /// `GET /db/list`: `{items, total}`.
        list = read(ReadKind::List)
    );
    operation!(
        /// `GET /db/count`: how many.
        count = read(ReadKind::Count)
    );
    operation!(
        /// `POST /db`, `{table, object}`: the new row. Passwords cannot be written here.
        create = insert(false)
    );
    operation!(
        /// `POST /db/many`, `{table, objects}`: the new rows.
        create_many = insert(true)
    );
    operation!(
        /// `PATCH /db`, `{table, where, updates, expect?}`: the changed row. Passwords cannot be written here.
        update = change(true)
    );
    operation!(
        /// `PATCH /db/many`, `{table, where, updates, expect?, limit?}`: the changed rows.
        update_many = change(false)
    );

    /// `DELETE /db`, `{table, where}`.
    ///
    /// # Errors
    /// As the route.
    pub fn delete(&self, payload: Value) -> Result<(), DataError> {
        self.remove(payload, true).map(|_one| ())
    }

    /// `DELETE /db/many`, `{table, where, limit?}`: how many rows are gone.
    ///
    /// # Errors
    /// As the route.
    pub fn delete_many(&self, payload: Value) -> Result<u64, DataError> {
        self.remove(payload, false)
    }

    /// Whether the transaction is still there: a trigger with `RAISE(ROLLBACK, …)` ends it for all who are in it.
    pub(super) fn holds(&self) -> Result<(), DataError> {
        if self.conn.is_autocommit() {
            return Err(DataError::BusyWriting);
        }
        Ok(())
    }

    fn read(&self, payload: Value, kind: ReadKind) -> Result<Json, DataError> {
        let (inner, payload) = (&self.database.inner, Payload::from_value(payload)?);
        let plan = plan::read(inner, &CALLER, &payload, kind, Unseen::Fail)?;
        run::read(&plan, self.conn)
    }

    fn insert(&self, payload: Value, many: bool) -> Result<Json, DataError> {
        let payload = Payload::from_value(payload)?;
        let plan = self.database.create_plan(&CALLER, &payload, many)?;
        let rows = self.whole(|conn| plan.run(conn))?;
        Ok(if many { in_brackets(rows) } else { rows })
    }

    fn change(&self, payload: Value, one: bool) -> Result<Json, DataError> {
        let payload = Payload::from_value(payload)?;
        let plan: update::Plan = self.database.change_plan(&CALLER, &payload, one)?;
        let secret = |(_, change): &&(usize, Change)| matches!(change, Change::Secret(_));
        if let Some((at, _)) = plan.changes.items.iter().find(secret) {
            return Err(create::secret(&plan.table, *at));
        }
        let rows = self.whole(|conn| plan.run(conn))?;
        Ok(if one { rows } else { in_brackets(rows) })
    }

    fn remove(&self, payload: Value, one: bool) -> Result<u64, DataError> {
        let payload = Payload::from_value(payload)?;
        let plan = self.database.delete_plan(&CALLER, &payload, one)?;
        self.whole(|conn| plan.run(conn))
    }

    /// All or nothing, so that code may go on after an error.
    fn whole<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, DataError>,
    ) -> Result<T, DataError> {
        self.holds()?;
        let execute = |sql| self.conn.prepare_cached(sql)?.execute([]).map(|_| ());
        execute("SAVEPOINT operation")?;
        let done = work(self.conn);
        self.holds()?;
        if done.is_err() {
            execute("ROLLBACK TO operation")?;
        }
        execute("RELEASE operation")?;
        done
    }
}
