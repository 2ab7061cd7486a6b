//! What exists and what was configured for it: the input of the [`Limiter`](crate::Limiter).
//!
//! Plain data and its faults. Must never decide about a request.

mod compile;
mod plan;
mod slots;

use std::fmt;
use std::sync::Arc;

use crate::code::{ErasedAuth, ErasedTable};
use crate::{
    AuthTableRateLimits, DynRateLimits, Kind, Operation, Origin, TableLimits, TableRateLimits,
};

pub(crate) use compile::{Input, compile};
pub(crate) use plan::{Config, Plan, PlanSource};
pub use slots::SlotName;
pub(crate) use slots::{Book, Owner};

/// The tables that exist, in an order that stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// One entry per table.
    pub tables: Vec<KnownTable>,
}

/// One table that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownTable {
    /// Its name.
    pub name: String,
    /// Whose accounts its rows are.
    pub accounts: Accounts,
    /// Its custom operations.
    pub custom: CustomNames,
}

/// Whose accounts the rows of a table are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accounts {
    /// Nobody's.
    #[default]
    None,
    /// Users'. It is an auth table.
    Users,
    /// Admins'. It is an auth table, but its account routes count in [`Shared::AdminAuth`](crate::Shared::AdminAuth): of its
    /// own limits only that of failed sign-ins is counted.
    Admins,
}

impl Accounts {
    /// The operations on accounts that a policy of the table limits.
    #[must_use]
    pub const fn operations(self) -> &'static [Operation] {
        match self {
            Self::None => &[],
            Self::Users => &Operation::AUTH,
            Self::Admins => &[Operation::FailedSignIn],
        }
    }
}

/// Which custom operations a table has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CustomNames {
    /// These; each is a bucket of its own.
    Registered(Vec<String>),
    /// An embedding program takes any name: all share one counter.
    Unvalidated,
}

/// A table of [`Known`]. Stays the same while the server runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableId(pub(crate) u32);

/// A registered custom operation of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CustomId(pub(crate) u32);

/// One set of limits for one table.
#[derive(Clone, Debug)]
pub struct Registration {
    /// For its `/db` traffic or for its auth routes.
    pub kind: Kind,
    /// Where the limits come from.
    pub source: Source,
}

/// Where the limits of a [`Registration`] come from.
#[derive(Clone)]
pub enum Source {
    /// Written in a file.
    Stated(TableLimits),
    /// Asked from a Rust value.
    Code(Arc<dyn DynRateLimits>),
}

impl Registration {
    /// Limits that a file states.
    #[must_use]
    pub const fn stated(kind: Kind, limits: TableLimits) -> Self {
        Self {
            kind,
            source: Source::Stated(limits),
        }
    }

    /// Limits of a table's `/db` traffic, in Rust.
    #[must_use]
    pub fn table(limits: impl TableRateLimits) -> Self {
        Self {
            kind: Kind::Table,
            source: Source::Code(Arc::new(ErasedTable(limits))),
        }
    }

    /// Limits of a table's auth routes, in Rust.
    #[must_use]
    pub fn auth(limits: impl AuthTableRateLimits) -> Self {
        Self {
            kind: Kind::Auth,
            source: Source::Code(Arc::new(ErasedAuth(limits))),
        }
    }

    /// The table that is limited.
    #[must_use]
    pub fn table_name(&self) -> &str {
        match &self.source {
            Source::Stated(limits) => &limits.table,
            Source::Code(code) => code.table(),
        }
    }

    /// Where it is written.
    #[must_use]
    pub fn origin(&self) -> Origin {
        match &self.source {
            Source::Stated(limits) => limits.origin.clone(),
            Source::Code(code) => Origin::Code {
                type_name: code.type_name(),
            },
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stated(limits) => f.debug_tuple("Stated").field(limits).finish(),
            Self::Code(code) => f.debug_tuple("Code").field(&code.type_name()).finish(),
        }
    }
}

/// Why a configuration was not taken. What is `known` lets the caller name the nearest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegistryFault {
    /// A limit for a table that does not exist.
    #[error("{origin}: there is no table `{table}`")]
    UnknownTable {
        /// The name that was written.
        table: String,
        /// Where.
        origin: Origin,
        /// The tables there are.
        known: Vec<String>,
    },
    /// Auth limits for a table that is no auth table.
    #[error("{origin}: `{table}` is no auth table")]
    NotAuth {
        /// The table.
        table: String,
        /// Where.
        origin: Origin,
        /// The auth tables there are.
        known: Vec<String>,
    },
    /// A limit for a custom operation that is not registered.
    #[error("{origin}: `{table}` has no custom operation `{operation}`")]
    UnknownCustom {
        /// The table.
        table: String,
        /// The name that was written.
        operation: String,
        /// Where.
        origin: Origin,
        /// The custom operations there are; none where names are not validated and all share one limit.
        known: Vec<String>,
    },
    /// An operation that has no limit there.
    #[error("{origin}: `{}` cannot be limited here", .operation.name())]
    Misplaced {
        /// The operation.
        operation: Operation,
        /// Where.
        origin: Origin,
        /// Operations that can.
        known: Vec<&'static str>,
    },
    /// A limit of an account operation that counts in the shared bucket of admins.
    #[error("{origin}: `{}` is not counted in `{table}`: accounts of admins share the bucket `__admin_auth__`", .operation.name())]
    CountedForAdmins {
        /// The table.
        table: String,
        /// The operation.
        operation: Operation,
        /// Where.
        origin: Origin,
    },
    /// More windows than one operation may have.
    #[error("{origin}: `{}` has {windows} windows, at most {} are possible", .operation.name(), crate::limits::MAX_WINDOWS)]
    TooManyWindows {
        /// The operation.
        operation: Operation,
        /// How many were written.
        windows: usize,
        /// Where.
        origin: Origin,
    },
    /// A shared operation that is limited twice.
    #[error("{origin}: `{}` is limited twice", .operation.name())]
    SharedTwice {
        /// The operation.
        operation: Operation,
        /// Where the second limit stands.
        origin: Origin,
    },
}

/// Two registrations of one kind for one table: every check fails until one is gone. `Display` is the one text of
/// the inside that a caller sees; the places are for operators.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} rate limits already registered for {table}", kind_name(*.kind))]
pub struct Misregistered {
    /// Which kind.
    pub kind: Kind,
    /// The table.
    pub table: Arc<str>,
    /// Where the first is written.
    pub first: Origin,
    /// Where the second is.
    pub second: Origin,
}

const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Table => "Table",
        Kind::Auth => "Auth table",
    }
}
