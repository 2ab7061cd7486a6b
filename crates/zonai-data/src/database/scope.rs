//! The first steps of every operation: which table, and what the rules say about it before anything else is looked at.

use std::sync::Arc;

use super::Inner;
use crate::rights::{Action, RowExpr, Verdict};
use crate::schema::Table;
use crate::{Caller, DataError, Payload, Rights};

/// A table that the caller may work on, and on which of its rows.
pub(super) struct Scope {
    pub(super) table: Arc<Table>,
    /// `None`: on all rows.
    pub(super) rule: Option<Rule>,
    /// What is asked for leaves out rows that may not be seen, where the rules file says so.
    pub(super) filters: bool,
}

/// What rows have to meet.
pub(super) enum Rule {
    Rows(RowExpr),
    Change { before: RowExpr, after: RowExpr },
}

impl Scope {
    /// # Errors
    /// 400 without a table, 404 for one that is not served, 403 where the rules say no whatever the row.
    pub(super) fn open(
        inner: &Inner,
        caller: &Caller,
        payload: &Payload,
        action: Action,
    ) -> Result<Self, DataError> {
        let table = inner
            .schema
            .table(payload.table()?)
            .ok_or(DataError::NotFound)?;
        inner.asked();
        let rights = inner.rights.load();
        Self::of(table, &***rights, rights.verdict(table, action, caller))
    }

    /// As [`Scope::open_to_write`], for a custom operation, which asks only its own rule.
    ///
    /// # Errors
    /// As those.
    pub(super) fn open_custom(
        inner: &Inner,
        caller: &Caller,
        payload: &Payload,
        operation: &str,
    ) -> Result<Self, DataError> {
        let table = inner
            .schema
            .table(payload.table()?)
            .ok_or(DataError::NotFound)?;
        inner.asked();
        let rights = inner.rights.load();
        Self::of(table, &***rights, rights.custom(table, operation, caller))?.writable()
    }

    fn of(table: &Arc<Table>, rights: &dyn Rights, verdict: Verdict) -> Result<Self, DataError> {
        let rule = match verdict {
            Verdict::Allow => None,
            Verdict::Deny => return Err(DataError::Forbidden),
            Verdict::Rows(rule) => Some(Rule::Rows(rule)),
            Verdict::Change { before, after } => Some(Rule::Change { before, after }),
        };
        Ok(Self {
            table: Arc::clone(table),
            rule,
            filters: rights.filters(table),
        })
    }

    /// As [`Scope::open`], for what writes.
    ///
    /// # Errors
    /// Also 400 for a view.
    pub(super) fn open_to_write(
        inner: &Inner,
        caller: &Caller,
        payload: &Payload,
        action: Action,
    ) -> Result<Self, DataError> {
        Self::open(inner, caller, payload, action)?.writable()
    }

    fn writable(self) -> Result<Self, DataError> {
        if self.table.is_view {
            return Err(DataError::at(
                "table",
                format_args!("`{}` can only be read", self.table.name),
            ));
        }
        Ok(self)
    }

    /// The rule on single rows.
    ///
    /// # Errors
    /// 403 for a rule of another kind, which the caller of the rules should not have made.
    pub(super) fn rows(self) -> Result<(Arc<Table>, Option<RowExpr>), DataError> {
        match self.rule {
            None => Ok((self.table, None)),
            Some(Rule::Rows(rule)) => Ok((self.table, Some(rule))),
            Some(Rule::Change { .. }) => Err(DataError::Forbidden),
        }
    }
}
