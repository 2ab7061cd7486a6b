//! Tokens in use: issued, checked on each request, refreshed, revoked.
//!
//! Must never let a token pass by its signature alone: its row in `_jwt` decides, and the account's row says who it
//! is now.

use std::sync::Arc;

use rusqlite::Connection;
use zonai_data::Pass;

use super::{Auth, Core};
use crate::error::BAD_TOKEN;
use crate::gate::{AuthAction, AuthAsk};
use crate::rows::accounts::{Account, AuthTable, Inserted, NewAccount};
use crate::rows::tokens;
use crate::{AuthError, Caller, Claims, Secret, Session, UserId, db};

/// A row larger than this, as JSON, is not copied into the token, which travels in a header.
const MAX_USER_BYTES: usize = 2_048;

impl Auth {
    /// Who bears that token: its signature is good, its row is there, and its account too.
    ///
    /// # Errors
    /// 401 with one text for all reasons; 503 or 500 of the data engine.
    pub fn authenticate(&self, pass: &impl Pass, token: &str) -> Result<Caller, AuthError> {
        let core = &self.core;
        let now = core.clock.wall_ms();
        let claims = core.tokens.read(token, now)?;
        let table = core.table(&claims.table).map_err(|_| BAD_TOKEN)?;
        let account = db::read(&core.engine, pass, |connection| {
            if is_live(connection, &claims, now)? {
                table.by_id(connection, &claims.user_id)
            } else {
                Ok(None)
            }
        })?;
        let account = account.ok_or(BAD_TOKEN)?;
        Ok(Caller {
            user_id: account.id,
            admin: table.setup.admin,
            table: claims.table,
            jwt_id: claims.jwt_id,
            expires_at: claims.expires_at,
            claims: claims.claims,
            user: account.user,
        })
    }

    /// Whether a caller's token is still good: for streams, which outlive the check of their request.
    ///
    /// # Errors
    /// 503 or 500 of the data engine.
    pub fn is_live(&self, pass: &impl Pass, caller: &Caller) -> Result<bool, AuthError> {
        let now = self.core.clock.wall_ms();
        db::read(&self.core.engine, pass, |connection| {
            tokens::is_live(
                connection,
                &caller.jwt_id,
                &caller.table,
                &caller.user_id,
                now,
            )
        })
    }

    /// A new session for the bearer of a token, which is good no more.
    ///
    /// # Errors
    /// 401 when the token is not good; 403 when the account may no longer sign in.
    pub async fn refresh(&self, pass: &impl Pass, token: &str) -> Result<Session, AuthError> {
        let core = Arc::clone(&self.core);
        let now = core.clock.wall_ms();
        let claims = core.tokens.read(token, now)?;
        let table = core.table(&claims.table).map_err(|_| BAD_TOKEN)?;
        let refresh = move |connection: &Connection| {
            // The delete decides: of two refreshes with one token one goes on.
            if !is_live(connection, &claims, now)? || !tokens::delete(connection, &claims.jwt_id)? {
                return Err(BAD_TOKEN);
            }
            let account = table.by_id(connection, &claims.user_id)?.ok_or(BAD_TOKEN)?;
            core.open_session(connection, &table, account)
        };
        db::write(&self.core.engine, pass, refresh).await
    }

    /// Revokes a token.
    ///
    /// # Errors
    /// 401 when it is not good.
    pub async fn logout(&self, pass: &impl Pass, token: &str) -> Result<(), AuthError> {
        self.end(pass, token, |connection, claims| {
            tokens::delete(connection, &claims.jwt_id).map(|_| ())
        })
        .await
    }

    /// Revokes all tokens of the bearer's account.
    ///
    /// # Errors
    /// 401 when the token is not good.
    pub async fn logout_all(&self, pass: &impl Pass, token: &str) -> Result<(), AuthError> {
        self.end(pass, token, |connection, claims| {
            tokens::delete_all(connection, &claims.table, &claims.user_id).map(|_| ())
        })
        .await
    }

    /// Revokes all tokens of an account: for an admin, and after its password was changed by other means.
    ///
    /// # Errors
    /// 503 or 500 of the data engine.
    pub async fn revoke_all(
        &self,
        pass: &impl Pass,
        table: &str,
        user: &UserId,
    ) -> Result<usize, AuthError> {
        let (table, user) = (table.to_owned(), user.clone());
        let revoke =
            move |connection: &Connection| Ok(tokens::delete_all(connection, &table, &user)?);
        db::write(&self.core.engine, pass, revoke).await
    }

    async fn end(
        &self,
        pass: &impl Pass,
        token: &str,
        revoke: impl FnOnce(&Connection, &Claims) -> rusqlite::Result<()> + Send + 'static,
    ) -> Result<(), AuthError> {
        let now = self.core.clock.wall_ms();
        let claims = self.core.tokens.read(token, now)?;
        let end = move |connection: &Connection| {
            if !is_live(connection, &claims, now)? {
                return Err(BAD_TOKEN);
            }
            Ok(revoke(connection, &claims)?)
        };
        db::write(&self.core.engine, pass, end).await
    }
}

impl Core {
    /// Asks the rules whether the account may sign in, and issues a token.
    pub(super) fn open_session(
        &self,
        connection: &Connection,
        table: &AuthTable,
        account: Account,
    ) -> Result<Session, AuthError> {
        self.ask(connection, AuthAction::SignIn, table, &account, None)?;
        self.issue(connection, table, account)
    }

    /// Issues a token, with the row that makes it good.
    pub(super) fn issue(
        &self,
        connection: &Connection,
        table: &AuthTable,
        account: Account,
    ) -> Result<Session, AuthError> {
        let now = self.clock.wall_ms();
        let lifetime = i64::try_from(self.settings.session.as_millis()).unwrap_or(i64::MAX);
        let expires_at = now.saturating_add(lifetime);
        let jwt_id = Secret::random().map_err(|error| AuthError::internal("no token id", error))?;
        tokens::insert(
            connection,
            jwt_id.expose(),
            &table.name,
            &account.id,
            now,
            expires_at,
        )?;
        let claims = Claims {
            user_id: account.id,
            table: table.name.clone(),
            jwt_id: jwt_id.expose().to_owned(),
            expires_at,
            claims: self.gate.claims(&table.name, &account.user),
            user: small(&account.user),
            admin: table.setup.admin,
        };
        Ok(Session {
            access_token: self.tokens.sign(&claims)?,
            user: account.user,
        })
    }

    /// Makes the account of a sign-up, and asks the rules: their no comes before the fault of a constraint, which would tell
    /// what is there. `None` where the address has an account already.
    pub(super) fn make_account(
        &self,
        connection: &Connection,
        table: &AuthTable,
        new: &NewAccount<'_>,
        caller: Option<&Caller>,
    ) -> Result<Option<Account>, AuthError> {
        match table.insert(connection, new) {
            Ok(Inserted::AddressTaken) => Ok(None),
            Ok(Inserted::Made(account)) => {
                self.ask(connection, AuthAction::SignUp, table, &account, caller)?;
                Ok(Some(*account))
            }
            Err(error @ (AuthError::Conflict(_) | AuthError::Unprocessable(_))) => {
                let row = table.cells(new)?;
                let allowed = self
                    .gate
                    .would_allow(connection, &table.name, &row, caller)?;
                Err(if allowed { error } else { AuthError::Forbidden })
            }
            Err(error) => Err(error),
        }
    }

    /// Asks the rules; a no is an error.
    pub(super) fn ask(
        &self,
        connection: &Connection,
        action: AuthAction,
        table: &AuthTable,
        account: &Account,
        caller: Option<&Caller>,
    ) -> Result<(), AuthError> {
        let ask = AuthAsk {
            action,
            table: &table.name,
            row: &account.user,
            caller,
        };
        if self.gate.allows(connection, &ask)? {
            Ok(())
        } else {
            Err(AuthError::Forbidden)
        }
    }
}

fn is_live(connection: &Connection, claims: &Claims, now_ms: i64) -> rusqlite::Result<bool> {
    tokens::is_live(
        connection,
        &claims.jwt_id,
        &claims.table,
        &claims.user_id,
        now_ms,
    )
}

/// The row for the token: whole where it is small, else its address only.
fn small(
    user: &serde_json::Map<String, serde_json::Value>,
) -> serde_json::Map<String, serde_json::Value> {
    let size = serde_json::to_string(user).map_or(usize::MAX, |text| text.len());
    if size <= MAX_USER_BYTES {
        return user.clone();
    }
    user.iter()
        .filter(|(name, _)| *name == "email")
        .map(|(n, v)| (n.clone(), v.clone()))
        .collect()
}
