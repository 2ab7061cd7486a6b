//! Codes and links that come back.
//!
//! Each is used up by a delete in the same transaction as what it is good for: twice is never, not even
//! in parallel, and nothing is half done.

use std::sync::Arc;

use rusqlite::Connection;
use zonai_data::Pass;
use zonai_limit::Client;

use super::{Auth, Core};
use crate::error::{BAD_CODE, BAD_LINK};
use crate::gate::AuthAction;
use crate::requests::{Confirm, MailTo};
use crate::rows::accounts::{Account, AuthTable};
use crate::rows::challenges::{self, Used};
use crate::rows::tokens;
use crate::{AuthError, MailKind, Password, Session, db};

impl Auth {
    /// Takes a code or link. A session for those that sign in, `None` for the others.
    ///
    /// # Errors
    /// 401 when it is unknown, used or over; 403 when a rule says no; 503 when too many wait for a hash.
    pub async fn confirm(
        &self,
        pass: &impl Pass,
        client: Client,
        request: Confirm,
    ) -> Result<Option<Session>, AuthError> {
        match request {
            Confirm::VerifyOtp { to, code } => self.verify_otp(pass, to, code).await.map(Some),
            Confirm::VerifyMagicLink { secret } => self
                .use_link(pass, MailKind::MagicLink, secret, Core::sign_in_by_mail)
                .await
                .map(Some),
            Confirm::ConfirmVerifyEmail { token } => {
                let verify = |core: &Core, connection: &Connection, (table, account): Owner| {
                    Ok(table.set_verified(connection, &account.id, core.clock.wall_ms())?)
                };
                self.use_link(pass, MailKind::VerifyEmail, token, verify)
                    .await
                    .map(|()| None)
            }
            Confirm::ConfirmResetPassword {
                token,
                new_password,
            } => self
                .reset_password(pass, client, token, new_password)
                .await
                .map(|()| None),
        }
    }

    async fn verify_otp(
        &self,
        pass: &impl Pass,
        to: MailTo,
        code: String,
    ) -> Result<Session, AuthError> {
        let core = Arc::clone(&self.core);
        let now = core.clock.wall_ms();
        let verify = move |connection: &Connection| {
            let (table, address) = (&to.table, to.address.as_str());
            let used = challenges::try_code(connection, &core.keys, table, address, &code, now)?;
            // A wrong code is an `Ok`, so that the try stays counted.
            let Some(owner) = core.owner(connection, used)? else {
                return Ok(None);
            };
            core.sign_in_by_mail(connection, owner).map(Some)
        };
        db::write(&self.core.engine, pass, verify)
            .await?
            .ok_or(BAD_CODE)
    }

    async fn reset_password(
        &self,
        pass: &impl Pass,
        client: Client,
        token: String,
        new_password: Password,
    ) -> Result<(), AuthError> {
        let now = self.core.clock.wall_ms();
        let kind = MailKind::ResetPassword;
        // A link that is no good costs no hash; one that is good is not used up while the hash waits.
        let known = db::read(&self.core.engine, pass, |connection| {
            challenges::peek_link(connection, &self.core.keys, kind, &token, now)
        })?;
        if known.is_none() {
            return Err(BAD_LINK);
        }
        let hash = self.core.hasher.hash(client, new_password).await?;
        let reset = move |core: &Core, connection: &Connection, (table, account): Owner| {
            core.ask(
                connection,
                AuthAction::PasswordReset,
                &table,
                &account,
                None,
            )?;
            table.set_password(connection, &account.id, &hash, now)?;
            table.set_verified(connection, &account.id, core.clock.wall_ms())?;
            tokens::delete_all(connection, &table.name, &account.id)?;
            challenges::delete_all(connection, &table.name, &account.id)?;
            Ok(())
        };
        self.use_link(pass, kind, token, reset).await
    }

    async fn use_link<T: Send + 'static>(
        &self,
        pass: &impl Pass,
        kind: MailKind,
        secret: String,
        then: impl FnOnce(&Core, &Connection, Owner) -> Result<T, AuthError> + Send + 'static,
    ) -> Result<T, AuthError> {
        let core = Arc::clone(&self.core);
        let now = core.clock.wall_ms();
        let run = move |connection: &Connection| {
            let used = challenges::use_link(connection, &core.keys, kind, &secret, now)?;
            let owner = core.owner(connection, used)?.ok_or(BAD_LINK)?;
            then(&core, connection, owner)
        };
        db::write(&self.core.engine, pass, run).await
    }
}

type Owner = (Arc<AuthTable>, Account);

impl Core {
    /// The account of a challenge, if it is still there and still has the address the mail went to.
    fn owner(
        &self,
        connection: &Connection,
        used: Option<Used>,
    ) -> Result<Option<Owner>, AuthError> {
        let Some(used) = used else { return Ok(None) };
        let Ok(table) = self.table(&used.table) else {
            return Ok(None);
        };
        let account = table.by_id(connection, &table.user_id(&used.user))?;
        let account = account.filter(|account| used.was_sent_to(&self.keys, &account.address));
        Ok(account.map(|account| (table, account)))
    }

    fn sign_in_by_mail(
        &self,
        connection: &Connection,
        (table, account): Owner,
    ) -> Result<Session, AuthError> {
        let now = self.clock.wall_ms();
        // Whoever signed up with an address that is not theirs must not stay in when its owner comes.
        if table.drop_unproven_password(connection, &account, now)? {
            tokens::delete_all(connection, &table.name, &account.id)?;
        }
        table.set_verified(connection, &account.id, now)?;
        let account = table.by_id(connection, &account.id)?.unwrap_or(account);
        self.open_session(connection, &table, account)
    }
}
