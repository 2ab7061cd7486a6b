//! The secrets that sign tokens and pepper passwords, checked once when they are read.
//!
//! A secret is never printed, not even by `Debug`, and is wiped from memory when it is dropped.

use std::collections::BTreeSet;
use std::fmt;

use base64::Engine as _;
use zeroize::Zeroizing;

/// The fewest characters of a secret.
pub const MIN_LENGTH: usize = 32;
/// The fewest distinct characters of a secret.
pub const MIN_DISTINCT: usize = 8;

/// Text that must not be shown.
#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps `text` as it is. Whether it is good enough to sign with is for [`Secrets::new`] to say.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(Zeroizing::new(text.into()))
    }

    /// The text itself, for those who sign, hash or store it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// A fresh secret of 256 random bits, written in 43 characters.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub fn random() -> Result<Self, SecretError> {
        let mut bytes = Zeroizing::new([0_u8; 32]);
        getrandom::fill(bytes.as_mut_slice()).map_err(|_| SecretError::NoRandomness)?;
        Ok(Self::new(
            base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(bytes.as_slice()),
        ))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(redacted)")
    }
}

/// What signs tokens and peppers passwords: one pair in use, and older ones that still verify.
#[derive(Clone, Debug)]
pub struct Secrets {
    jwt: Secret,
    password: Secret,
    previous_jwt: Vec<Secret>,
    previous_password: Vec<Secret>,
}

impl Secrets {
    /// Takes the secrets after checking each of them.
    ///
    /// # Errors
    /// When one is shorter than [`MIN_LENGTH`], has fewer than [`MIN_DISTINCT`] distinct characters, or
    /// when the two in use are equal. The text names the variable and says what to do.
    pub fn new(
        jwt: Secret,
        password: Secret,
        previous_jwt: Vec<Secret>,
        previous_password: Vec<Secret>,
    ) -> Result<Self, SecretError> {
        check("JWT_SECRET", &jwt)?;
        check("PASSWORD_SECRET", &password)?;
        for secret in &previous_jwt {
            check("PREVIOUS_JWT_SECRETS", secret)?;
        }
        for secret in &previous_password {
            check("PREVIOUS_PASSWORD_SECRETS", secret)?;
        }
        if jwt.expose() == password.expose() {
            return Err(SecretError::Equal);
        }
        Ok(Self {
            jwt,
            password,
            previous_jwt,
            previous_password,
        })
    }

    /// The same from the values of the four variables; the previous ones are comma lists, maybe empty.
    ///
    /// # Errors
    /// As [`Secrets::new`].
    pub fn parse(
        jwt: &str,
        password: &str,
        previous_jwt: &str,
        previous_password: &str,
    ) -> Result<Self, SecretError> {
        let list = |text: &str| {
            text.split(',')
                .map(str::trim)
                .filter(|s| !s.is_empty())
                .map(Secret::new)
                .collect()
        };
        Self::new(
            Secret::new(jwt.trim()),
            Secret::new(password.trim()),
            list(previous_jwt),
            list(previous_password),
        )
    }

    /// A fresh pair with nothing previous.
    ///
    /// # Errors
    /// When the system has no randomness to give.
    pub fn generate() -> Result<Self, SecretError> {
        loop {
            // 43 random characters fail the check about never; the loop keeps the promise anyway.
            match Self::new(Secret::random()?, Secret::random()?, Vec::new(), Vec::new()) {
                Err(SecretError::NoRandomness) => return Err(SecretError::NoRandomness),
                Err(_) => {}
                Ok(secrets) => return Ok(secrets),
            }
        }
    }

    /// Signs and verifies tokens (`JWT_SECRET`).
    #[must_use]
    pub const fn jwt(&self) -> &Secret {
        &self.jwt
    }

    /// Peppers passwords and keys the hashes of codes, links and addresses (`PASSWORD_SECRET`).
    #[must_use]
    pub const fn password(&self) -> &Secret {
        &self.password
    }

    /// Verify tokens, sign none (`PREVIOUS_JWT_SECRETS`).
    #[must_use]
    pub fn previous_jwt(&self) -> &[Secret] {
        &self.previous_jwt
    }

    /// Verify passwords, codes and links, make none (`PREVIOUS_PASSWORD_SECRETS`).
    #[must_use]
    pub fn previous_password(&self) -> &[Secret] {
        &self.previous_password
    }
}

/// Why the secrets are refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SecretError {
    /// Too few characters.
    #[error(
        "{name} has {length} characters; it needs at least {MIN_LENGTH}. \
         Make one with `openssl rand -base64 32` and put it into the environment or `.env`"
    )]
    Short {
        /// The variable.
        name: &'static str,
        /// How many characters it has.
        length: usize,
    },
    /// Too easily guessed.
    #[error(
        "{name} has only {distinct} distinct characters; it needs at least {MIN_DISTINCT}. \
         Make one with `openssl rand -base64 32` and put it into the environment or `.env`"
    )]
    Plain {
        /// The variable.
        name: &'static str,
        /// How many distinct characters it has.
        distinct: usize,
    },
    /// One secret for both purposes.
    #[error("JWT_SECRET and PASSWORD_SECRET are equal; set PASSWORD_SECRET to another value")]
    Equal,
    /// The system's source of randomness failed.
    #[error("the system gives no random bytes; set JWT_SECRET and PASSWORD_SECRET yourself")]
    NoRandomness,
}

fn check(name: &'static str, secret: &Secret) -> Result<(), SecretError> {
    let length = secret.expose().chars().count();
    if length < MIN_LENGTH {
        return Err(SecretError::Short { name, length });
    }
    let distinct = secret.expose().chars().collect::<BTreeSet<_>>().len();
    if distinct < MIN_DISTINCT {
        return Err(SecretError::Plain { name, distinct });
    }
    Ok(())
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

    const A: &str = "0123456789abcdef0123456789abcdef";
    const B: &str = "fedcba9876543210fedcba9876543210";

    #[test]
    fn a_good_pair_is_taken() {
        let secrets = Secrets::parse(A, B, "", &format!(" {A} , {B},")).unwrap();
        assert_eq!(secrets.jwt().expose(), A);
        assert!(secrets.previous_jwt().is_empty());
        assert_eq!(secrets.previous_password().len(), 2);
    }

    #[test]
    fn each_fault_names_the_variable_and_the_remedy() {
        let short = Secrets::parse(&A[1..], B, "", "").unwrap_err();
        assert_eq!(
            short,
            SecretError::Short {
                name: "JWT_SECRET",
                length: 31
            }
        );
        assert!(short.to_string().contains("openssl rand"));
        let plain = Secrets::parse(A, &"abcdefg".repeat(6), "", "").unwrap_err();
        assert_eq!(
            plain,
            SecretError::Plain {
                name: "PASSWORD_SECRET",
                distinct: 7
            }
        );
        assert_eq!(
            Secrets::parse(A, A, "", "").unwrap_err(),
            SecretError::Equal
        );
        let previous = Secrets::parse(A, B, "old", "").unwrap_err();
        assert_eq!(
            previous,
            SecretError::Short {
                name: "PREVIOUS_JWT_SECRETS",
                length: 3
            }
        );
    }

    #[test]
    fn nothing_is_printed() {
        let secrets = Secrets::parse(A, B, A, B).unwrap();
        let text = format!("{secrets:?}");
        assert!(!text.contains("0123") && !text.contains("fedc"), "{text}");
    }

    #[test]
    fn made_ones_pass_and_differ() {
        let (one, two) = (Secrets::generate().unwrap(), Secrets::generate().unwrap());
        assert_ne!(one.jwt().expose(), two.jwt().expose());
        assert!(Secrets::parse(one.jwt().expose(), one.password().expose(), "", "").is_ok());
    }
}
