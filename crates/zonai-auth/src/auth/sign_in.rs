//! Signing in with a password.
//!
//! An account that is not there costs the same time and gives the same answer as a wrong password.
//! Must never leave out the hash where nobody has the address.

use std::sync::Arc;

use rusqlite::Connection;
use zonai_data::Pass;
use zonai_limit::Client;

use super::{Auth, Core};
use crate::error::BAD_CREDENTIALS;
use crate::password::hash::Verified;
use crate::requests::SignIn;
use crate::rows::accounts::AuthTable;
use crate::rows::tokens;
use crate::{AuthError, Session, UserId, db};

impl Auth {
    /// Signs in with a password.
    ///
    /// A server takes the place for a failure (`account_key`) before it calls this, and gives it back
    /// unless the answer is an error for which [`AuthError::is_failed_sign_in`] holds.
    ///
    /// # Errors
    /// 401 for an unknown address and a wrong password alike, 403 when a rule says no, 404 for a table
    /// without accounts, 400 for one without passwords, 503 when too many wait for a hash.
    pub async fn sign_in(
        &self,
        pass: &impl Pass,
        client: Client,
        request: SignIn,
    ) -> Result<Session, AuthError> {
        let table = self.core.table(&request.table)?;
        if !table.setup.password {
            return Err(no_passwords(&table));
        }
        let address = request.address.as_str();
        let found = db::read(&self.core.engine, pass, |connection| {
            table.by_address(connection, address)
        })?;
        let (id, stored) = match found {
            Some(account) => (Some(account.id), account.password),
            None => (None, None),
        };
        let verified = self
            .core
            .hasher
            .verify(client, request.password, address.to_owned(), stored.clone())
            .await?;
        match (verified, id, stored) {
            (Verified::Yes { rehash }, Some(id), Some(stored)) => {
                let fitting = Fitting {
                    table,
                    id,
                    stored,
                    rehash,
                };
                self.core.open_fitting(pass, fitting).await
            }
            _ => Err(BAD_CREDENTIALS),
        }
    }
}

/// An account whose password was found right.
struct Fitting {
    table: Arc<AuthTable>,
    id: UserId,
    stored: String,
    rehash: Option<String>,
}

impl Core {
    async fn open_fitting(
        self: &Arc<Self>,
        pass: &impl Pass,
        fitting: Fitting,
    ) -> Result<Session, AuthError> {
        let core = Arc::clone(self);
        let open = move |connection: &Connection| {
            let Fitting {
                table,
                id,
                stored,
                rehash,
            } = fitting;
            // While the hash was computed the password may have been reset: then it is an old one.
            let account = table.by_id(connection, &id)?.ok_or(BAD_CREDENTIALS)?;
            if account.password.as_deref() != Some(stored.as_str()) {
                return Err(BAD_CREDENTIALS);
            }
            if let Some(rehash) = rehash {
                tokens::kept_through(connection, &table.name, &id, || {
                    table.set_password(connection, &id, &rehash, core.clock.wall_ms())
                })?;
            }
            core.open_session(connection, &table, account)
        };
        db::write(&self.engine, pass, open).await
    }
}

pub(super) fn no_passwords(table: &AuthTable) -> AuthError {
    AuthError::BadRequest(format!(
        "Accounts of table {} have no passwords",
        table.name
    ))
}
