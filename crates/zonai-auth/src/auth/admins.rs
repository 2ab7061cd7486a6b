//! Admins, for the command line: added, listed and removed by those who hold the machine.
//!
//! Must never be called by a route: over HTTP nobody makes an admin.

use std::sync::Arc;

use rusqlite::Connection;
use serde_json::{Map, Value};
use zonai_data::Pass;
use zonai_data::ids::new_id;
use zonai_limit::Client;

use super::Auth;
use crate::error::not_found;
use crate::rows::accounts::{AuthTable, Inserted, NewAccount};
use crate::rows::{challenges, tokens};
use crate::{Address, AuthError, Password, db};

/// The most admins that are listed.
const LISTED: u32 = 1_000;

impl Auth {
    /// Adds an admin to `table`, or to the project's table of admins. Answers the row.
    ///
    /// # Errors
    /// 404 without such a table, 400 where a password is missing or too many, 409 when the address has an
    /// account already, 422 when the table wants more columns.
    pub async fn admin_add(
        &self,
        pass: &impl Pass,
        table: Option<&str>,
        address: Address,
        password: Option<Password>,
        object: Map<String, Value>,
    ) -> Result<Map<String, Value>, AuthError> {
        let table = self.admins(table)?;
        let hash = match (password, table.setup.password) {
            (Some(password), true) => Some(self.core.hasher.hash(Client::Local, password).await?),
            (None, false) => None,
            (None, true) => return Err(AuthError::bad("a password is needed")),
            (Some(_), false) => return Err(super::sign_in::no_passwords(&table)),
        };
        let now_ms = self.core.clock.wall_ms();
        let add = move |connection: &Connection| {
            let new = NewAccount {
                key: &new_id(&table.table.id_suffix)?,
                address: address.as_str(),
                password: hash.as_deref(),
                object: &object,
                now_ms,
            };
            match table.insert(connection, &new)? {
                Inserted::Made(account) => Ok(account.user),
                Inserted::AddressTaken => Err(AuthError::Conflict(
                    "This address has an account already".to_owned(),
                )),
            }
        };
        db::write(&self.core.engine, pass, add).await
    }

    /// The admins of `table`, or of the project's table of admins, by address: at most 1,000.
    ///
    /// # Errors
    /// 404 without such a table.
    pub async fn admin_list(
        &self,
        pass: &impl Pass,
        table: Option<&str>,
    ) -> Result<Vec<Map<String, Value>>, AuthError> {
        let table = self.admins(table)?;
        let accounts = self
            .core
            .engine
            .read(pass, move |connection| Ok(table.list(connection, LISTED)?));
        Ok(accounts
            .await?
            .into_iter()
            .map(|account| account.user)
            .collect())
    }

    /// Removes an admin with all sessions.
    ///
    /// # Errors
    /// 404 without such a table or address.
    pub async fn admin_remove(
        &self,
        pass: &impl Pass,
        table: Option<&str>,
        address: Address,
    ) -> Result<(), AuthError> {
        let table = self.admins(table)?;
        let remove = move |connection: &Connection| {
            let found = table.by_address(connection, address.as_str())?;
            let account = found.ok_or_else(|| {
                AuthError::NotFound(format!("Record not found (table: {})", table.name))
            })?;
            tokens::delete_all(connection, &table.name, &account.id)?;
            challenges::delete_all(connection, &table.name, &account.id)?;
            table.delete(connection, &account.id)?;
            Ok(())
        };
        db::write(&self.core.engine, pass, remove).await
    }

    fn admins(&self, table: Option<&str>) -> Result<Arc<AuthTable>, AuthError> {
        let name = match table {
            Some(name) => name,
            None => self.admin_table()?,
        };
        let table = self.core.table(name)?;
        if table.setup.admin {
            Ok(table)
        } else {
            Err(not_found())
        }
    }
}
