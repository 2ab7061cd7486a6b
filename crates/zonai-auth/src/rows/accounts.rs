//! The rows of the auth tables themselves: found by address or key, made, changed and removed.
//!
//! An address is compared trimmed and in lower case, by a unique index that this module lays.
//! Must never put the stored hash into the row that is shown.

use std::sync::Arc;

use rusqlite::types::Value as Cell;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};
use serde_json::{Map, Value};
use zonai_data::{ColumnKind, Schema, Table};

use super::{columns, triggers};
use crate::setup::{SetupError, TableSetup};
use crate::{AuthError, UserId};

/// Stands where a password is needed and none fits: no hash is spelled so.
const NO_PASSWORD: &str = "!";

/// An auth table as it was found in the database.
#[derive(Clone, Debug)]
pub(crate) struct AuthTable {
    pub(crate) name: String,
    pub(crate) setup: TableSetup,
    pub(crate) table: Arc<Table>,
    key: usize,
    columns: String,
}

/// An account as it was found.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) id: UserId,
    /// Normalised.
    pub(crate) address: String,
    /// The stored hash.
    pub(crate) password: Option<String>,
    /// The row without its password.
    pub(crate) user: Map<String, Value>,
}

/// What goes into the row of a new account.
pub(crate) struct NewAccount<'a> {
    /// The id for a text key; an integer key is made by the database.
    pub(crate) key: &'a str,
    pub(crate) address: &'a str,
    pub(crate) password: Option<&'a str>,
    pub(crate) object: &'a Map<String, Value>,
    pub(crate) now_ms: i64,
}

/// What became of a new account.
pub(crate) enum Inserted {
    /// It is there.
    Made(Box<Account>),
    /// The address has an account already; nothing was written.
    AddressTaken,
}

impl AuthTable {
    /// Looks at the table and lays the index on its addresses.
    ///
    /// # Errors
    /// When the table, its key, or a column that its ways to sign in need is missing, or when two rows
    /// have one address.
    pub(crate) fn open(
        connection: &Connection,
        schema: &Schema,
        setup: &TableSetup,
    ) -> Result<Self, SetupError> {
        let name = setup.name.clone();
        let Some(table) = schema.table(&name).filter(|table| !table.is_view) else {
            return Err(SetupError::NoTable(name));
        };
        for (column, needed) in [("email", true), ("password", setup.password)] {
            if needed && table.column(column).is_none() {
                return Err(SetupError::NoColumn {
                    table: name,
                    column,
                });
            }
        }
        let Some(key) = table.key_column() else {
            return Err(SetupError::NoKey(name));
        };
        let (quoted, index) = (quote(&name), quote(&format!("_auth_email_{name}")));
        let lay =
            format!("CREATE UNIQUE INDEX IF NOT EXISTS {index} ON {quoted} (lower(trim(email)))");
        connection
            .execute_batch(&lay)
            .map_err(|source| SetupError::Address {
                table: name.clone(),
                source,
            })?;
        let password = table.column("password").map(|_| "password");
        triggers::lay(connection, &name, &table.columns[key].name, password)
            .map_err(zonai_data::DataError::from)?;
        let columns: Vec<_> = table
            .columns
            .iter()
            .map(|column| quote(&column.name))
            .collect();
        Ok(Self {
            setup: setup.clone(),
            table: Arc::clone(table),
            key,
            columns: columns.join(", "),
            name,
        })
    }

    pub(super) fn is_kept_by_server(&self, at: usize) -> bool {
        let name = self.table.columns[at].name.as_str();
        at == self.key
            || name == "email"
            || [self.table.verified, self.table.created, self.table.updated].contains(&Some(at))
    }

    /// A key as it was written into a challenge.
    pub(crate) fn user_id(&self, text: &str) -> UserId {
        match text.parse() {
            Ok(number) if self.key_is_integer() => UserId::Integer(number),
            _ => UserId::Text(text.to_owned()),
        }
    }

    /// The account with that normalised address.
    pub(crate) fn by_address(
        &self,
        connection: &Connection,
        address: &str,
    ) -> rusqlite::Result<Option<Account>> {
        self.one(
            connection,
            "lower(trim(email))",
            Cell::Text(address.to_owned()),
        )
    }

    /// The account with that key.
    pub(crate) fn by_id(
        &self,
        connection: &Connection,
        id: &UserId,
    ) -> rusqlite::Result<Option<Account>> {
        self.one(connection, &quote(self.key_name()), cell(id))
    }

    /// Makes an account.
    ///
    /// # Errors
    /// 400 for a column that cannot be set, 409 for a unique column other than the address, 422 for another
    /// constraint.
    pub(crate) fn insert(
        &self,
        connection: &Connection,
        new: &NewAccount<'_>,
    ) -> Result<Inserted, AuthError> {
        let cells = self.cells(new)?;
        let names: Vec<_> = cells.iter().map(|(name, _)| quote(name)).collect();
        let (names, places) = (names.join(", "), vec!["?"; cells.len()].join(", "));
        let sql = format!(
            "INSERT INTO {} ({names}) VALUES ({places})",
            quote(&self.name)
        );
        let cells = params_from_iter(cells.into_iter().map(|(_, cell)| cell));
        let done = connection.execute(&sql, cells).map_err(AuthError::from);
        let there = self.by_address(connection, new.address)?;
        match (done, there) {
            (Ok(_), Some(account)) => Ok(Inserted::Made(Box::new(account))),
            (Ok(_), None) => Err(AuthError::internal(
                "making an account",
                "its row is not there after it was written; a trigger may have changed it",
            )),
            (Err(AuthError::Conflict(_)), Some(_)) => Ok(Inserted::AddressTaken),
            (Err(error), _) => Err(error),
        }
    }

    /// The columns of a new account, and their values.
    ///
    /// # Errors
    /// 400 for a column that cannot be set.
    pub(crate) fn cells(&self, new: &NewAccount<'_>) -> Result<Vec<(String, Cell)>, AuthError> {
        let mut cells = columns::from_object(self, new.object)?;
        let mut set = |name: &str, value| cells.push((name.to_owned(), value));
        if !self.key_is_integer() {
            set(self.key_name(), Cell::Text(new.key.to_owned()));
        }
        set("email", Cell::Text(new.address.to_owned()));
        if let Some(password) = new.password {
            set("password", Cell::Text(password.to_owned()));
        }
        for at in [self.table.created, self.table.updated]
            .into_iter()
            .flatten()
        {
            let column = &self.table.columns[at];
            set(&column.name, columns::time(column.kind, new.now_ms));
        }
        Ok(cells)
    }

    /// Checks the `object` of a sign-up before anything is hashed.
    ///
    /// # Errors
    /// 400 for a column that there is not, or that the caller must not set.
    pub(crate) fn check_object(&self, object: &Map<String, Value>) -> Result<(), AuthError> {
        columns::from_object(self, object).map(|_| ())
    }

    /// Sets the hash of a password.
    pub(crate) fn set_password(
        &self,
        connection: &Connection,
        id: &UserId,
        hash: &str,
        now_ms: i64,
    ) -> rusqlite::Result<()> {
        self.set(
            connection,
            id,
            "password",
            Cell::Text(hash.to_owned()),
            now_ms,
        )
    }

    /// Takes away a password that was set before its address was proven: whoever set it may be somebody else. `false` where
    /// the address was proven already, or the table does not say.
    pub(crate) fn drop_unproven_password(
        &self,
        connection: &Connection,
        account: &Account,
        now_ms: i64,
    ) -> rusqlite::Result<bool> {
        let Some(at) = self.table.verified else {
            return Ok(false);
        };
        let proven = match account.user.get(&self.table.columns[at].name) {
            Some(Value::Bool(proven)) => *proven,
            Some(Value::Number(number)) => number.as_i64() != Some(0),
            _ => false,
        };
        if !proven && account.password.is_some() {
            self.set_password(connection, &account.id, NO_PASSWORD, now_ms)?;
        }
        Ok(!proven)
    }

    /// Notes that the address is the account's, where the table has a column for it.
    pub(crate) fn set_verified(
        &self,
        connection: &Connection,
        id: &UserId,
        now_ms: i64,
    ) -> rusqlite::Result<()> {
        match self.table.verified {
            Some(at) => {
                let column = &self.table.columns[at].name;
                self.set(connection, id, column, Cell::Integer(1), now_ms)
            }
            None => Ok(()),
        }
    }

    /// Sets one column, and the time of the change, unless it holds that value already.
    fn set(
        &self,
        connection: &Connection,
        id: &UserId,
        column: &str,
        value: Cell,
        now_ms: i64,
    ) -> rusqlite::Result<()> {
        let (table, key, column) = (quote(&self.name), quote(self.key_name()), quote(column));
        let updated = self.table.updated.map(|at| &self.table.columns[at]);
        let (also, now) = match updated {
            Some(updated) => {
                let now = columns::time(updated.kind, now_ms);
                (format!(", {} = ?3", quote(&updated.name)), Some(now))
            }
            None => (String::new(), None),
        };
        let sql = format!(
            "UPDATE {table} SET {column} = ?2{also}
             WHERE {key} = ?1 AND {column} IS NOT ?2"
        );
        let mut values = vec![cell(id), value];
        values.extend(now);
        connection
            .prepare_cached(&sql)?
            .execute(params_from_iter(values))?;
        Ok(())
    }

    /// Removes an account's row.
    pub(crate) fn delete(&self, connection: &Connection, id: &UserId) -> rusqlite::Result<bool> {
        let (table, key) = (quote(&self.name), quote(self.key_name()));
        let sql = format!("DELETE FROM {table} WHERE {key} = ?1");
        Ok(connection.execute(&sql, [cell(id)])? == 1)
    }

    /// The first `limit` accounts in the order of their addresses.
    pub(crate) fn list(
        &self,
        connection: &Connection,
        limit: u32,
    ) -> rusqlite::Result<Vec<Account>> {
        let (columns, table) = (&self.columns, quote(&self.name));
        let sql = format!("SELECT {columns} FROM {table} ORDER BY lower(trim(email)) LIMIT ?1");
        let mut statement = connection.prepare(&sql)?;
        statement
            .query_map([limit], |row| self.account(row))?
            .collect()
    }

    fn one(
        &self,
        connection: &Connection,
        what: &str,
        value: Cell,
    ) -> rusqlite::Result<Option<Account>> {
        let (columns, table) = (&self.columns, quote(&self.name));
        let sql = format!("SELECT {columns} FROM {table} WHERE {what} = ?1");
        let mut statement = connection.prepare_cached(&sql)?;
        statement
            .query_row([value], |row| self.account(row))
            .optional()
    }

    fn account(&self, row: &Row<'_>) -> rusqlite::Result<Account> {
        let id = match row.get::<_, Cell>(self.key)? {
            Cell::Integer(number) => UserId::Integer(number),
            Cell::Text(text) => UserId::Text(text),
            other => {
                let name = self.key_name().to_owned();
                return Err(rusqlite::Error::InvalidColumnType(
                    self.key,
                    name,
                    other.data_type(),
                ));
            }
        };
        let password = if self.setup.password {
            row.get("password")?
        } else {
            None
        };
        let address: Option<String> = row.get("email")?;
        Ok(Account {
            id,
            address: crate::address::normalise(&address.unwrap_or_default()),
            password,
            user: columns::to_json(self, row)?,
        })
    }

    fn key_name(&self) -> &str {
        &self.table.columns[self.key].name
    }

    fn key_is_integer(&self) -> bool {
        self.table.columns[self.key].kind == ColumnKind::Integer
    }
}

fn cell(id: &UserId) -> Cell {
    match id {
        UserId::Text(text) => Cell::Text(text.clone()),
        UserId::Integer(number) => Cell::Integer(*number),
    }
}

pub(super) fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
