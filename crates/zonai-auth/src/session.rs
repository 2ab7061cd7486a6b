//! Who is signed in: what a token says, what a request may rely on, and what a sign-in answers.
//!
//! A [`Claims`] is what the token's bearer shows; only a [`Caller`] has been looked up.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The primary key of an account's row.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum UserId {
    /// Of a `TEXT PRIMARY KEY`.
    Text(String),
    /// Of an `INTEGER PRIMARY KEY`.
    Integer(i64),
}

impl UserId {
    /// As a JSON value.
    #[must_use]
    pub fn to_value(&self) -> Value {
        match self {
            Self::Text(text) => Value::String(text.clone()),
            Self::Integer(number) => Value::from(*number),
        }
    }
}

impl std::fmt::Display for UserId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Integer(number) => write!(f, "{number}"),
        }
    }
}

/// The payload of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claims {
    /// The account's row.
    pub user_id: UserId,
    /// The account's table.
    pub table: String,
    /// The row of `_jwt` that makes the token good.
    pub jwt_id: String,
    /// When the token ends, in epoch milliseconds.
    pub expires_at: i64,
    /// What a hook has put in, for `@claims.<name>`.
    #[serde(default)]
    pub claims: Map<String, Value>,
    /// The row as it was at sign-in, without its password. For clients; the server looks up afresh.
    #[serde(default)]
    pub user: Map<String, Value>,
    /// For clients. Never believed: whether the caller is an admin is looked up.
    #[serde(default)]
    pub admin: bool,
}

/// A signed-in caller: the token was verified, is not revoked, and its account exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The account's row (`@user.id`).
    pub user_id: UserId,
    /// The account's table (`@user.table`).
    pub table: String,
    /// The token's row in `_jwt`.
    pub jwt_id: String,
    /// When the token ends, in epoch milliseconds.
    pub expires_at: i64,
    /// For `@claims.<name>`.
    pub claims: Map<String, Value>,
    /// The row as it is now, without its password (`@user.<column>`).
    pub user: Map<String, Value>,
    /// Whether the account's table is one of admins (`@admin`).
    pub admin: bool,
}

/// What a sign-in answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Session {
    /// The token, also for the header `X-Auth`.
    pub access_token: String,
    /// The account's row, without its password.
    pub user: Map<String, Value>,
}
