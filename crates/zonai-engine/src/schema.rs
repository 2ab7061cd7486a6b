//! What tables there are: read from the database after the migrations ran, never guessed from SQL text.
//!
//! Tables that begin with `_` are internal and are not in here.

mod column;
mod introspect;
mod names;
mod table;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use column::{Column, ColumnKind};
pub use names::nearest;
pub(crate) use names::{TableName, check_table_name};
pub use table::{ForeignKey, Identity, Select, Table, TableOptions};

/// Why the tables of a database cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// SQLite says no.
    #[error("cannot read the tables of the database")]
    Sqlite(#[from] rusqlite::Error),
    /// A name that cannot be served.
    #[error("table `{table}`: {reason}")]
    Name {
        /// The table.
        table: String,
        /// What is wrong with its name.
        reason: &'static str,
    },
    /// Two tables whose names differ in upper and lower case only.
    #[error("tables `{one}` and `{other}` differ in upper and lower case only")]
    Case {
        /// The first.
        one: String,
        /// The second.
        other: String,
    },
    /// Options for a table that does not exist.
    #[error("`app.tables.{table}`: there is no such table{}", near(nearest.as_deref()))]
    Unknown {
        /// The name in the options.
        table: String,
        /// A table with a similar name.
        nearest: Option<String>,
    },
}

fn near(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// The tables that are served. Immutable once read.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    tables: BTreeMap<String, Arc<Table>>,
}

impl Schema {
    /// Reads the tables of an open database.
    ///
    /// # Errors
    /// When SQLite fails, a name cannot be served, or `options` name a table that does not exist.
    pub fn read(
        conn: &rusqlite::Connection,
        options: &BTreeMap<String, TableOptions>,
    ) -> Result<Self, SchemaError> {
        introspect::read(conn, options)
    }

    /// The table with exactly this name.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&Arc<Table>> {
        self.tables.get(name)
    }

    /// The table with this name in any letter case, as SQL takes it; the exact name first.
    #[must_use]
    pub fn table_in_any_case(&self, name: &str) -> Option<&Arc<Table>> {
        self.tables.get(name).or_else(|| {
            self.tables
                .values()
                .find(|table| table.name.eq_ignore_ascii_case(name))
        })
    }

    /// All tables, by name.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<Table>> {
        self.tables.values()
    }

    /// The table whose name is most like `name`, if one is alike enough to have been meant.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.tables.keys().map(String::as_str))
    }
}
