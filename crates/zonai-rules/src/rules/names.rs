//! Which column or value a name stands for.
//!
//! A name that could be a column of two tables is a fault: SQL would take the inner one, and a rule that was meant to
//! compare the two would be true for everybody.
//! Must never choose where a name could mean two things.

use std::collections::BTreeSet;

use sqlparser::ast::Ident;

use super::ExprFault;
use super::node::{Node, Of, Value};
use zonai_engine::schema::{Column, Schema, Table};

/// Where an expression stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Over one row.
    Row,
    /// Over a row before and after: `old.` and `new.` are there.
    Change,
    /// In a custom operation: `@input.` is there.
    Operation,
}

/// What names can mean.
pub(super) struct Names<'a> {
    pub(super) schema: &'a Schema,
    pub(super) table: &'a Table,
    pub(super) place: Place,
    /// Tables of the subqueries around, innermost last.
    pub(super) inner: Vec<Inner<'a>>,
    pub(super) inputs: BTreeSet<String>,
}

/// The table of a subquery.
pub(super) struct Inner<'a> {
    pub(super) name: String,
    pub(super) table: &'a Table,
    pub(super) id: u32,
}

/// A resolved column with the column itself.
pub(super) type Found<'a> = (Node, Option<&'a Column>);

impl<'a> Names<'a> {
    /// A name alone.
    pub(super) fn one(&self, ident: &Ident) -> Result<Found<'a>, ExprFault> {
        if let Some(value) = at_name(ident) {
            return match value {
                "admin" => Ok((Node::Value(Value::Admin), None)),
                "user" => Err(ExprFault::at(
                    ident.span,
                    "`@user` has parts: `@user.id`, `@user.table`, `@user.<column>`",
                )),
                "claims" => Err(ExprFault::at(
                    ident.span,
                    "`@claims` has parts: `@claims.<name>`",
                )),
                _ => Err(self.unknown_value(ident, value)),
            };
        }
        let mut found: Option<(Of, &'a Column, &str)> = None;
        let row = (Of::Row, self.table, self.table.name.as_str());
        let inner = self
            .inner
            .iter()
            .rev()
            .map(|inner| (Of::Sub(inner.id), inner.table, inner.name.as_str()));
        for (of, table, name) in inner.chain([row]) {
            let Some(column) = column(table, &ident.value) else {
                continue;
            };
            if let Some((_, _, first)) = found {
                let message = format!("`{}` is a column of `{first}` and of `{name}`", ident.value);
                let help = format!("write `{first}.{0}` or `{name}.{0}`", ident.value);
                return Err(ExprFault::at(ident.span, message).with_help(help));
            }
            found = Some((of, column, name));
        }
        match found {
            Some((of, column, _)) => open(of, column, ident),
            None => Err(self.unknown_column(ident, &self.all_tables())),
        }
    }

    /// A name with its table, or a value with its part.
    pub(super) fn two(&mut self, first: &Ident, second: &Ident) -> Result<Found<'a>, ExprFault> {
        if let Some(value) = at_name(first) {
            return self
                .value(value, first, second)
                .map(|value| (Node::Value(value), None));
        }
        let of = match first.value.to_ascii_lowercase().as_str() {
            "old" => Some(Of::Old),
            "new" => Some(Of::New),
            _ => None,
        };
        if let Some(of) = of {
            if self.place != Place::Change {
                let message = format!(
                    "`{}.` is only there in `update` and in rules of custom operations",
                    first.value
                );
                return Err(ExprFault::at(first.span, message)
                    .with_help("a column alone is that of the row"));
            }
            return self.of_table(of, self.table, second);
        }
        let inner = self
            .inner
            .iter()
            .rev()
            .find(|inner| inner.name.eq_ignore_ascii_case(&first.value));
        if let Some((id, table)) = inner.map(|inner| (inner.id, inner.table)) {
            return self.of_table(Of::Sub(id), table, second);
        }
        if self.table.name.eq_ignore_ascii_case(&first.value) {
            return self.of_table(Of::Row, self.table, second);
        }
        let known: Vec<&str> = self.all_tables().iter().map(|(name, _)| *name).collect();
        let message = format!("`{}` is no table of this expression", first.value);
        Err(ExprFault::at(first.span, message).with_nearest(&first.value, &known))
    }

    fn of_table(&self, of: Of, table: &'a Table, ident: &Ident) -> Result<Found<'a>, ExprFault> {
        match column(table, &ident.value) {
            Some(column) => open(of, column, ident),
            None => Err(self.unknown_column(ident, &[(table.name.as_str(), table)])),
        }
    }

    fn value(&mut self, value: &str, first: &Ident, second: &Ident) -> Result<Value, ExprFault> {
        match value {
            "user" if second.value == "id" => Ok(Value::UserId),
            "user" if second.value == "table" => Ok(Value::UserTable),
            "user" => self.user_column(second),
            "claims" => Ok(Value::Claim(second.value.clone())),
            "input" if self.place == Place::Operation => {
                self.inputs.insert(second.value.clone());
                Ok(Value::Input(second.value.clone()))
            }
            "input" => Err(ExprFault::at(
                first.span,
                "`@input` is only there in custom operations",
            )),
            "admin" => Err(ExprFault::at(
                second.span,
                "`@admin` is true or false and has no parts",
            )),
            _ => Err(self.unknown_value(first, value)),
        }
    }

    /// A column that accounts of some auth table have.
    fn user_column(&self, ident: &Ident) -> Result<Value, ExprFault> {
        let accounts: Vec<(&str, &Table)> = self
            .schema
            .tables()
            .filter(|table| table.options.auth || table.options.admin)
            .map(|table| (table.name.as_str(), &**table))
            .collect();
        if accounts.is_empty() {
            return Err(ExprFault::at(ident.span, "no table has accounts")
                .with_help("list it under `app.tables` with `auth`"));
        }
        let found: Vec<&Column> = accounts
            .iter()
            .filter_map(|(_, table)| column(table, &ident.value))
            .collect();
        match found.iter().find(|column| !column.secret).or(found.first()) {
            Some(column) => {
                open(Of::Row, column, ident).map(|_| Value::UserColumn(column.name.clone()))
            }
            None => Err(self.unknown_column(ident, &accounts)),
        }
    }

    fn all_tables(&self) -> Vec<(&str, &'a Table)> {
        let inner = self
            .inner
            .iter()
            .rev()
            .map(|inner| (inner.name.as_str(), inner.table));
        let row: (&str, &'a Table) = (&self.table.name, self.table);
        inner.chain([row]).collect()
    }

    fn unknown_column(&self, ident: &Ident, tables: &[(&str, &Table)]) -> ExprFault {
        let names: Vec<&str> = tables
            .iter()
            .flat_map(|(_, table)| table.columns.iter().filter(|column| !column.secret))
            .map(|column| column.name.as_str())
            .collect();
        let message = format!("unknown column `{}`", ident.value);
        let fault = ExprFault::at(ident.span, message).with_nearest(&ident.value, &names);
        if fault.help.is_none() && ident.quote_style.is_some() {
            return fault.with_help(format!("a text stands in single quotes: '{}'", ident.value));
        }
        fault
    }

    fn unknown_value(&self, ident: &Ident, value: &str) -> ExprFault {
        let known = match self.place {
            Place::Operation => &["user", "claims", "admin", "input"][..],
            _ => &["user", "claims", "admin"],
        };
        let fault = ExprFault::at(ident.span, format!("there is no `@{value}`"));
        match zonai_engine::schema::nearest(value, known.iter().copied()) {
            Some(near) => fault.with_help(format!("did you mean `@{near}`?")),
            None => fault.with_help("there are `@user.id`, `@user.table`, `@user.<column>`, `@claims.<name>` and `@admin`"),
        }
    }
}

/// The part of `@name` after the `@`.
fn at_name(ident: &Ident) -> Option<&str> {
    ident
        .value
        .strip_prefix('@')
        .filter(|_| ident.quote_style.is_none())
}

/// The column of that name; in any letter case, as SQL takes it.
pub(super) fn column<'t>(table: &'t Table, name: &str) -> Option<&'t Column> {
    table.column(name).or_else(|| {
        table
            .columns
            .iter()
            .find(|column| column.name.eq_ignore_ascii_case(name))
    })
}

fn open<'a>(of: Of, column: &'a Column, ident: &Ident) -> Result<Found<'a>, ExprFault> {
    if column.secret {
        return Err(ExprFault::at(
            ident.span,
            format!("`{}` is secret and cannot be used here", column.name),
        ));
    }
    Ok((Node::Column(of, column.name.clone()), Some(column)))
}
