//! Who may sign up, sign in and reset a password: the seam to the rules, which are not this crate's business.

use rusqlite::Connection;
use rusqlite::types::Value as Cell;
use serde_json::{Map, Value};

use crate::{AuthError, Caller};

/// What is asked of the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthAction {
    /// `signUp`, asked on the row that was just made; a no undoes it.
    SignUp,
    /// `signIn`, asked after the password, code or link was found right, and at a refresh.
    SignIn,
    /// `passwordReset`, asked before the mail is sent and again before the password is set.
    PasswordReset,
}

/// One question.
#[derive(Clone, Copy, Debug)]
pub struct AuthAsk<'a> {
    /// What is to be done.
    pub action: AuthAction,
    /// The auth table.
    pub table: &'a str,
    /// The account's row, without its password.
    pub row: &'a Map<String, Value>,
    /// Who asks, if signed in already.
    pub caller: Option<&'a Caller>,
}

/// The rules, as accounts ask them. Called on the writer, in the transaction: must be quick.
pub trait AuthGate: Send + Sync + 'static {
    /// Whether it is allowed.
    ///
    /// # Errors
    /// A fault; a hook that throws is [`AuthError::BadRequest`] with its text. Either undoes the request.
    fn allows(&self, connection: &Connection, ask: &AuthAsk<'_>) -> Result<bool, AuthError>;

    /// Whether a sign-up would be allowed whose row breaks a constraint, by the values that it was to have: only then the
    /// constraint is told of.
    ///
    /// # Errors
    /// As [`AuthGate::allows`].
    fn would_allow(
        &self,
        connection: &Connection,
        table: &str,
        row: &[(String, Cell)],
        caller: Option<&Caller>,
    ) -> Result<bool, AuthError> {
        let _ = (connection, table, row, caller);
        Ok(false)
    }

    /// What goes into a new token as `claims`.
    fn claims(&self, table: &str, row: &Map<String, Value>) -> Map<String, Value> {
        let _ = (table, row);
        Map::new()
    }
}
