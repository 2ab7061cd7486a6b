//! What accounts are told before the server starts, and why that may be refused.

use std::time::Duration;

use crate::mail::settings::MailSettingError;
use crate::{MailTransport, Templates};

/// Settings of accounts.
#[derive(Clone, Debug)]
pub struct AuthSettings {
    /// `appName`, for mails.
    pub app_name: String,
    /// `baseUrl`, for links in mails.
    pub base_url: String,
    /// `jwtExpiresIn`: how long a token is good.
    pub session: Duration,
    /// The tables with `auth` in `app.tables`.
    pub tables: Vec<TableSetup>,
    /// How mails leave; without it, routes that mail say that there is none.
    pub mail: Option<MailTransport>,
    /// What mails say.
    pub templates: Templates,
}

/// One auth table and the ways to sign in there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSetup {
    /// Its name.
    pub name: String,
    /// `password`.
    pub password: bool,
    /// `otp`.
    pub otp: bool,
    /// `magicLink`.
    pub magic_link: bool,
    /// `admin`: its rows are admins, and sign-up is closed.
    pub admin: bool,
}

/// Why accounts cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// `app.tables` names a table that is not in the database.
    #[error("app.tables.{0}: there is no such table; make it in a file under schemasPath")]
    NoTable(String),
    /// The table lacks a column.
    #[error("app.tables.{table}: the table has no column `{column}`, which its `auth` needs")]
    NoColumn {
        /// The table.
        table: String,
        /// The column.
        column: &'static str,
    },
    /// The table has no primary key, or one of several columns.
    #[error("app.tables.{0}: an auth table needs a primary key of one column")]
    NoKey(String),
    /// Two rows have one address.
    #[error("app.tables.{table}: addresses must be unique, compared trimmed and in lower case")]
    Address {
        /// The table.
        table: String,
        /// What the database says.
        source: rusqlite::Error,
    },
    /// The engine did not run the job.
    #[error("the tables of accounts cannot be set up: {0}")]
    Engine(#[from] zonai_data::DataError),
    /// The mail settings are no good.
    #[error("app.email: {0}")]
    Mail(#[from] MailSettingError),
    /// The secrets cannot be made into keys.
    #[error("the secrets cannot be made into keys")]
    Keys,
}
