//! Accounts: passwords, tokens, one-time codes and links, and the mails that carry them.
//!
//! This crate knows no HTTP: it is told who asks and what for, works on the data engine, and answers
//! with a [`Session`], nothing, or an [`AuthError`] that the server turns into a status. It must never
//! keep a password, code or link in plain form, and never say whether an address has an account.

pub mod address;
mod auth;
mod db;
pub mod error;
pub mod gate;
mod keyed;
pub mod mail;
pub mod password;
pub mod requests;
mod rows;
pub mod secrets;
pub mod session;
pub mod setup;
mod token;

pub use address::Address;
pub use auth::{Auth, AuthParts};
pub use error::AuthError;
pub use gate::{AuthAction, AuthAsk, AuthGate};
pub use mail::settings::{MailFrom, MailSettings, MailTls};
pub use mail::templates::{TemplateError, Templates};
pub use mail::{MailKind, MailTransport};
pub use password::Password;
pub use password::hasher::Hasher;
pub use secrets::{Secret, SecretError, Secrets};
pub use session::{Caller, Claims, Session, UserId};
pub use setup::{AuthSettings, SetupError, TableSetup};
pub use token::parse_bearer;
