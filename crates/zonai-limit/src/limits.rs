//! What was configured, before it is resolved: limits per operation, and where each was written.
//!
//! Plain data that every source of policies (files, code, settings) makes, and the registry reads.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::{Operation, RateLimitPolicy};

/// Where a limit was written, for `limits list`, `limits explain` and the diagnostics.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Origin {
    /// Nowhere: the built-in default.
    Default,
    /// In a file (policy file or `zonai.yaml`), at a place counted from 1.
    File {
        /// The path as it is shown.
        path: Arc<str>,
        /// Line, from 1.
        line: u32,
        /// Column in characters, from 1.
        column: u32,
    },
    /// In a Rust type.
    Code {
        /// The type's name.
        type_name: &'static str,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line, column } => write!(f, "{path}:{line}:{column}"),
            Self::Code { type_name } => write!(f, "{type_name}"),
        }
    }
}

/// Whether a limit refuses, or only counts and reports what it would have refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    /// Refuse what is over the limit.
    #[default]
    Enforce,
    /// Count and report, refuse nothing.
    Observe,
}

/// The limit of one operation: any number of windows that all must admit. None at all is "no limit".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The windows, as written; empty means that the operation is not limited and not counted.
    pub windows: Vec<RateLimitPolicy>,
    /// Whether the limit refuses.
    pub mode: Mode,
    /// Where it was written.
    pub origin: Origin,
}

/// The most windows one operation may have.
pub const MAX_WINDOWS: usize = 8;

/// A table's limits as a file states them: what is left out has the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableLimits {
    /// The table's name.
    pub table: String,
    /// Where the registration stands (the `limits:` or `auth:` key, or the class).
    pub origin: Origin,
    /// Limits by operation; for `limits` those of [`Operation::TABLE`], for `auth` those of [`Operation::AUTH`].
    pub operations: BTreeMap<Operation, Limit>,
    /// Limits of named custom operations. `operations[Custom]` holds what applies to the other names.
    pub custom: BTreeMap<String, Limit>,
    /// The mode of operations that are left out of `operations` (a table-wide `mode: observe`).
    pub mode: Mode,
}

/// Which of a table's two registrations is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// `limits:` / `TableRateLimits`: the table's `/db` traffic.
    Table,
    /// `auth:` / `AuthTableRateLimits`: the table's auth routes.
    Auth,
}
