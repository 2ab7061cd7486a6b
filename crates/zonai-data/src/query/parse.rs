//! Reads a `where` in both spellings, alone or mixed.
//!
//! `{"type": "eq", "column": "done", "value": true}` and `{"done": {"eq": true}}`. Bounds: 32 deep, 1,000 conditions, 10,000 values.

use rusqlite::types::Value as Bound;
use serde_json::{Map, Value};

use super::{Condition, Operator, Place, Test, readable, shortened};
use crate::DataError;
use crate::payload::describe;
use crate::schema::{ColumnKind, Table, nearest};
use crate::value;

/// The most levels, the outermost condition being the first.
const MAX_DEPTH: usize = 32;
/// The most tests, and the most `and`, `or` and `not`.
const MAX_CONDITIONS: usize = 1_000;
/// The most values of all `in` and `not_in` together; SQLite binds at most 32,766.
const MAX_VALUES: usize = 10_000;

impl Condition {
    /// Reads a `where` for a table.
    ///
    /// # Errors
    /// 400 that says where, and names the column or operator.
    pub(crate) fn parse(
        table: &Table,
        value: &Value,
        place: &Place<'_>,
    ) -> Result<Self, DataError> {
        let mut reader = Reader {
            table,
            tests: 0,
            groups: 0,
            values: 0,
        };
        reader.condition(value, place, 1)
    }
}

struct Reader<'t> {
    table: &'t Table,
    tests: usize,
    groups: usize,
    values: usize,
}

impl Reader<'_> {
    fn condition(
        &mut self,
        value: &Value,
        place: &Place<'_>,
        depth: usize,
    ) -> Result<Condition, DataError> {
        if depth > MAX_DEPTH {
            return Err(DataError::at(
                "where",
                format_args!("more than {MAX_DEPTH} deep"),
            ));
        }
        let Value::Object(members) = value else {
            return Err(DataError::at(
                place,
                format_args!("expected an object, found {}", describe(value)),
            ));
        };
        match members.get("type") {
            // A column may be called `type`; its operators are an object.
            Some(Value::String(name)) => self.typed(name, members, place, depth),
            _ => self.by_column(members, place, depth),
        }
    }

    fn typed(
        &mut self,
        name: &str,
        members: &Map<String, Value>,
        place: &Place<'_>,
        depth: usize,
    ) -> Result<Condition, DataError> {
        if matches!(name, "and" | "or" | "not") {
            only(members, &["type", "conditions", "condition"], place)?;
            let (key, conditions) = match (members.get("conditions"), members.get("condition")) {
                (Some(conditions), None) => ("conditions", conditions),
                (None, Some(condition)) => ("condition", condition),
                _ => return Err(DataError::at(place.member("conditions"), "is missing")),
            };
            return self.group(name, conditions, &place.member(key), depth);
        }
        let Some(operator) = Operator::named(name) else {
            let known = Operator::ALL
                .into_iter()
                .map(|(name, _)| name)
                .chain(["and", "or", "not"]);
            return Err(unknown_operator(name, known, &place.member("type")));
        };
        only(members, &["type", "column", "value", "values"], place)?;
        let column = match members.get("column") {
            Some(Value::String(column)) => readable(self.table, column, &place.member("column"))?,
            Some(other) => {
                let found = describe(other);
                return Err(DataError::at(
                    place.member("column"),
                    format_args!("expected a text, found {found}"),
                ));
            }
            None => return Err(DataError::at(place.member("column"), "is missing")),
        };
        let (key, operand) = match (members.get("value"), members.get("values")) {
            (Some(_), Some(_)) => {
                return Err(DataError::at(place, "`value` or `values`, not both"));
            }
            (Some(value), None) => ("value", Some(value)),
            (None, Some(values)) => ("values", Some(values)),
            (None, None) => ("value", None),
        };
        self.test(column, operator, operand, &place.member(key))
    }

    fn by_column(
        &mut self,
        members: &Map<String, Value>,
        place: &Place<'_>,
        depth: usize,
    ) -> Result<Condition, DataError> {
        let mut all = Vec::with_capacity(members.len());
        for (name, operators) in members {
            let place = place.member(name);
            if matches!(name.as_str(), "and" | "or" | "not") && self.table.column(name).is_none() {
                all.push(self.group(name, operators, &place, depth)?);
                continue;
            }
            let column = readable(self.table, name, &place)?;
            let Value::Object(operators) = operators else {
                let found = describe(operators);
                return Err(DataError::at(
                    place,
                    format_args!(
                        "expected an object of operators such as {{\"eq\": …}}, found {found}"
                    ),
                ));
            };
            for (name, operand) in operators {
                let place = place.member(name);
                let operator = Operator::named(name).ok_or_else(|| {
                    unknown_operator(
                        name,
                        Operator::ALL.into_iter().map(|(name, _)| name),
                        &place,
                    )
                })?;
                all.push(self.test(column, operator, Some(operand), &place)?);
            }
        }
        Ok(match all.len() {
            1 => all.remove(0),
            _ => Condition::All(all),
        })
    }

    fn group(
        &mut self,
        name: &str,
        conditions: &Value,
        place: &Place<'_>,
        depth: usize,
    ) -> Result<Condition, DataError> {
        self.groups += 1;
        if self.groups > MAX_CONDITIONS {
            return Err(too_many());
        }
        let mut inner = Vec::new();
        match conditions {
            Value::Array(items) => {
                for (at, item) in items.iter().enumerate() {
                    inner.push(self.condition(item, &place.item(at), depth + 1)?);
                }
            }
            Value::Object(_) => inner.push(self.condition(conditions, place, depth + 1)?),
            other => {
                return Err(DataError::at(
                    place,
                    format_args!("expected a list, found {}", describe(other)),
                ));
            }
        }
        Ok(match name {
            "and" => Condition::All(inner),
            "or" => Condition::Any(inner),
            _ => Condition::Not(Box::new(Condition::All(inner))),
        })
    }

    fn test(
        &mut self,
        column: usize,
        operator: Operator,
        operand: Option<&Value>,
        place: &Place<'_>,
    ) -> Result<Condition, DataError> {
        self.tests += 1;
        if self.tests > MAX_CONDITIONS {
            return Err(too_many());
        }
        let test = match operator {
            Operator::IsNull | Operator::NotNull => {
                self.null_test(column, operator, operand, place)?
            }
            Operator::In | Operator::NotIn => self.list_test(column, operator, operand, place)?,
            _ => {
                let operand = operand.ok_or_else(|| DataError::at(place, "is missing"))?;
                Test {
                    column,
                    operator,
                    values: vec![self.operand(column, operator, operand, place)?],
                }
            }
        };
        Ok(Condition::Test(test))
    }

    /// `is_null: false` is `not_null`, and the other way round.
    fn null_test(
        &self,
        column: usize,
        operator: Operator,
        operand: Option<&Value>,
        place: &Place<'_>,
    ) -> Result<Test, DataError> {
        let operator = match (operand, operator) {
            (None | Some(Value::Null | Value::Bool(true)), operator) => operator,
            (Some(Value::Bool(false)), Operator::IsNull) => Operator::NotNull,
            (Some(Value::Bool(false)), _) => Operator::IsNull,
            (Some(other), _) => {
                return Err(DataError::at(
                    place,
                    format_args!("expected true or false, found {}", describe(other)),
                ));
            }
        };
        Ok(Test {
            column,
            operator,
            values: Vec::new(),
        })
    }

    fn list_test(
        &mut self,
        column: usize,
        operator: Operator,
        operand: Option<&Value>,
        place: &Place<'_>,
    ) -> Result<Test, DataError> {
        let items = match operand {
            Some(Value::Array(items)) => items,
            Some(other) => {
                return Err(DataError::at(
                    place,
                    format_args!("expected a list, found {}", describe(other)),
                ));
            }
            None => return Err(DataError::at(place, "is missing")),
        };
        self.values += items.len();
        if self.values > MAX_VALUES {
            return Err(DataError::at(
                "where",
                format_args!("more than {MAX_VALUES} values"),
            ));
        }
        let values = items
            .iter()
            .enumerate()
            .map(|(at, item)| self.operand(column, operator, item, &place.item(at)))
            .collect::<Result<_, _>>()?;
        Ok(Test {
            column,
            operator,
            values,
        })
    }

    fn operand(
        &self,
        column: usize,
        operator: Operator,
        operand: &Value,
        place: &Place<'_>,
    ) -> Result<Bound, DataError> {
        let column = &self.table.columns[column];
        let of_text = matches!(
            operator,
            Operator::Contains | Operator::NotContains | Operator::StartsWith | Operator::EndsWith
        );
        // On a JSON column `contains` asks for an item of a list, which can be anything but nothing.
        let of_list = column.kind == ColumnKind::Json
            && matches!(operator, Operator::Contains | Operator::NotContains)
            && !operand.is_null();
        if of_text && column.kind == ColumnKind::Blob {
            return Err(DataError::at(
                place,
                format_args!("`{}` holds bytes, not text", column.name),
            ));
        }
        if of_text && !of_list && !operand.is_string() {
            return Err(DataError::at(
                place,
                format_args!("expected a text, found {}", describe(operand)),
            ));
        }
        value::to_compare(column, operand).map_err(|reason| DataError::at(place, reason))
    }
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

fn unknown_operator<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str>,
    place: &Place<'_>,
) -> DataError {
    let near =
        nearest(name, known).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    DataError::at(
        place,
        format_args!("unknown operator `{}`{near}", shortened(name)),
    )
}

fn too_many() -> DataError {
    DataError::at(
        "where",
        format_args!("more than {MAX_CONDITIONS} conditions"),
    )
}
