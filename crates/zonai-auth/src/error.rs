//! What can go wrong with an account, in the terms the server maps to a status.
//!
//! Texts in here are for callers; what the operator needs goes to the log and never into a text.

/// Why a request about an account failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthError {
    /// The request itself is wrong; the text says what and is safe to show (400).
    #[error("{0}")]
    BadRequest(String),
    /// Not signed in, or not so: the same text for an unknown address and a wrong password (401).
    #[error("{0}")]
    Unauthorized(&'static str),
    /// A rule says no; it is never said which (403).
    #[error("Forbidden")]
    Forbidden,
    /// Something unique exists already (409).
    #[error("{0}")]
    Conflict(String),
    /// What the request would write breaks a constraint of the table (422).
    #[error("{0}")]
    Unprocessable(String),
    /// There is no such thing (404).
    #[error("{0}")]
    NotFound(String),
    /// Too many hashes, writes or mails are waiting; retry in a second (503).
    #[error("{0}")]
    Busy(&'static str),
    /// A fault of ours; the cause is in the log only (500).
    #[error("Internal error")]
    Internal,
}

/// The one text for a sign-in that fails, whatever the reason.
pub(crate) const BAD_CREDENTIALS: AuthError = AuthError::Unauthorized("Invalid email or password");
/// The one text for a token that is not good.
pub(crate) const BAD_TOKEN: AuthError = AuthError::Unauthorized("Invalid or expired token");
/// The one text for a code that is not good.
pub(crate) const BAD_CODE: AuthError = AuthError::Unauthorized("Invalid or expired code");
/// The one text for a link that is not good.
pub(crate) const BAD_LINK: AuthError = AuthError::Unauthorized("Invalid or expired link");
/// More hashes are waiting than may wait.
pub(crate) const HASHER_BUSY: AuthError =
    AuthError::Busy("Server is busy checking passwords; retry shortly.");
/// More mails are waiting than may wait.
pub(crate) const MAIL_BUSY: AuthError =
    AuthError::Busy("Server is busy sending mail; retry shortly.");

/// What is asked for is not there, or not for accounts.
pub(crate) fn not_found() -> AuthError {
    AuthError::NotFound("Not found".to_owned())
}

impl AuthError {
    /// A 400 with that text.
    pub(crate) fn bad(text: impl Into<String>) -> Self {
        Self::BadRequest(text.into())
    }

    /// Whether a place taken for a failed sign-in is used up: only a wrong password, code or address
    /// does so. A full queue or a fault of ours gives it back.
    #[must_use]
    pub const fn is_failed_sign_in(&self) -> bool {
        matches!(self, Self::Unauthorized(_))
    }

    /// Logs `cause` for the operator and answers the text that tells a caller nothing.
    pub(crate) fn internal(what: &'static str, cause: impl std::fmt::Display) -> Self {
        tracing::error!(%cause, "{what}");
        Self::Internal
    }
}
