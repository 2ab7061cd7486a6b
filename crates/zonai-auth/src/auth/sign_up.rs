//! Signing up: a new account, or a sign-in where the address has one.
//!
//! Must never change an account that is there, nor make an admin.

use std::sync::Arc;

use rusqlite::Connection;
use zonai_data::Pass;
use zonai_data::ids::new_id;
use zonai_limit::Client;

use super::Auth;
use super::sign_in::no_passwords;
use crate::requests::{MailTo, SignIn, SignUp};
use crate::rows::accounts::{AuthTable, NewAccount};
use crate::{AuthError, Caller, MailKind, Password, Session, db};

impl Auth {
    /// Signs up. An address with an account is a sign-in, and fails as one. In a table without passwords
    /// the answer is `None` and a code (or link) is mailed, whether or not the account is new.
    ///
    /// `caller` is who asks, where a token came along: a rule may want an admin. As for [`Auth::sign_in`], a
    /// server takes the place for a failure first: the answer for a known address is that of a sign-in.
    ///
    /// # Errors
    /// As [`Auth::sign_in`]; 403 for a table of admins or when a rule says no, 400 for a column that cannot
    /// be set, 409 and 422 when the row breaks a constraint.
    pub async fn sign_up(
        &self,
        pass: &impl Pass,
        client: Client,
        request: SignUp,
        caller: Option<Caller>,
    ) -> Result<Option<Session>, AuthError> {
        let table = self.core.table(&request.table)?;
        if table.setup.admin {
            return Err(AuthError::Forbidden);
        }
        // Before anything is hashed.
        table.check_object(&request.object)?;
        match (&request.password, table.setup.password) {
            (None, true) => Err(AuthError::bad("`password` is missing")),
            (Some(_), false) => Err(no_passwords(&table)),
            (None, false) => self
                .sign_up_by_mail(pass, &table, request, caller)
                .await
                .map(|()| None),
            (Some(password), true) => {
                let password = password.clone();
                self.sign_up_by_password(pass, client, &table, request, password, caller)
                    .await
                    .map(Some)
            }
        }
    }

    async fn sign_up_by_password(
        &self,
        pass: &impl Pass,
        client: Client,
        table: &Arc<AuthTable>,
        request: SignUp,
        password: Password,
        caller: Option<Caller>,
    ) -> Result<Session, AuthError> {
        let sign_in = SignIn {
            table: request.table.clone(),
            address: request.address.clone(),
            password: password.clone(),
        };
        let address = request.address.as_str();
        let known = db::read(&self.core.engine, pass, |connection| {
            table
                .by_address(connection, address)
                .map(|account| account.is_some())
        })?;
        if known {
            return self.sign_in(pass, client, sign_in).await;
        }
        let hash = self.core.hasher.hash(client, password).await?;
        let (core, table) = (Arc::clone(&self.core), Arc::clone(table));
        let now_ms = core.clock.wall_ms();
        let make = move |connection: &Connection| {
            let new = NewAccount {
                key: &new_id(&table.table.id_suffix)?,
                address: request.address.as_str(),
                password: Some(&hash),
                object: &request.object,
                now_ms,
            };
            match core.make_account(connection, &table, &new, caller.as_ref())? {
                Some(account) => core.issue(connection, &table, account).map(Some),
                None => Ok(None),
            }
        };
        match db::write(&self.core.engine, pass, make).await? {
            Some(session) => Ok(session),
            // Somebody was quicker with this address.
            None => self.sign_in(pass, client, sign_in).await,
        }
    }

    async fn sign_up_by_mail(
        &self,
        pass: &impl Pass,
        table: &Arc<AuthTable>,
        request: SignUp,
        caller: Option<Caller>,
    ) -> Result<(), AuthError> {
        let kind = if table.setup.otp {
            MailKind::Otp
        } else {
            MailKind::MagicLink
        };
        let to = MailTo {
            table: request.table.clone(),
            address: request.address.clone(),
        };
        self.check_mail(kind, &to)?;
        let (core, table) = (Arc::clone(&self.core), Arc::clone(table));
        let now_ms = core.clock.wall_ms();
        let make = move |connection: &Connection| {
            let address = request.address.as_str();
            if table.by_address(connection, address)?.is_some() {
                return Ok(());
            }
            let key = &new_id(&table.table.id_suffix)?;
            let object = &request.object;
            let new = NewAccount {
                key,
                address,
                password: None,
                object,
                now_ms,
            };
            core.make_account(connection, &table, &new, caller.as_ref())
                .map(drop)
        };
        db::write(&self.core.engine, pass, make).await?;
        self.send_mail(kind, to)
    }
}
