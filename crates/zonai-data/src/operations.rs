//! Custom operations: named changes of rows that a project writes down, such as `fill: {set: {stock: "stock + 10"}}`.
//!
//! Their expressions are checked and rendered as rules are. A caller chooses rows and gives values, never what is computed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json};

use crate::payload::describe;
use crate::query::{Place, shortened};
use crate::rights::RowExpr;
use crate::rules::{ExprFault, OperationExpr};
use crate::schema::{Schema, Table, nearest};
use crate::{Caller, DataError};

/// What one operation does with each row.
#[derive(Clone, Debug, Default)]
pub struct Operation {
    set: Vec<(usize, OperationExpr)>,
    narrow: Option<OperationExpr>,
    inputs: BTreeSet<String>,
    in_code: bool,
}

/// The operations of all tables.
#[derive(Clone, Debug, Default)]
pub struct Operations {
    tables: BTreeMap<String, BTreeMap<String, Operation>>,
}

/// Why a column cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ColumnFault {
    /// What is wrong.
    pub message: String,
    /// The column that was probably meant.
    pub nearest: Option<String>,
}

impl Operation {
    /// One that a program performs: only its name is known here.
    #[must_use]
    pub fn in_code() -> Self {
        Self {
            in_code: true,
            ..Self::default()
        }
    }

    /// Whether a program performs it.
    #[must_use]
    pub fn is_in_code(&self) -> bool {
        self.in_code
    }

    /// Sets a column, found with [`Operation::settable`], to an expression over the row as it was.
    ///
    /// # Errors
    /// Where the expression is none, or uses what may not be used.
    pub fn set(
        &mut self,
        schema: &Schema,
        table: &Table,
        column: usize,
        text: &str,
    ) -> Result<(), ExprFault> {
        let expr = OperationExpr::new(schema, table, text, false)?;
        self.inputs.extend(expr.inputs().iter().cloned());
        self.set.push((column, expr));
        Ok(())
    }

    /// Limits the operation to the rows that meet a condition, beside those that the caller asks for.
    ///
    /// # Errors
    /// As [`Operation::set`].
    pub fn narrow(&mut self, schema: &Schema, table: &Table, text: &str) -> Result<(), ExprFault> {
        let expr = OperationExpr::new(schema, table, text, true)?;
        self.inputs.extend(expr.inputs().iter().cloned());
        self.narrow = Some(expr);
        Ok(())
    }

    /// The place of a column that an operation may set.
    ///
    /// # Errors
    /// For one that does not exist, is secret or computed, tells rows apart, or is kept by the server.
    pub fn settable(table: &Table, name: &str) -> Result<usize, ColumnFault> {
        let fault = |message: String| {
            Err(ColumnFault {
                message,
                nearest: None,
            })
        };
        let Some(at) = table.place(name) else {
            let open = table.columns.iter().filter(|column| !column.secret);
            let nearest = nearest(name, open.map(|column| column.name.as_str())).map(str::to_owned);
            return Err(ColumnFault {
                message: format!("unknown column `{name}`"),
                nearest,
            });
        };
        let column = &table.columns[at];
        if column.secret {
            fault(format!("`{name}` is secret and cannot be set here"))
        } else if column.generated {
            fault(format!("`{name}` is computed and cannot be set"))
        } else if table.is_kept(at) {
            fault(format!("`{name}` is kept by the server and cannot be set"))
        } else if table.primary_key.contains(&at) && table.key_is_fixed() {
            fault(format!("`{name}` is the key and cannot be changed"))
        } else {
            Ok(at)
        }
    }

    /// The new values and the condition, for a caller and the values of a request.
    pub(crate) fn bind(&self, caller: &Caller, inputs: &Map<String, Json>) -> Bind {
        Bind {
            computed: self
                .set
                .iter()
                .map(|(at, expr)| (*at, expr.bind(caller, inputs)))
                .collect(),
            narrow: self.narrow.as_ref().map(|expr| expr.bind(caller, inputs)),
        }
    }

    /// Reads `updates`: a value for each `@input.<name>`, no more and no less.
    pub(crate) fn inputs(&self, updates: Option<&Json>) -> Result<Map<String, Json>, DataError> {
        let root = Place::Root("updates");
        let inputs = inputs(updates)?;
        if let Some(name) = inputs.keys().find(|name| !self.inputs.contains(*name)) {
            let near = nearest(name, self.inputs.iter().map(String::as_str));
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let message = format_args!("the operation takes no `{}`{near}", shortened(name));
            return Err(DataError::at(root, message));
        }
        match self.inputs.iter().find(|name| !inputs.contains_key(*name)) {
            Some(name) => Err(DataError::at(root.member(name), "is missing")),
            None => Ok(inputs),
        }
    }
}

/// An operation with its values.
pub(crate) struct Bind {
    pub(crate) computed: Vec<(usize, RowExpr)>,
    pub(crate) narrow: Option<RowExpr>,
}

/// Reads `updates`, written as `{"amount": 3}`, or as updates are written elsewhere: `[{"column": "amount", "value": 3}]` and
/// `{"type": "object", "object": {"amount": 3}}`.
pub(crate) fn inputs(updates: Option<&Json>) -> Result<Map<String, Json>, DataError> {
    let root = Place::Root("updates");
    let mut inputs = Map::new();
    match updates {
        None | Some(Json::Null) => {}
        Some(Json::Object(members)) => {
            let object = members.get("object").filter(|_| members.len() == 2);
            let written = members.get("type") == Some(&Json::from("object"));
            let members = object
                .and_then(Json::as_object)
                .filter(|_| written)
                .unwrap_or(members);
            inputs.clone_from(members);
        }
        Some(Json::Array(items)) => {
            for (at, item) in items.iter().enumerate() {
                let (name, value) = one(item, &root.item(at))?;
                if inputs.insert(name.to_owned(), value.clone()).is_some() {
                    let message = format_args!("`{}` appears twice", shortened(name));
                    return Err(DataError::at(root.item(at), message));
                }
            }
        }
        Some(other) => {
            return Err(DataError::at(
                root,
                format_args!("expected an object, found {}", describe(other)),
            ));
        }
    }
    Ok(inputs)
}

fn one<'j>(item: &'j Json, place: &Place<'_>) -> Result<(&'j str, &'j Json), DataError> {
    let members = item.as_object().ok_or_else(|| {
        DataError::at(
            place,
            format_args!("expected an object, found {}", describe(item)),
        )
    })?;
    let known = |key: &String| ["type", "column", "value"].contains(&key.as_str());
    if let Some(key) = members.keys().find(|key| !known(key)) {
        return Err(DataError::at(
            place,
            format_args!("unknown key `{}`", shortened(key)),
        ));
    }
    let Some(Json::String(name)) = members.get("column") else {
        return Err(DataError::at(place.member("column"), "expected a text"));
    };
    match members.get("value") {
        Some(value) => Ok((name, value)),
        None => Err(DataError::at(place.member("value"), "is missing")),
    }
}

impl Operations {
    /// Registers an operation of a table.
    pub fn add(&mut self, table: &Table, name: &str, operation: Operation) {
        self.tables
            .entry(table.name.clone())
            .or_default()
            .insert(name.to_owned(), operation);
    }

    /// An operation of a table.
    #[must_use]
    pub fn get(&self, table: &str, name: &str) -> Option<&Operation> {
        self.tables.get(table)?.get(name)
    }

    /// The names by table, for the limiter.
    #[must_use]
    pub fn names(&self) -> BTreeMap<String, Vec<String>> {
        let names = |operations: &BTreeMap<String, Operation>| operations.keys().cloned().collect();
        self.tables
            .iter()
            .map(|(table, operations)| (table.clone(), names(operations)))
            .collect()
    }
}
