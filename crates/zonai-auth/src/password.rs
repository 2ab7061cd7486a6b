//! Passwords: which may be chosen, how they are hashed, and who waits for a hash.
//!
//! A hash costs tens of milliseconds of a core and 19 MiB, so none is computed on an async thread, none
//! before the limiter has let the request through, and no more than one per core at a time.

pub(crate) mod hash;
pub(crate) mod hasher;
pub(crate) mod queue;

use zeroize::Zeroizing;

use crate::AuthError;

/// The longest password in bytes; a longer one is refused before it is hashed.
pub const MAX_BYTES: usize = 1_024;
/// The fewest characters of a password that is newly set.
pub const MIN_CHARACTERS: usize = 8;

/// A password as it came, wiped when dropped.
#[derive(Clone)]
pub struct Password(Zeroizing<String>);

impl Password {
    /// Takes a password that is to be compared with a stored one.
    ///
    /// # Errors
    /// 400 when it is empty, longer than [`MAX_BYTES`] or holds a NUL.
    pub fn given(text: impl Into<String>) -> Result<Self, AuthError> {
        let text = Zeroizing::new(text.into());
        if text.is_empty() {
            return Err(AuthError::bad("`password` must not be empty"));
        }
        if text.len() > MAX_BYTES {
            return Err(AuthError::bad(format!(
                "`password` may have at most {MAX_BYTES} bytes"
            )));
        }
        if text.contains('\0') {
            return Err(AuthError::bad(
                "`password` must not contain a NUL character",
            ));
        }
        Ok(Self(text))
    }

    /// Takes a password that is to be stored.
    ///
    /// # Errors
    /// As [`Password::given`], and 400 when it has fewer than [`MIN_CHARACTERS`] characters.
    pub fn chosen(text: impl Into<String>) -> Result<Self, AuthError> {
        let password = Self::given(text)?;
        if password.0.chars().count() < MIN_CHARACTERS {
            let text = format!("`password` must have at least {MIN_CHARACTERS} characters");
            return Err(AuthError::BadRequest(text));
        }
        Ok(password)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl std::fmt::Debug for Password {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Password(redacted)")
    }
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "tests"
    )]
    use super::*;

    #[test]
    fn bounds_are_checked_before_any_hash() {
        assert!(Password::given("x").is_ok());
        assert!(Password::given("").is_err());
        assert!(Password::given("a\0b").is_err());
        assert!(Password::given("x".repeat(MAX_BYTES)).is_ok());
        assert!(Password::given("x".repeat(MAX_BYTES + 1)).is_err());
        assert!(Password::given("x".repeat(1 << 20)).is_err());
        assert!(Password::chosen("1234567").is_err());
        assert!(Password::chosen("ääääääää").is_ok());
        assert_eq!(
            format!("{:?}", Password::given("secret").unwrap()),
            "Password(redacted)"
        );
    }
}
