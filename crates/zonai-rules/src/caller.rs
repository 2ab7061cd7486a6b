//! Who asks, as the rules need to know it. The server has looked the caller up; nothing here is believed from a token.

use std::sync::Arc;

use serde_json::{Map, Value};

/// Who asks.
#[derive(Clone, Debug, PartialEq)]
pub enum Caller {
    /// Nobody is signed in.
    Anonymous,
    /// An account that is no admin.
    User(Arc<User>),
    /// An admin; without a row on the admin socket and the command line.
    Admin(Option<Arc<User>>),
}

/// The account of a caller.
#[derive(Clone, Debug, PartialEq)]
pub struct User {
    /// `@user.id`: a text or an integer.
    pub id: Value,
    /// `@user.table`.
    pub table: String,
    /// `@claims.<name>`.
    pub claims: Map<String, Value>,
    /// `@user.<column>`: the row as it is now, without its secrets.
    pub row: Map<String, Value>,
}

impl Caller {
    /// `@admin`.
    #[must_use]
    pub fn is_admin(&self) -> bool {
        matches!(self, Self::Admin(_))
    }

    /// The account, where there is one.
    #[must_use]
    pub fn user(&self) -> Option<&User> {
        match self {
            Self::Anonymous => None,
            Self::User(user) => Some(user),
            Self::Admin(user) => user.as_deref(),
        }
    }
}
