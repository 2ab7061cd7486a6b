//! Keyed hashes (HMAC-SHA-256) of what must be found again but not read: codes, links, addresses.
//!
//! Every use has its own domain and length-prefixed parts, so that no hash of one kind passes for another.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::{Secret, Secrets};

/// A keyed hash.
pub(crate) type Digest = [u8; 32];

/// The hash of `parts` under `secret`, for one purpose.
pub(crate) fn digest(secret: &Secret, domain: &str, parts: &[&str]) -> Digest {
    #[expect(
        clippy::expect_used,
        reason = "HMAC takes keys of any length, and any other hash than the keyed one would let everybody in"
    )]
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes())
        .expect("HMAC takes keys of any length");
    for part in std::iter::once(&domain).chain(parts) {
        mac.update(&(part.len() as u64).to_le_bytes());
        mac.update(part.as_bytes());
    }
    mac.finalize().into_bytes().into()
}

/// The keys for it: the one in use, and those that are still recognised.
#[derive(Clone)]
pub(crate) struct Keyring {
    current: Secret,
    previous: Vec<Secret>,
}

impl Keyring {
    pub(crate) fn new(secrets: &Secrets) -> Self {
        Self {
            current: secrets.password().clone(),
            previous: secrets.previous_password().to_vec(),
        }
    }

    /// The hash to store.
    pub(crate) fn digest(&self, domain: &str, parts: &[&str]) -> Digest {
        digest(&self.current, domain, parts)
    }

    /// The hashes under which the same thing may have been stored, the one in use first.
    pub(crate) fn candidates(&self, domain: &str, parts: &[&str]) -> Vec<Digest> {
        let all = std::iter::once(&self.current).chain(&self.previous);
        all.map(|secret| digest(secret, domain, parts)).collect()
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
    fn purposes_parts_and_keys_are_kept_apart() {
        let (one, two) = (Secret::new("one"), Secret::new("two"));
        let base = digest(&one, "code", &["ab", "c"]);
        assert_eq!(base, digest(&one, "code", &["ab", "c"]));
        assert_ne!(base, digest(&one, "code", &["a", "bc"]));
        assert_ne!(base, digest(&one, "link", &["ab", "c"]));
        assert_ne!(base, digest(&two, "code", &["ab", "c"]));
    }
}
