//! Accounts as the way of a request needs them: who asks, and what joins accounts, rules and data.
//!
//! Must never hash or mail: `zonai-auth` does.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::{HeaderMap, header};
use rusqlite::Connection;
use rusqlite::types::Value;
use serde_json::{Map, Value as Json};
use zonai_auth::{Auth, AuthAction, AuthAsk, AuthError, AuthGate, Hasher, Password, parse_bearer};
use zonai_code::Hooks;
use zonai_data::{AccountAction, Caller, DataError, Database, HashPassword, User};
use zonai_limit::{Admitted, Client};

/// The text of a token that came with a request; `None` without one.
pub(crate) fn token(headers: &HeaderMap) -> Result<Option<&str>, AuthError> {
    let Some(value) = headers.get(header::AUTHORIZATION) else {
        return Ok(None);
    };
    match parse_bearer(value.as_bytes()) {
        Some(token) => Ok(Some(token)),
        None => Err(AuthError::Unauthorized("Invalid or expired token")),
    }
}

/// Who asks, looked up; anonymous without a token.
///
/// # Errors
/// 401 for a token that is not good.
pub(crate) fn caller(
    auth: &Auth,
    admitted: &Admitted,
    headers: &HeaderMap,
) -> Result<Caller, AuthError> {
    match token(headers)? {
        None => Ok(Caller::Anonymous),
        Some(token) => auth
            .authenticate(admitted, token)
            .map(|found| as_data(&found)),
    }
}

/// A signed-in caller as the rules see it.
pub(crate) fn as_data(caller: &zonai_auth::Caller) -> Caller {
    let user = Arc::new(User {
        id: caller.user_id.to_value(),
        table: caller.table.clone(),
        claims: caller.claims.clone(),
        row: caller.user.clone(),
    });
    if caller.admin {
        Caller::Admin(Some(user))
    } else {
        Caller::User(user)
    }
}

/// Hashes passwords that are written through `/db`.
pub(crate) struct PasswordColumns(pub(crate) Arc<Hasher>);

impl HashPassword for PasswordColumns {
    fn hash<'a>(
        &'a self,
        plain: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<String, DataError>> + Send + 'a>> {
        Box::pin(async move {
            let password = Password::chosen(plain)
                .map_err(|error| DataError::BadRequest(error.to_string()))?;
            self.0
                .hash(Client::Local, password)
                .await
                .map_err(|error| match error {
                    AuthError::Busy(_) => DataError::BusyWriting,
                    _ => DataError::Internal,
                })
        })
    }
}

/// The project's rules on accounts, asked in the transaction of the account; allowed where none is written. And what the
/// program's hooks put into tokens.
pub(crate) struct AskRules {
    pub(crate) data: Database,
    pub(crate) hooks: Arc<Hooks>,
}

impl AuthGate for AskRules {
    fn allows(&self, connection: &Connection, ask: &AuthAsk<'_>) -> Result<bool, AuthError> {
        let action = match ask.action {
            AuthAction::SignUp => AccountAction::SignUp,
            AuthAction::SignIn => AccountAction::SignIn,
            AuthAction::PasswordReset => AccountAction::PasswordReset,
        };
        let caller = ask.caller.map_or(Caller::Anonymous, as_data);
        self.data
            .account_allows(connection, ask.table, action, ask.row, &caller)
            .map_err(|_logged| AuthError::Internal)
    }

    fn would_allow(
        &self,
        connection: &Connection,
        table: &str,
        row: &[(String, Value)],
        caller: Option<&zonai_auth::Caller>,
    ) -> Result<bool, AuthError> {
        let caller = caller.map_or(Caller::Anonymous, as_data);
        self.data
            .new_account_allowed(connection, table, row, &caller)
            .map_err(|_logged| AuthError::Internal)
    }

    fn claims(&self, table: &str, row: &Map<String, Json>) -> Map<String, Json> {
        self.hooks.claims(table, row)
    }
}
