//! Who may do what with the rows of a table: the seam [`Rights`] that operations ask, and the rules files behind it.
//!
//! A rule is parsed and checked once, at load, and becomes an SQL expression with values of the [`Caller`]. Must never run it:
//! whoever asks puts it into a query of its own. Payloads and the grammar of queries are `zonai-data`'s.

pub mod caller;
pub mod rights;
pub mod rules;

pub use caller::{Caller, User};
pub use rights::{AccountAction, Action, Rights, RowExpr, RuleText, TrueFalse, Verdict};
pub use rules::{ExprFault, OperationExpr, RuleKey, Rules};
