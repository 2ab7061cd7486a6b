//! Custom operations and the rules on accounts: what the project wrote down beside the operations that every table has.

use rusqlite::types::Value as Bound;
use rusqlite::{Connection, params_from_iter};
use serde_json::{Map, Value};

use super::scope::{Rule, Scope};
use super::{Database, proposed, update};
use crate::query::changes::Changes;
use crate::query::{Condition, Place, Sql, page};
use crate::rights::{AccountAction, RowExpr, Verdict};
use crate::schema::Table;
use crate::{Caller, DataError, Json, Pass, Payload, value};

impl Database {
    /// `PATCH /db/custom/:operation`, `{table, where?, updates?}`: the newest row that meets `where` and the operation's own
    /// condition, changed.
    ///
    /// # Errors
    /// 400, 403, 404 for the table, the operation and the row, 409, 422, 503.
    pub async fn custom(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        operation: &str,
        payload: &Payload,
    ) -> Result<Json, DataError> {
        let plan = self.custom_plan(caller, operation, payload, true)?;
        self.inner
            .engine
            .write(pass, move |conn| plan.run(conn))
            .await
    }

    /// `PATCH /db/custom/:operation/many`, `{table, where?, updates?, limit?}`: the changed rows, all or none.
    ///
    /// # Errors
    /// As [`Database::custom`], but no rows are no error.
    pub async fn custom_many(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        operation: &str,
        payload: &Payload,
    ) -> Result<Json, DataError> {
        let plan = self.custom_plan(caller, operation, payload, false)?;
        let rows = self
            .inner
            .engine
            .write(pass, move |conn| plan.run(conn))
            .await?;
        Ok(Json(format!("[{}]", rows.0)))
    }

    fn custom_plan(
        &self,
        caller: &Caller,
        name: &str,
        payload: &Payload,
        one: bool,
    ) -> Result<update::Plan, DataError> {
        let operations = self.inner.operations.load();
        let operation = operations
            .get(payload.table()?, name)
            .filter(|operation| !operation.is_in_code())
            .ok_or(DataError::NotFound)?;
        let plan = self.rows_plan(caller, name, payload, one)?;
        let inputs = operation.inputs(payload.get("updates"))?;
        let bind = operation.bind(caller, &inputs);
        Ok(update::Plan {
            narrow: bind.narrow,
            computed: bind.computed,
            ..plan
        })
    }

    /// The rows that a caller may run an operation on, without what is to become of them.
    pub(super) fn rows_plan(
        &self,
        caller: &Caller,
        name: &str,
        payload: &Payload,
        one: bool,
    ) -> Result<update::Plan, DataError> {
        let scope = Scope::open_custom(&self.inner, caller, payload, name)?;
        payload.only(if one {
            &["table", "where", "updates"]
        } else {
            &["table", "where", "updates", "limit"]
        })?;
        let table = scope.table;
        let (before, after) = match scope.rule {
            None => (None, None),
            Some(Rule::Change { before, after }) => (Some(before), Some(after)),
            Some(Rule::Rows(_)) => return Err(DataError::Forbidden),
        };
        let condition = match payload.get("where") {
            None | Some(Value::Null) => Condition::always(),
            Some(value) => Condition::parse(&table, value, &Place::Root("where"))?,
        };
        Ok(update::Plan {
            before,
            after,
            condition,
            expect: None,
            changes: Changes { items: Vec::new() },
            narrow: None,
            computed: Vec::new(),
            stamp: self.stamp_of(&table),
            limit: if one {
                Some(1)
            } else {
                page::many_limit(payload)?
            },
            one,
            in_code: false,
            table,
        })
    }

    /// Whether a custom operation of that name is registered for a table.
    #[must_use]
    pub fn has_operation(&self, table: &str, name: &str) -> bool {
        self.inner.operations.load().get(table, name).is_some()
    }

    /// What the rules in force say of a custom operation; see [`crate::Rights::custom`].
    #[must_use]
    pub fn custom_verdict(&self, table: &Table, operation: &str, caller: &Caller) -> Verdict {
        self.inner.asked();
        self.inner.rights.load().custom(table, operation, caller)
    }

    /// What the rules say about an account, on its row as it is now on this connection. For whoever is in a transaction
    /// of the account's.
    ///
    /// # Errors
    /// 500 where the row has no key by which it can be found.
    pub fn account_allows(
        &self,
        conn: &Connection,
        table: &str,
        action: AccountAction,
        row: &Map<String, Value>,
        caller: &Caller,
    ) -> Result<bool, DataError> {
        let table = self.inner.schema.table(table).ok_or(DataError::NotFound)?;
        self.inner.asked();
        let rule = match self.inner.rights.load().account(table, action, caller) {
            Verdict::Allow => return Ok(true),
            Verdict::Deny | Verdict::Change { .. } => return Ok(false),
            Verdict::Rows(rule) => rule,
        };
        let key = table
            .key_column()
            .map(|at| &table.columns[at])
            .ok_or_else(|| {
                let cause = format!("`{}` has no primary key of one column", table.name);
                DataError::internal("asking the rule on an account", &cause)
            })?;
        let value = row.get(&key.name).unwrap_or(&Value::Null);
        let value = value::to_compare(key, value).map_err(DataError::BadRequest)?;
        let mut sql = Sql::new("SELECT 1");
        sql.from(table, RowExpr::ROW).push(" WHERE ");
        sql.column(RowExpr::ROW, &key.name).push("=").bind(value);
        sql.push(" AND ").expression(&rule);
        Ok(sql.prepare(conn)?.exists(params_from_iter(&sql.values))?)
    }

    /// What the rules say about a sign-up whose row cannot be written, by the values that it was to have; the other columns
    /// have their defaults.
    ///
    /// # Errors
    /// 404 where there is no such table.
    pub fn new_account_allowed(
        &self,
        conn: &Connection,
        table: &str,
        row: &[(String, Bound)],
        caller: &Caller,
    ) -> Result<bool, DataError> {
        let table = self.inner.schema.table(table).ok_or(DataError::NotFound)?;
        self.inner.asked();
        let rights = self.inner.rights.load();
        let place = |(name, value): &(String, Bound)| Some((table.place(name)?, value.clone()));
        Ok(match rights.account(table, AccountAction::SignUp, caller) {
            Verdict::Allow => true,
            Verdict::Deny | Verdict::Change { .. } => false,
            Verdict::Rows(rule) => {
                let given: Vec<_> = row.iter().filter_map(place).collect();
                proposed::allows_new(conn, table, &rule, &given)
            }
        })
    }
}
