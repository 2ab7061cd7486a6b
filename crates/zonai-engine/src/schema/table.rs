//! A table or view as the server sees it.
//!
//! Must never change once it was read: requests share it.

use std::collections::HashMap;

use super::{Column, ColumnKind};
use crate::dialect;

/// `app.tables.<name>` of the project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// Rows are accounts: a column `password` is secret.
    pub auth: bool,
    /// Rows are admins.
    pub admin: bool,
    /// The end of the ids that the server makes; `None` for the first two letters of the name.
    pub id_suffix: Option<String>,
    /// Further columns that are write-only.
    pub secret_columns: Vec<String>,
}

/// A table or view.
#[derive(Clone, Debug)]
pub struct Table {
    /// The name, as declared.
    pub name: String,
    /// A view can be read only.
    pub is_view: bool,
    /// All columns, in the order of the declaration.
    pub columns: Vec<Column>,
    /// Places of the primary key's columns, in the order of the key.
    pub primary_key: Vec<usize>,
    /// What tells rows apart.
    pub identity: Identity,
    /// The `TEXT PRIMARY KEY` whose values the server makes.
    pub made_id: Option<usize>,
    /// `createdAt` or `created_at`.
    pub created: Option<usize>,
    /// `updatedAt` or `updated_at`.
    pub updated: Option<usize>,
    /// Of a table of accounts, the column that says whether the address is proven: `emailVerified`, `email_verified`, `verified` or
    /// `isVerified`. Only the server and admins set it.
    pub verified: Option<usize>,
    /// Foreign keys of one column, the ones that can be expanded.
    pub foreign_keys: Vec<ForeignKey>,
    /// What the project says about the table.
    pub options: TableOptions,
    /// The end of ids made for this table.
    pub id_suffix: String,
    pub(super) places: HashMap<String, usize>,
    /// SQL that is the same for every read of the table.
    pub select: Select,
}

/// What tells the rows of a table apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// The hidden row number, by the name that no column hides.
    RowId(&'static str),
    /// The primary key (WITHOUT ROWID).
    PrimaryKey,
    /// Nothing (a view).
    None,
}

/// A column that holds the key of a row elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// Place of the column.
    pub column: usize,
    /// The other table.
    pub table: String,
    /// The other table's column.
    pub references: String,
}

/// SQL that is the same for every read of the table. `shown` and `keys` have the same length, 0 where all is secret.
#[derive(Clone, Debug, Default)]
pub struct Select {
    /// The columns that are shown, in order: their places.
    pub shown: Vec<usize>,
    /// Their names, quoted, with commas.
    pub list: String,
    /// Their names as keys of a JSON object, from the second one on with a comma before.
    pub keys: Vec<String>,
}

impl Table {
    /// The column with exactly this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.places.get(name).map(|at| &self.columns[*at])
    }

    /// The place of the column with exactly this name.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// The one column of the primary key, where it is one.
    #[must_use]
    pub fn key_column(&self) -> Option<usize> {
        match self.primary_key.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }

    /// Whether a row could not be found again after its primary key changed.
    #[must_use]
    pub fn key_is_fixed(&self) -> bool {
        self.identity == Identity::PrimaryKey || self.primary_key.len() == 1
    }

    /// Whether the server sets the column at this place itself: a made id, or the time of making or changing.
    #[must_use]
    pub fn is_kept(&self, at: usize) -> bool {
        [self.made_id, self.created, self.updated].contains(&Some(at))
    }

    /// Fills in what follows from the columns.
    pub(super) fn finish(mut self) -> Self {
        self.places = self
            .columns
            .iter()
            .enumerate()
            .map(|(at, column)| (column.name.clone(), at))
            .collect();
        let first_of = |names: &[&str]| {
            names
                .iter()
                .find_map(|name| self.places.get(*name).copied())
        };
        self.created = first_of(&["createdAt", "created_at"]);
        self.updated = first_of(&["updatedAt", "updated_at"]);
        self.verified = first_of(&["emailVerified", "email_verified", "verified", "isVerified"])
            .filter(|_| self.options.auth || self.options.admin);
        self.made_id = self
            .key_column()
            .filter(|at| self.columns[*at].kind == ColumnKind::Text);
        let shown: Vec<usize> = (0..self.columns.len())
            .filter(|at| !self.columns[*at].secret)
            .collect();
        let names: Vec<_> = shown
            .iter()
            .map(|at| dialect::quoted(&self.columns[*at].name))
            .collect();
        let keys = shown
            .iter()
            .enumerate()
            .map(|(nth, at)| {
                let key = serde_json::Value::from(self.columns[*at].name.as_str());
                format!("{}{key}:", if nth == 0 { "" } else { "," })
            })
            .collect();
        self.select = Select {
            shown,
            list: names.join(","),
            keys,
        };
        self
    }
}
