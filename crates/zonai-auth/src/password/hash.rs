//! Argon2id with a pepper, in PHC strings.
//!
//! The string names the pepper by a keyed digest (`keyid`), so that after a rotation one hash is enough
//! to verify and the time does not tell old accounts from new ones. Must never run on an async thread.

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{Error, PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, KeyId, Params, ParamsBuilder, Version};
use subtle::ConstantTimeEq;

use super::Password;
use crate::keyed::digest;
use crate::{Secret, SecretError, Secrets};

/// Memory of one hash, KiB.
pub(crate) const MEMORY_KIB: u32 = 19_456;
/// Passes over the memory.
pub(crate) const PASSES: u32 = 3;
const LANES: u32 = 1;
const SALT_BYTES: usize = 16;
/// A stored hash that asks for more than this is not computed: it would be a way to fill the memory.
const MAX_MEMORY_KIB: u32 = 1 << 18;
const MAX_PASSES: u32 = 16;

/// What a comparison found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verified {
    /// Another password, or no password at all.
    No,
    /// The right one; `rehash` is a fresh hash where the stored one is of an older pepper or cost.
    Yes { rehash: Option<String> },
}

/// The secrets that go into hashes.
pub(crate) struct Peppers {
    current: Pepper,
    previous: Vec<Pepper>,
}

struct Pepper {
    secret: Secret,
    id: [u8; 8],
}

impl Peppers {
    pub(crate) fn new(secrets: &Secrets) -> Self {
        Self {
            current: Pepper::new(secrets.password()),
            previous: secrets
                .previous_password()
                .iter()
                .map(Pepper::new)
                .collect(),
        }
    }

    /// Hashes with the pepper in use and a fresh salt.
    pub(crate) fn hash(&self, password: &Password) -> Result<String, HashError> {
        let mut salt = [0_u8; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(|_| HashError::Random(SecretError::NoRandomness))?;
        self.current.hash(password, &salt)
    }

    /// Compares with the hash stored for an address. Without one the same work is done, and the answer is no.
    pub(crate) fn verify(
        &self,
        password: &Password,
        address: &str,
        stored: Option<&str>,
    ) -> Result<Verified, HashError> {
        let parsed = stored
            .and_then(|text| PasswordHash::new(text).ok())
            .filter(is_affordable);
        let Some(parsed) = parsed else {
            return self.waste(password, address);
        };
        let fits = match key_id(&parsed) {
            Some(id) => {
                let Some(pepper) = self.all().find(|pepper| pepper.id == *id) else {
                    return self.waste(password, address);
                };
                pepper.verify(password, &parsed)?
            }
            // A hash that was brought along names no pepper: any of them may be it.
            None => {
                let mut fits = false;
                for pepper in self.all() {
                    fits = fits || pepper.verify(password, &parsed)?;
                }
                fits
            }
        };
        if !fits {
            return Ok(Verified::No);
        }
        let rehash = if self.current.made(&parsed)? {
            None
        } else {
            Some(self.hash(password)?)
        };
        Ok(Verified::Yes { rehash })
    }

    /// The work of one comparison, for accounts that do not exist. Which memory a hash touches, and so a little of its time,
    /// follows from its salt: each address has one of its own, as each account has.
    fn waste(&self, password: &Password, address: &str) -> Result<Verified, HashError> {
        let hash = self.current.hash(password, &self.salt_of(address))?;
        std::hint::black_box(hash);
        Ok(Verified::No)
    }

    fn salt_of(&self, address: &str) -> [u8; SALT_BYTES] {
        let mut salt = [0; SALT_BYTES];
        let digest = digest(&self.current.secret, "salt of nobody", &[address]);
        salt.copy_from_slice(&digest[..SALT_BYTES]);
        salt
    }

    fn all(&self) -> impl Iterator<Item = &Pepper> {
        std::iter::once(&self.current).chain(&self.previous)
    }
}

impl Pepper {
    fn new(secret: &Secret) -> Self {
        let mut id = [0; 8];
        let digest = digest(secret, "pepper id", &[]);
        id.copy_from_slice(&digest[..8]);
        Self {
            secret: secret.clone(),
            id,
        }
    }

    fn params(&self) -> Result<Params, HashError> {
        let mut builder = ParamsBuilder::new();
        builder
            .m_cost(MEMORY_KIB)
            .t_cost(PASSES)
            .p_cost(LANES)
            .keyid(KeyId::new(&self.id)?);
        Ok(builder.build()?)
    }

    fn argon2(&self) -> Result<Argon2<'_>, HashError> {
        let secret = self.secret.expose().as_bytes();
        let params = self.params()?;
        Ok(Argon2::new_with_secret(
            secret,
            Algorithm::Argon2id,
            Version::V0x13,
            params,
        )?)
    }

    fn hash(&self, password: &Password, salt: &[u8]) -> Result<String, HashError> {
        Ok(self
            .argon2()?
            .hash_password_with_salt(password.as_bytes(), salt)?
            .to_string())
    }

    fn verify(&self, password: &Password, parsed: &PasswordHash) -> Result<bool, HashError> {
        match self.argon2()?.verify_password(password.as_bytes(), parsed) {
            Ok(()) => Ok(true),
            Err(Error::PasswordInvalid) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether the hash was made with this pepper at today's cost.
    fn made(&self, parsed: &PasswordHash) -> Result<bool, HashError> {
        let Ok(params) = Params::try_from(parsed) else {
            return Ok(false);
        };
        let ours = self.params()?;
        let same_pepper: bool = params.keyid().ct_eq(ours.keyid()).into();
        Ok(same_pepper
            && parsed.algorithm.as_str() == "argon2id"
            && params.m_cost() == ours.m_cost()
            && params.t_cost() == ours.t_cost()
            && params.p_cost() == ours.p_cost())
    }
}

fn key_id(parsed: &PasswordHash) -> Option<Vec<u8>> {
    let params = Params::try_from(parsed).ok()?;
    (!params.keyid().is_empty()).then(|| params.keyid().to_vec())
}

fn is_affordable(parsed: &PasswordHash) -> bool {
    parsed.algorithm.as_str().starts_with("argon2")
        && Params::try_from(parsed)
            .is_ok_and(|params| params.m_cost() <= MAX_MEMORY_KIB && params.t_cost() <= MAX_PASSES)
}

/// Why a hash could not be computed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HashError {
    #[error("no salt: {0}")]
    Random(SecretError),
    #[error("argon2: {0}")]
    Argon2(argon2::Error),
    #[error("password hash: {0}")]
    Phc(Error),
}

impl From<argon2::Error> for HashError {
    fn from(error: argon2::Error) -> Self {
        Self::Argon2(error)
    }
}

impl From<Error> for HashError {
    fn from(error: Error) -> Self {
        Self::Phc(error)
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

    const ADDRESS: &str = "ada@x.org";
    const OLD: &str = "an old password secret 0123456789";
    const NEW: &str = "a new password secret 0123456789!";
    const JWT: &str = "a token secret 0123456789 abcdefg";
    #[cfg(target_os = "linux")]
    const THIRD: &str = "a third password secret 012345678";

    fn peppers(password: &str, previous: &str) -> Peppers {
        Peppers::new(&Secrets::parse(JWT, password, "", previous).unwrap())
    }

    fn given(text: &str) -> Password {
        Password::given(text).unwrap()
    }

    #[test]
    fn an_address_without_an_account_has_a_salt_of_its_own_that_stays() {
        let peppers = peppers(NEW, "");
        let salt = peppers.salt_of("eve@x.org");
        assert_eq!(salt, peppers.salt_of("eve@x.org"));
        assert_ne!(salt, peppers.salt_of("bob@x.org"));
    }

    #[test]
    fn a_hash_says_what_it_cost_and_verifies_only_its_password() {
        let peppers = peppers(NEW, "");
        let stored = peppers.hash(&given("correct horse")).unwrap();
        assert!(
            stored.starts_with("$argon2id$v=19$m=19456,t=3,p=1,keyid="),
            "{stored}"
        );
        let salt = PasswordHash::new(&stored).unwrap().salt.unwrap();
        assert_eq!(salt.len(), 16);
        let yes = Verified::Yes { rehash: None };
        assert_eq!(
            peppers
                .verify(&given("correct horse"), ADDRESS, Some(&stored))
                .unwrap(),
            yes
        );
        assert_eq!(
            peppers
                .verify(&given("wrong horse"), ADDRESS, Some(&stored))
                .unwrap(),
            Verified::No
        );
    }

    #[test]
    fn the_pepper_is_needed() {
        let stored = peppers(OLD, "").hash(&given("correct horse")).unwrap();
        let verified = peppers(NEW, "")
            .verify(&given("correct horse"), ADDRESS, Some(&stored))
            .unwrap();
        assert_eq!(verified, Verified::No);
    }

    #[test]
    fn a_previous_pepper_verifies_and_asks_for_a_new_hash() {
        let stored = peppers(OLD, "").hash(&given("correct horse")).unwrap();
        let rotated = peppers(NEW, OLD);
        let Verified::Yes {
            rehash: Some(fresh),
        } = rotated
            .verify(&given("correct horse"), ADDRESS, Some(&stored))
            .unwrap()
        else {
            panic!("no fresh hash");
        };
        let verified = peppers(NEW, "")
            .verify(&given("correct horse"), ADDRESS, Some(&fresh))
            .unwrap();
        assert_eq!(verified, Verified::Yes { rehash: None });
    }

    #[test]
    fn a_hash_brought_along_without_a_pepper_name_is_tried_with_all() {
        let secret = OLD.as_bytes();
        let params = Params::new(1_024, 1, 1, None).unwrap();
        let argon2 =
            Argon2::new_with_secret(secret, Algorithm::Argon2id, Version::V0x13, params).unwrap();
        let stored = argon2
            .hash_password_with_salt(b"correct horse", &[7; 16])
            .unwrap()
            .to_string();
        let rotated = peppers(NEW, OLD);
        let verified = rotated
            .verify(&given("correct horse"), ADDRESS, Some(&stored))
            .unwrap();
        assert!(matches!(verified, Verified::Yes { rehash: Some(_) }));
        assert_eq!(
            rotated
                .verify(&given("wrong"), ADDRESS, Some(&stored))
                .unwrap(),
            Verified::No
        );
    }

    #[test]
    fn nothing_stored_junk_or_a_greedy_hash_is_a_no() {
        let peppers = peppers(NEW, "");
        let greedy = "$argon2id$v=19$m=4194304,t=3,p=1$AAAAAAAAAAAAAAAAAAAAAA$\
                      AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
        for stored in [
            None,
            Some(""),
            Some("plain"),
            Some("$2b$10$x"),
            Some(greedy),
        ] {
            assert_eq!(
                peppers.verify(&given("x"), ADDRESS, stored).unwrap(),
                Verified::No,
                "{stored:?}"
            );
        }
    }

    /// The processor time of this thread, which neighbours on the machine do not lengthen.
    #[cfg(target_os = "linux")]
    fn spent_ns() -> u64 {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
        stat.split(' ').next().unwrap().parse().unwrap()
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn whatever_is_stored_the_work_is_about_that_of_one_hash() {
        let rotated = peppers(NEW, OLD);
        let current = rotated.hash(&given("correct horse")).unwrap();
        let previous = peppers(OLD, "").hash(&given("correct horse")).unwrap();
        let gone = peppers(THIRD, "").hash(&given("correct horse")).unwrap();
        let cost = |stored: Option<&str>| {
            let before = spent_ns();
            assert_eq!(
                rotated.verify(&given("wrong"), ADDRESS, stored).unwrap(),
                Verified::No
            );
            spent_ns() - before
        };
        cost(Some(&current));
        let one = cost(Some(&current));
        for stored in [
            None,
            Some("junk"),
            Some(previous.as_str()),
            Some(gone.as_str()),
        ] {
            let ratio = cost(stored) as f64 / one as f64;
            // Wide, for a busy machine: no hash at all is 0.00, two are 2.
            assert!((0.4..1.7).contains(&ratio), "{stored:?}: {ratio:.2}");
        }
    }
}
