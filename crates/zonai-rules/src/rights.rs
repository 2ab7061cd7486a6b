//! Who may do what: the seam between the operations and the rules.
//!
//! An operation asks for a [`Verdict`] before it builds any SQL, and holds the rows against it afterwards, in the same
//! transaction. What compiles rules into verdicts implements [`Rights`].
//! Must never allow by default: a table that nobody wrote rules for is for admins.

use std::collections::BTreeMap;

use rusqlite::types::Value as Sql;

use crate::Caller;
use zonai_engine::schema::Table;

/// What is asked for. `List` and `Count` are apart because a rules file can set both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Action {
    /// One row.
    View,
    /// Rows.
    List,
    /// How many rows.
    Count,
    /// A new row.
    Create,
    /// A change of rows.
    Update,
    /// The end of rows.
    Delete,
}

/// What an account asks for, beside its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AccountAction {
    /// A new account, asked on its row.
    SignUp,
    /// A session.
    SignIn,
    /// Another password.
    PasswordReset,
}

/// An SQL expression over a row with its values, checked by whoever made it.
///
/// The row is the alias [`RowExpr::ROW`]; in an update's `after` the rows are [`RowExpr::OLD`] and [`RowExpr::NEW`], in its
/// `before` [`RowExpr::OLD`]. Values are anonymous `?`, in the order of `values`.
#[derive(Clone, Debug, PartialEq)]
pub struct RowExpr {
    /// The expression; anything but true (also NULL) is a no.
    pub sql: String,
    /// What its `?` stand for.
    pub values: Vec<Sql>,
    /// Other tables that it reads, so that live queries look again when they change.
    pub reads: Vec<String>,
}

impl RowExpr {
    /// The row in question.
    pub const ROW: &'static str = "_row";
    /// The row before an update.
    pub const OLD: &'static str = "_old";
    /// The row after an update.
    pub const NEW: &'static str = "_new";
}

/// What the rules say about one action of one caller on one table.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// On every row.
    Allow,
    /// On no row: 403 before any SQL.
    Deny,
    /// On rows that meet the expression over [`RowExpr::ROW`]. For every action but `Update`.
    Rows(RowExpr),
    /// For `Update`: rows that meet `before`, into a state that meets `after`.
    Change {
        /// Over [`RowExpr::OLD`].
        before: RowExpr,
        /// Over [`RowExpr::OLD`] and [`RowExpr::NEW`].
        after: RowExpr,
    },
}

/// The rules of all tables. Must be cheap: it is asked once or twice for each request.
pub trait Rights: Send + Sync {
    /// What `caller` may do.
    fn verdict(&self, table: &Table, action: Action, caller: &Caller) -> Verdict;

    /// Whether `caller` may run a custom operation, asked as for `Update`; without a rule it is for admins.
    fn custom(&self, table: &Table, operation: &str, caller: &Caller) -> Verdict {
        let _ = (table, operation);
        if caller.is_admin() {
            Verdict::Allow
        } else {
            Verdict::Deny
        }
    }

    /// Whether an account may do what it asks for, on the row of the account; allowed without a rule.
    fn account(&self, table: &Table, action: AccountAction, caller: &Caller) -> Verdict {
        let _ = (table, action, caller);
        Verdict::Allow
    }

    /// Whether a list or count without `filter` leaves out what the caller may not see, instead of failing.
    fn filters(&self, table: &Table) -> bool {
        let _ = table;
        false
    }
}

/// One entry of a rules file, as it stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleText {
    /// `true` or `false`.
    Fixed(bool),
    /// An expression.
    Expression(String),
}

/// Rights from files whose entries are `true` or `false` only.
///
/// Without a file a table is for admins; what a file leaves out is for admins too, but `count` follows `list`.
#[derive(Clone, Debug, Default)]
pub struct TrueFalse {
    tables: BTreeMap<String, BTreeMap<Action, bool>>,
}

/// An entry that [`TrueFalse`] cannot serve.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{table}.{key}: {reason}")]
pub struct RuleError {
    /// The table.
    pub table: String,
    /// The entry.
    pub key: String,
    /// Why not.
    pub reason: &'static str,
}

impl Action {
    /// The name of the entry in a rules file.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::List => "list",
            Self::Count => "count",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }

    /// All actions.
    pub const ALL: [Self; 6] = [
        Self::View,
        Self::List,
        Self::Count,
        Self::Create,
        Self::Update,
        Self::Delete,
    ];
}

impl AccountAction {
    /// The name of the entry in a rules file.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Self::SignUp => "signUp",
            Self::SignIn => "signIn",
            Self::PasswordReset => "passwordReset",
        }
    }

    /// All of them.
    pub const ALL: [Self; 3] = [Self::SignUp, Self::SignIn, Self::PasswordReset];
}

impl TrueFalse {
    /// From the entries of each table's file.
    ///
    /// # Errors
    /// For an entry that is no action, or an expression.
    pub fn new(files: &BTreeMap<String, BTreeMap<String, RuleText>>) -> Result<Self, RuleError> {
        let mut tables = BTreeMap::new();
        for (table, entries) in files {
            let mut actions = BTreeMap::new();
            for (key, rule) in entries {
                let error = |reason| RuleError {
                    table: table.clone(),
                    key: key.clone(),
                    reason,
                };
                let action = Action::ALL
                    .into_iter()
                    .find(|action| action.key() == key)
                    .ok_or_else(|| error("no such rule"))?;
                let RuleText::Fixed(allowed) = rule else {
                    return Err(error("expected true or false"));
                };
                actions.insert(action, *allowed);
            }
            tables.insert(table.clone(), actions);
        }
        Ok(Self { tables })
    }
}

impl Rights for TrueFalse {
    fn verdict(&self, table: &Table, action: Action, caller: &Caller) -> Verdict {
        let entries = self.tables.get(&table.name);
        let entry = |action| entries.and_then(|entries| entries.get(&action)).copied();
        let written = entry(action).or_else(|| {
            if action == Action::Count {
                entry(Action::List)
            } else {
                None
            }
        });
        if written.unwrap_or_else(|| caller.is_admin()) {
            Verdict::Allow
        } else {
            Verdict::Deny
        }
    }
}
