//! `updates`: literals and steps from the value that is there, in all spellings.
//!
//! `[{"column": c, "value": v}]`, `{"type": "column", …}`, `{"type": "object", "object": {…}}`, and for v a literal,
//! `{"increment": 2}` or `{"type": "increment", "value": 2}`. Steps are computed from the row inside the transaction.

mod apply;

use serde_json::{Map, Number, Value};

use super::{Place, shortened, unknown};
use crate::payload::describe;
use crate::schema::{ColumnKind, Table};
use crate::value;
use crate::{Caller, DataError};
use rusqlite::types::Value as Bound;

/// The most changes of one update.
const MAX_CHANGES: usize = 1_000;

/// Changes of columns, in the order of the payload.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Changes {
    pub(crate) items: Vec<(usize, Change)>,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Change {
    /// This value.
    Set(Bound),
    /// A plain password, to be hashed before it is stored.
    Secret(String),
    /// More, in turn.
    Plus(Vec<Number>),
    /// Less, in turn.
    Minus(Vec<Number>),
    /// At the end of a list.
    Append(Vec<Value>),
    /// Every equal item out of a list.
    Remove(Vec<Value>),
}

/// The names of steps.
const STEPS: [&str; 6] = [
    "increment",
    "decrement",
    "add",
    "remove",
    "add_all",
    "remove_all",
];

impl Changes {
    /// Reads `updates`.
    ///
    /// # Errors
    /// 400 that says where; 422 for a literal of the wrong type.
    pub(crate) fn parse(table: &Table, value: Option<&Value>) -> Result<Self, DataError> {
        let root = Place::Root("updates");
        let mut changes = Self { items: Vec::new() };
        match value {
            Some(Value::Array(items)) => {
                for (at, item) in items.iter().enumerate() {
                    changes.item(table, item, &root.item(at))?;
                }
            }
            Some(one @ Value::Object(_)) => changes.item(table, one, &root)?,
            Some(other) => {
                return Err(DataError::at(
                    root,
                    format_args!("expected a list, found {}", describe(other)),
                ));
            }
            None => return Err(DataError::at(root, "is missing")),
        }
        if changes.items.is_empty() {
            return Err(DataError::at(root, "is empty"));
        }
        if changes.items.len() > MAX_CHANGES {
            return Err(DataError::at(
                root,
                format_args!("more than {MAX_CHANGES} changes"),
            ));
        }
        // Kept by the server: may stand in an object that is sent back, and are not taken over.
        changes.items.retain(|(column, _)| !table.is_kept(*column));
        changes.check_secrets(table)?;
        Ok(changes)
    }

    /// Whether an address is proven is for the server and admins to say. As what the server keeps, it may stand in an object
    /// that is sent back, and is not taken over.
    pub(crate) fn leave_out_proofs(&mut self, table: &Table, caller: &Caller) {
        if !caller.is_admin() {
            self.items
                .retain(|(column, _)| table.verified != Some(*column));
        }
    }

    /// Each password costs as much as a sign-in: one is enough.
    fn check_secrets(&self, table: &Table) -> Result<(), DataError> {
        let secrets = self
            .items
            .iter()
            .filter_map(|(column, change)| match change {
                Change::Secret(_) => Some(*column),
                _ => None,
            });
        let mut seen = Vec::new();
        for column in secrets {
            if seen.contains(&column) {
                let name = &table.columns[column].name;
                let text = format_args!("`{name}` appears twice");
                return Err(DataError::at(Place::Root("updates"), text));
            }
            seen.push(column);
        }
        Ok(())
    }

    fn item(&mut self, table: &Table, item: &Value, place: &Place<'_>) -> Result<(), DataError> {
        let Value::Object(members) = item else {
            return Err(DataError::at(
                place,
                format_args!("expected an object, found {}", describe(item)),
            ));
        };
        match members.get("type") {
            Some(Value::String(kind)) if kind == "object" => {
                only(members, &["type", "object"], place)?;
                let place = place.member("object");
                let Some(Value::Object(object)) = members.get("object") else {
                    return Err(DataError::at(place, "expected an object"));
                };
                for (name, value) in object {
                    self.change(table, name, value, &place.member(name))?;
                }
                Ok(())
            }
            Some(Value::String(kind)) if STEPS.contains(&kind.as_str()) => {
                only(members, &["type", "column", "value", "values"], place)?;
                let (key, operand) = operand(members, place)?;
                let column =
                    writable(table, column_name(members, place)?, &place.member("column"))?;
                let change = step(table, column, kind, operand, &place.member(key))?;
                self.items.push((column, change));
                Ok(())
            }
            Some(Value::String(kind)) if kind == "column" => self.column(table, members, place),
            None => self.column(table, members, place),
            Some(_) => Err(DataError::at(
                place.member("type"),
                "expected `column` or `object`",
            )),
        }
    }

    fn column(
        &mut self,
        table: &Table,
        members: &Map<String, Value>,
        place: &Place<'_>,
    ) -> Result<(), DataError> {
        only(members, &["type", "column", "value"], place)?;
        let name = column_name(members, place)?;
        let Some(value) = members.get("value") else {
            return Err(DataError::at(place.member("value"), "is missing"));
        };
        writable(table, name, &place.member("column"))?;
        self.change(table, name, value, &place.member("value"))
    }

    fn change(
        &mut self,
        table: &Table,
        name: &str,
        value: &Value,
        place: &Place<'_>,
    ) -> Result<(), DataError> {
        let column = writable(table, name, place)?;
        let change = match as_step(value) {
            Some((kind, operand)) => step(table, column, kind, operand, place)?,
            None if table.columns[column].secret => match value {
                Value::String(plain) => Change::Secret(plain.clone()),
                other => {
                    return Err(DataError::at(
                        place,
                        format_args!("expected a text, found {}", describe(other)),
                    ));
                }
            },
            None if table.is_kept(column) => Change::Set(Bound::Null),
            None => Change::Set(value::to_store(&table.columns[column], value)?),
        };
        self.items.push((column, change));
        Ok(())
    }
}

/// `{"increment": 2}` and `{"type": "increment", "value": 2}`.
fn as_step(value: &Value) -> Option<(&str, &Value)> {
    let members = value.as_object()?;
    if let Some(Value::String(kind)) = members.get("type") {
        let operand = members.get("value").or_else(|| members.get("values"))?;
        return (members.len() == 2 && STEPS.contains(&kind.as_str())).then_some((kind, operand));
    }
    let (kind, operand) = members.iter().next()?;
    (members.len() == 1 && STEPS.contains(&kind.as_str())).then_some((kind, operand))
}

fn step(
    table: &Table,
    at: usize,
    kind: &str,
    operand: &Value,
    place: &Place<'_>,
) -> Result<Change, DataError> {
    let column = &table.columns[at];
    let name = &column.name;
    let all = kind.ends_with("_all");
    let operands = match (all, operand) {
        (true, Value::Array(items)) => items.clone(),
        (true, other) => {
            return Err(DataError::at(
                place,
                format_args!("expected a list, found {}", describe(other)),
            ));
        }
        (false, one) => vec![one.clone()],
    };
    let more = matches!(kind, "increment" | "add" | "add_all");
    match column.kind {
        ColumnKind::Json if !matches!(kind, "increment" | "decrement") => Ok(if more {
            Change::Append(operands)
        } else {
            Change::Remove(operands)
        }),
        // A number may stand in any of these; whether one does is seen in the row.
        ColumnKind::Integer
        | ColumnKind::Real
        | ColumnKind::Any
        | ColumnKind::Date
        | ColumnKind::Json => {
            let numbers = numbers(&operands, name, place)?;
            Ok(if more {
                Change::Plus(numbers)
            } else {
                Change::Minus(numbers)
            })
        }
        ColumnKind::Boolean | ColumnKind::Text | ColumnKind::Blob => Err(DataError::at(
            place,
            format_args!(
                "`{name}` holds {}, neither a number nor a list",
                column.kind.describe()
            ),
        )),
    }
}

fn numbers(operands: &[Value], name: &str, place: &Place<'_>) -> Result<Vec<Number>, DataError> {
    let number = |operand: &Value| match operand {
        Value::Number(number) => Ok(number.clone()),
        other => {
            let found = describe(other);
            Err(DataError::at(
                place,
                format_args!("`{name}` takes a number, found {found}"),
            ))
        }
    };
    operands.iter().map(number).collect()
}

fn operand<'m>(
    members: &'m Map<String, Value>,
    place: &Place<'_>,
) -> Result<(&'static str, &'m Value), DataError> {
    match (members.get("value"), members.get("values")) {
        (Some(value), None) => Ok(("value", value)),
        (None, Some(values)) => Ok(("values", values)),
        _ => Err(DataError::at(place.member("value"), "is missing")),
    }
}

fn column_name<'m>(
    members: &'m Map<String, Value>,
    place: &Place<'_>,
) -> Result<&'m str, DataError> {
    match members.get("column") {
        Some(Value::String(name)) => Ok(name),
        Some(other) => {
            let found = describe(other);
            Err(DataError::at(
                place.member("column"),
                format_args!("expected a text, found {found}"),
            ))
        }
        None => Err(DataError::at(place.member("column"), "is missing")),
    }
}

/// A column that an update may name. A key that tells rows apart stays what it is.
fn writable(table: &Table, name: &str, place: &Place<'_>) -> Result<usize, DataError> {
    let at = table
        .place(name)
        .ok_or_else(|| unknown(table, name, place))?;
    if table.columns[at].generated {
        return Err(DataError::at(
            place,
            format_args!("`{name}` is computed and cannot be written"),
        ));
    }
    if table.primary_key.contains(&at) && table.key_is_fixed() {
        return Err(DataError::at(
            place,
            format_args!("`{name}` is the key and cannot be changed"),
        ));
    }
    Ok(at)
}

fn only(members: &Map<String, Value>, known: &[&str], place: &Place<'_>) -> Result<(), DataError> {
    match members.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(DataError::at(
            place,
            format_args!("unknown key `{}`", shortened(key)),
        )),
        None => Ok(()),
    }
}
