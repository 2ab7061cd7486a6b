//! Which rows of a list, in which order: `order_by`, `limit`, `offset`, `group_by`.

use serde_json::Value;

use super::{Place, Sql, readable};
use crate::DataError;
use crate::Payload;
use crate::payload::describe;
use crate::schema::{Identity, Table};

/// Rows of a list when nothing is said, and at most.
pub(crate) const MAX_LIMIT: i64 = 500;
/// Columns to order or group by, at most.
const MAX_COLUMNS: usize = 32;

/// One column of an order; `None` is the `count` of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) column: Option<usize>,
    pub(crate) descending: bool,
}

/// `limit` of a list: 500 unless less is asked for.
///
/// # Errors
/// 400 where it is no whole number from 0.
pub fn list_limit(payload: &Payload) -> Result<i64, DataError> {
    Ok(whole(payload, "limit")?.unwrap_or(MAX_LIMIT).min(MAX_LIMIT))
}

/// `limit` of a `many` route: none unless asked for.
///
/// # Errors
/// 400 where it is no whole number from 0.
pub fn many_limit(payload: &Payload) -> Result<Option<i64>, DataError> {
    whole(payload, "limit")
}

/// `offset`: 0 unless asked for.
///
/// # Errors
/// 400 where it is no whole number from 0.
pub fn offset(payload: &Payload) -> Result<i64, DataError> {
    Ok(whole(payload, "offset")?.unwrap_or(0))
}

fn whole(payload: &Payload, key: &str) -> Result<Option<i64>, DataError> {
    match payload.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_i64() {
            Some(number) if number >= 0 => Ok(Some(number)),
            _ => Err(DataError::at(key, "expected a whole number from 0")),
        },
    }
}

/// `true` or `false`, false when left out.
pub(crate) fn flag(payload: &Payload, key: &str) -> Result<bool, DataError> {
    match payload.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(value)) => Ok(*value),
        Some(other) => Err(DataError::at(
            key,
            format_args!("expected true or false, found {}", describe(other)),
        )),
    }
}

/// `group_by`: a column or a list of columns.
pub(crate) fn group_by(table: &Table, payload: &Payload) -> Result<Vec<usize>, DataError> {
    let place = Place::Root("group_by");
    let items = match payload.get("group_by") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(items)) => items.as_slice(),
        Some(one) => std::slice::from_ref(one),
    };
    let mut columns = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let place = place.item(at);
        let Value::String(name) = item else {
            return Err(DataError::at(
                place,
                format_args!("expected a text, found {}", describe(item)),
            ));
        };
        let column = readable(table, name, &place)?;
        if name == "count" {
            return Err(DataError::at(
                place,
                "cannot be grouped by: groups have a `count` of their own",
            ));
        }
        if !columns.contains(&column) {
            columns.push(column);
        }
    }
    bounded(columns, &place)
}

/// `order_by`: `[{column, direction}]`. In a grouped list only the columns of the group and `count`.
pub(crate) fn order_by(
    table: &Table,
    payload: &Payload,
    groups: &[usize],
) -> Result<Vec<Order>, DataError> {
    let root = Place::Root("order_by");
    let items = match payload.get("order_by") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(items)) => items.as_slice(),
        Some(one) => std::slice::from_ref(one),
    };
    let mut orders = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let place = root.item(at);
        let Value::Object(members) = item else {
            return Err(DataError::at(
                place,
                format_args!("expected an object, found {}", describe(item)),
            ));
        };
        if let Some(key) = members
            .keys()
            .find(|key| !["column", "direction"].contains(&key.as_str()))
        {
            return Err(DataError::at(
                place,
                format_args!("unknown key `{}`", super::shortened(key)),
            ));
        }
        let Some(Value::String(name)) = members.get("column") else {
            return Err(DataError::at(place.member("column"), "expected a text"));
        };
        let column = if !groups.is_empty() && name == "count" {
            None
        } else {
            let column = readable(table, name, &place.member("column"))?;
            if !groups.is_empty() && !groups.contains(&column) {
                return Err(DataError::at(
                    place.member("column"),
                    format_args!("`{name}` is not in `group_by`"),
                ));
            }
            Some(column)
        };
        orders.push(Order {
            column,
            descending: descending(members.get("direction"), &place.member("direction"))?,
        });
    }
    bounded(orders, &root)
}

fn bounded<T>(items: Vec<T>, place: &Place<'_>) -> Result<Vec<T>, DataError> {
    if items.len() > MAX_COLUMNS {
        return Err(DataError::at(
            place,
            format_args!("more than {MAX_COLUMNS} columns"),
        ));
    }
    Ok(items)
}

fn descending(direction: Option<&Value>, place: &Place<'_>) -> Result<bool, DataError> {
    match direction {
        None | Some(Value::Null) => Ok(false),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("asc") => Ok(false),
        Some(Value::String(text)) if text.eq_ignore_ascii_case("desc") => Ok(true),
        Some(_) => Err(DataError::at(place, "expected `asc` or `desc`")),
    }
}

impl Sql {
    /// ` ORDER BY …`: what was asked for, then newest first, so that pages never overlap.
    pub(crate) fn order(&mut self, table: &Table, alias: &str, orders: &[Order]) -> &mut Self {
        let mut separator = " ORDER BY ";
        for order in orders {
            self.push(separator);
            match order.column {
                Some(at) => self.column(alias, &table.columns[at].name),
                // Only groups have one, and they are ordered below.
                None => self.push("1"),
            };
            self.push(if order.descending { " DESC" } else { "" });
            separator = ",";
        }
        if orders.is_empty()
            && let Some(at) = table.created
        {
            self.push(separator)
                .column(alias, &table.columns[at].name)
                .push(" DESC");
            separator = ",";
        }
        match table.identity {
            Identity::RowId(name) => {
                self.push(separator)
                    .name(alias)
                    .push(".")
                    .push(name)
                    .push(" DESC");
            }
            Identity::PrimaryKey => {
                for at in &table.primary_key {
                    self.push(separator)
                        .column(alias, &table.columns[*at].name)
                        .push(" DESC");
                    separator = ",";
                }
            }
            Identity::None => {}
        }
        self
    }
}

impl Sql {
    /// ` ORDER BY …` of groups: what was asked for, then the columns of the group.
    pub(crate) fn group_order(
        &mut self,
        table: &Table,
        alias: &str,
        orders: &[Order],
        groups: &[usize],
    ) -> &mut Self {
        let rest = groups
            .iter()
            .filter(|at| !orders.iter().any(|order| order.column == Some(**at)))
            .map(|at| Order {
                column: Some(*at),
                descending: false,
            });
        for (nth, order) in orders.iter().copied().chain(rest).enumerate() {
            self.push(if nth == 0 { " ORDER BY " } else { "," });
            match order.column {
                Some(at) => self.column(alias, &table.columns[at].name),
                None => self.push("count(*)"),
            };
            self.push(if order.descending { " DESC" } else { "" });
        }
        self
    }
}
