//! The grammar of payloads: where, order, page, expand and updates, resolved against a table.
//!
//! What leaves this module holds places of columns and values to bind, no names from callers. Every fault says where in the
//! payload it is.

pub(crate) mod changes;
pub(crate) mod condition;
pub(crate) mod expand;
pub(crate) mod page;
mod parse;
mod prepared;
pub(crate) mod sql;

use std::fmt;

pub(crate) use condition::{Condition, Operator, Test};
pub(crate) use sql::Sql;

use crate::DataError;
use crate::schema::{Column, Table, nearest};

/// Where in the payload something stands, such as `where.conditions[3].column`; rendered only for an error.
#[derive(Clone, Copy)]
pub(crate) enum Place<'a> {
    Root(&'a str),
    Member(&'a Place<'a>, &'a str),
    Item(&'a Place<'a>, usize),
}

impl<'a> Place<'a> {
    pub(crate) fn member(&'a self, name: &'a str) -> Self {
        Self::Member(self, name)
    }

    pub(crate) fn item(&'a self, at: usize) -> Self {
        Self::Item(self, at)
    }
}

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root(name) => f.write_str(name),
            Self::Member(of, name) => write!(f, "{of}.{name}"),
            Self::Item(of, at) => write!(f, "{of}[{at}]"),
        }
    }
}

/// The column that a caller may read, by its exact name. The answer for a secret column is that for an unknown one.
pub(crate) fn readable(table: &Table, name: &str, place: &Place<'_>) -> Result<usize, DataError> {
    match table.place(name) {
        Some(at) if !table.columns[at].secret => Ok(at),
        Some(_) | None => Err(unknown(table, name, place)),
    }
}

/// The error for a column that does not exist, with the one that was probably meant.
pub(crate) fn unknown(table: &Table, name: &str, place: &Place<'_>) -> DataError {
    let open = |column: &&Column| !column.secret;
    let names = table
        .columns
        .iter()
        .filter(open)
        .map(|column| column.name.as_str());
    let near =
        nearest(name, names).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    DataError::at(
        place,
        format_args!("unknown column `{}`{near}", shortened(name)),
    )
}

/// A caller's text for an error message: not longer than helps.
pub(crate) fn shortened(text: &str) -> String {
    let mut short: String = text.chars().take(64).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
