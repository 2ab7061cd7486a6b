//! Accounts as the server uses them: one [`Auth`], started with the engine and closed before it.
//!
//! Every method that touches data asks for a pass of the limiter. None hashes, reads or mails before
//! the request's form has been checked.
//! Must never know HTTP: the server decides which status an error has.

mod admins;
mod confirm;
mod mailing;
mod sessions;
mod sign_in;
mod sign_up;

use std::sync::Arc;
use std::time::Duration;

use zonai_clock::Clock;
use zonai_data::{DataError, Engine, Pass, Schema};
use zonai_limit::Internal;

use crate::error::not_found;
use crate::keyed::Keyring;
use crate::mail::outbox::Outbox;
use crate::password::hasher::Hasher;
use crate::rows::accounts::AuthTable;
use crate::rows::{self, challenges, minute, tokens};
use crate::setup::{AuthSettings, SetupError};
use crate::token::TokenKeys;
use crate::{AuthError, AuthGate, Secrets};
use mailing::Intake;

/// Accounts: who they are, how they sign in, and the mails for it.
pub struct Auth {
    core: Arc<Core>,
    intake: Option<Intake>,
}

/// What accounts work with.
pub struct AuthParts {
    /// The data engine; close it after [`Auth::close`].
    pub engine: Engine,
    /// The token of the mailing task, which has no request.
    pub internal: Arc<Internal>,
    /// Where times come from.
    pub clock: Clock,
    /// The threads that hash, which the data layer shares for its password columns.
    pub hasher: Arc<Hasher>,
    /// The rules.
    pub gate: Arc<dyn AuthGate>,
}

/// What requests and the mailing task share.
struct Core {
    engine: Engine,
    internal: Arc<Internal>,
    clock: Clock,
    keys: Keyring,
    tokens: TokenKeys,
    hasher: Arc<Hasher>,
    outbox: Option<Outbox>,
    tables: Vec<Arc<AuthTable>>,
    settings: AuthSettings,
    gate: Arc<dyn AuthGate>,
}

impl Auth {
    /// Makes the internal tables, looks at the auth tables, and starts, where mail is set up, the
    /// mailing tasks on the current tokio runtime.
    ///
    /// # Errors
    /// When a table of `settings` is not as accounts need it, or TLS cannot be set up.
    pub async fn start(
        parts: AuthParts,
        schema: &Schema,
        secrets: &Secrets,
        settings: AuthSettings,
    ) -> Result<Self, SetupError> {
        let AuthParts {
            engine,
            internal,
            clock,
            hasher,
            gate,
        } = parts;
        let (setups, schema) = (settings.tables.clone(), schema.clone());
        let open = engine.write(&*internal, move |connection| -> Result<_, SetupError> {
            connection
                .execute_batch(rows::INTERNAL_TABLES)
                .map_err(DataError::from)?;
            let open = |setup| AuthTable::open(connection, &schema, setup).map(Arc::new);
            setups.iter().map(open).collect::<Result<Vec<_>, _>>()
        });
        let tables = open.await?;
        let outbox = match settings.mail.clone() {
            Some(transport) => Some(Outbox::start(transport, clock.clone())?),
            None => None,
        };
        let has_mail = outbox.is_some();
        let core = Arc::new(Core {
            engine,
            internal,
            clock,
            keys: Keyring::new(secrets),
            tokens: TokenKeys::new(secrets).map_err(|_| SetupError::Keys)?,
            hasher,
            outbox,
            tables,
            settings,
            gate,
        });
        let intake = has_mail.then(|| Intake::start(Arc::clone(&core)));
        Ok(Self { core, intake })
    }

    /// The key under which failed sign-ins of an account are counted: a keyed hash of the table and the
    /// normalised address, whether or not there is such an account, or such a table.
    #[must_use]
    pub fn account_key(&self, table: &str, email: &str) -> u64 {
        let email = crate::address::normalise(email);
        let digest = self.core.keys.digest("failed sign-in", &[table, &email]);
        let mut key = [0; 8];
        key.copy_from_slice(&digest[..8]);
        u64::from_le_bytes(key)
    }

    /// Whether rows of that table are admins.
    #[must_use]
    pub fn is_admin_table(&self, table: &str) -> bool {
        self.core
            .tables
            .iter()
            .any(|other| other.name == table && other.setup.admin)
    }

    /// The table that `POST /auth/admin` means: the first with `admin: true`.
    ///
    /// # Errors
    /// 404 when the project has none.
    pub fn admin_table(&self) -> Result<&str, AuthError> {
        let table = self.core.tables.iter().find(|table| table.setup.admin);
        table.map(|table| table.name.as_str()).ok_or_else(not_found)
    }

    /// The job `_cleanup_auth_challenges`: codes and links whose time is over. Answers how many.
    ///
    /// # Errors
    /// 503 or 500 of the data engine.
    pub async fn cleanup_auth_challenges(&self, pass: &impl Pass) -> Result<usize, AuthError> {
        let now = self.core.clock.wall_ms();
        let clean = move |connection: &rusqlite::Connection| {
            minute::clean(connection, now)?;
            Ok(challenges::clean(connection, now)?)
        };
        crate::db::write(&self.core.engine, pass, clean).await
    }

    /// The job `_delete_expired_jwts`: rows of tokens that are over. Answers how many.
    ///
    /// # Errors
    /// 503 or 500 of the data engine.
    pub async fn delete_expired_jwts(&self, pass: &impl Pass) -> Result<usize, AuthError> {
        let now = self.core.clock.wall_ms();
        let delete =
            move |connection: &rusqlite::Connection| Ok(tokens::delete_expired(connection, now)?);
        crate::db::write(&self.core.engine, pass, delete).await
    }

    /// Ends the mailing tasks and joins the hashing threads: mails that are asked for are still written and
    /// handed over within `grace`; those who wait for a hash are told to retry.
    pub async fn close(&self, grace: Duration) {
        if let Some(intake) = &self.intake {
            intake.close(grace).await;
        }
        if let Some(outbox) = &self.core.outbox {
            outbox.close(grace).await;
        }
        // Running hashes take some ten milliseconds, waiting ones are turned away.
        self.core.hasher.close();
    }
}

impl Core {
    fn table(&self, name: &str) -> Result<Arc<AuthTable>, AuthError> {
        self.tables
            .iter()
            .find(|table| table.name == name)
            .cloned()
            .ok_or_else(not_found)
    }
}
