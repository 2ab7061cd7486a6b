//! What the readers must know of the schema: tables, which of them hold accounts, which custom operations exist.
//!
//! Must never know more: a policy file names tables and operations, not columns.

use std::collections::{BTreeMap, BTreeSet};

/// The tables of the schema, by exact name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tables {
    tables: BTreeMap<String, TableFacts>,
}

/// What is known of one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableFacts {
    /// Accounts sign in to it.
    pub auth: bool,
    /// Its custom operations.
    pub operations: CustomNames,
}

/// The names of a table's custom operations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CustomNames {
    /// Exactly these are registered.
    Known(BTreeSet<String>),
    /// The embedding program says that names cannot be validated: all share one counter, and only `default` can be set.
    Open,
}

impl Default for CustomNames {
    fn default() -> Self {
        Self::Known(BTreeSet::new())
    }
}

impl Tables {
    /// No table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a table, or replaces what was known of it.
    pub fn insert(&mut self, name: impl Into<String>, facts: TableFacts) {
        self.tables.insert(name.into(), facts);
    }

    /// The same with a plain table and its custom operations.
    #[must_use]
    pub fn with(self, name: &str, operations: &[&str]) -> Self {
        self.with_facts(name, false, operations)
    }

    /// The same with an auth table and its custom operations.
    #[must_use]
    pub fn with_auth(self, name: &str, operations: &[&str]) -> Self {
        self.with_facts(name, true, operations)
    }

    fn with_facts(mut self, name: &str, auth: bool, operations: &[&str]) -> Self {
        let operations = CustomNames::Known(operations.iter().map(|&o| o.to_owned()).collect());
        self.insert(name, TableFacts { auth, operations });
        self
    }

    /// What is known of the table of exactly this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&TableFacts> {
        self.tables.get(name)
    }

    /// All names, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tables.keys().map(String::as_str)
    }
}
