//! The writing half of the operations: from payload to plan to the write queue.

use std::sync::Arc;

use rusqlite::types::Value as Bound;
use serde_json::Value;

use super::scope::{Rule, Scope};
use super::{Database, create, delete, stamp, update};
use crate::payload::describe;
use crate::query::changes::{Change, Changes};
use crate::query::{Condition, Place, page};
use crate::rights::Action;
use crate::schema::Table;
use crate::{Caller, DataError, Json, Pass, Payload};

impl Database {
    /// `POST /db`, `{table, object}`: the new row.
    ///
    /// # Errors
    /// 400, 403, 404 for the table, 409, 422, 503.
    pub async fn create(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        payload: &Payload,
    ) -> Result<Json, DataError> {
        self.insert(pass, caller, payload, false).await
    }

    /// `POST /db/many`, `{table, objects}`: the new rows, all or none.
    ///
    /// # Errors
    /// As [`Database::create`].
    pub async fn create_many(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        payload: &Payload,
    ) -> Result<Json, DataError> {
        self.insert(pass, caller, payload, true)
            .await
            .map(in_brackets)
    }

    /// `PATCH /db`, `{table, where, updates, expect?}`: the newest row that meets `where`, changed.
    ///
    /// # Errors
    /// 400, 403, 404, 409, 412, 422, 503.
    pub async fn update(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        payload: &Payload,
    ) -> Result<Json, DataError> {
        let plan = self.update_plan(caller, payload, true).await?;
        self.inner
            .engine
            .write(pass, move |conn| plan.run(conn))
            .await
    }

    /// `PATCH /db/many`, `{table, where, updates, expect?, limit?}`: the changed rows, all or none.
    ///
    /// # Errors
    /// As [`Database::update`], but no rows are no error.
    pub async fn update_many(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        payload: &Payload,
    ) -> Result<Json, DataError> {
        let plan = self.update_plan(caller, payload, false).await?;
        self.inner
            .engine
            .write(pass, move |conn| plan.run(conn))
            .await
            .map(in_brackets)
    }

    /// `DELETE /db`, `{table, where}`: deletes the newest row that meets `where`.
    ///
    /// # Errors
    /// 400, 403, 404, 422, 503.
    pub async fn delete(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        payload: &Payload,
    ) -> Result<(), DataError> {
        let plan = self.delete_plan(caller, payload, true)?;
        self.inner
            .engine
            .write(pass, move |conn| plan.run(conn))
            .await
            .map(|_| ())
    }

    /// `DELETE /db/many`, `{table, where, limit?}`: deletes all rows that meet `where`; how many.
    ///
    /// # Errors
    /// As [`Database::delete`], but no rows are no error.
    pub async fn delete_many(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        payload: &Payload,
    ) -> Result<u64, DataError> {
        let plan = self.delete_plan(caller, payload, false)?;
        self.inner
            .engine
            .write(pass, move |conn| plan.run(conn))
            .await
    }

    async fn insert(
        &self,
        pass: &impl Pass,
        caller: &Caller,
        payload: &Payload,
        many: bool,
    ) -> Result<Json, DataError> {
        let scope = Scope::open_to_write(&self.inner, caller, payload, Action::Create)?;
        let objects = objects(payload, many)?;
        let (table, rule) = scope.rows()?;
        let plan = create::Plan::new(&self.inner, caller, table, rule, &objects).await?;
        self.inner
            .engine
            .write(pass, move |conn| plan.run(conn))
            .await
    }

    /// New rows, where nothing can be waited for.
    pub(super) fn create_plan(
        &self,
        caller: &Caller,
        payload: &Payload,
        many: bool,
    ) -> Result<create::Plan, DataError> {
        let scope = Scope::open_to_write(&self.inner, caller, payload, Action::Create)?;
        let objects = objects(payload, many)?;
        let (table, rule) = scope.rows()?;
        create::Plan::without_secrets(&self.inner, caller, table, rule, &objects)
    }

    async fn update_plan(
        &self,
        caller: &Caller,
        payload: &Payload,
        one: bool,
    ) -> Result<update::Plan, DataError> {
        let mut plan = self.change_plan(caller, payload, one)?;
        self.hash_secrets(&plan.table, &mut plan.changes).await?;
        Ok(plan)
    }

    /// A change of rows, with its passwords as they are.
    pub(super) fn change_plan(
        &self,
        caller: &Caller,
        payload: &Payload,
        one: bool,
    ) -> Result<update::Plan, DataError> {
        let scope = Scope::open_to_write(&self.inner, caller, payload, Action::Update)?;
        payload.only(if one {
            &["table", "where", "updates", "expect"]
        } else {
            &["table", "where", "updates", "expect", "limit"]
        })?;
        let table = scope.table;
        let (before, after) = match scope.rule {
            None => (None, None),
            Some(Rule::Change { before, after }) => (Some(before), Some(after)),
            Some(Rule::Rows(_)) => return Err(DataError::Forbidden),
        };
        let condition = required_where(&table, payload)?;
        let expect = match payload.get("expect") {
            None | Some(Value::Null) => None,
            Some(value) => Some(Condition::parse(&table, value, &Place::Root("expect"))?),
        };
        let limit = if one {
            Some(1)
        } else {
            page::many_limit(payload)?
        };
        let mut changes = Changes::parse(&table, payload.get("updates"))?;
        changes.leave_out_proofs(&table, caller);
        let stamp = self.stamp_of(&table);
        Ok(update::Plan {
            table,
            before,
            after,
            condition,
            expect,
            changes,
            narrow: None,
            computed: Vec::new(),
            stamp,
            limit,
            one,
            in_code: false,
        })
    }

    /// `updatedAt` and its value, where the table has it.
    pub(super) fn stamp_of(&self, table: &Table) -> Option<(usize, Bound)> {
        let now = self.inner.clock.wall_ms();
        let at = table.updated?;
        Some((at, stamp::at(&table.columns[at], now)))
    }

    async fn hash_secrets(&self, table: &Table, changes: &mut Changes) -> Result<(), DataError> {
        for (at, change) in &mut changes.items {
            if let Change::Secret(plain) = change {
                let mut value = Bound::Text(std::mem::take(plain));
                super::hash(
                    &self.inner,
                    &table.columns[*at],
                    &mut value,
                    &Place::Root("updates"),
                )
                .await?;
                *change = Change::Set(value);
            }
        }
        Ok(())
    }

    pub(super) fn delete_plan(
        &self,
        caller: &Caller,
        payload: &Payload,
        one: bool,
    ) -> Result<delete::Plan, DataError> {
        let scope = Scope::open_to_write(&self.inner, caller, payload, Action::Delete)?;
        payload.only(if one {
            &["table", "where"]
        } else {
            &["table", "where", "limit"]
        })?;
        let (table, rule) = scope.rows()?;
        let condition = required_where(&table, payload)?;
        let limit = if one {
            Some(1)
        } else {
            page::many_limit(payload)?
        };
        Ok(delete::Plan {
            table,
            rule,
            condition,
            limit,
            one,
        })
    }
}

/// The new rows of a payload, each with its place.
fn objects(payload: &Payload, many: bool) -> Result<Vec<(&Value, Place<'static>)>, DataError> {
    static OBJECT: Place<'static> = Place::Root("object");
    static OBJECTS: Place<'static> = Place::Root("objects");
    let (key, place) = if many {
        ("objects", OBJECTS)
    } else {
        ("object", OBJECT)
    };
    payload.only(&["table", key])?;
    match payload.get(key) {
        Some(Value::Array(objects)) if many => {
            let each = objects.iter().enumerate();
            Ok(each
                .map(|(at, object)| (object, OBJECTS.item(at)))
                .collect())
        }
        Some(other) if many => Err(DataError::at(
            place,
            format_args!("expected a list, found {}", describe(other)),
        )),
        Some(object) => Ok(vec![(object, place)]),
        None => Err(DataError::at(place, "is missing")),
    }
}

/// What writes must say on which rows; `{}` is all of them.
fn required_where(table: &Arc<Table>, payload: &Payload) -> Result<Condition, DataError> {
    let place = Place::Root("where");
    match payload.get("where") {
        Some(value) => Condition::parse(table, value, &place),
        None => Err(DataError::at(place, "is missing")),
    }
}

pub(super) fn in_brackets(items: Json) -> Json {
    Json(format!("[{}]", items.0))
}
