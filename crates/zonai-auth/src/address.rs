//! E-mail addresses as accounts know them: trimmed, in lower case, and of a shape that mail servers take.
//!
//! Must never say the address itself in an error: such texts reach logs and other people.

use crate::AuthError;

/// The longest address in bytes (RFC 5321, a path without its brackets).
const MAX_BYTES: usize = 254;
const MAX_LOCAL: usize = 64;
const MAX_LABEL: usize = 63;

/// A normalised address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address(String);

impl Address {
    /// Normalises and checks `text`.
    ///
    /// # Errors
    /// 400 when it is no address: what is wrong is in the text, the address itself is not.
    pub fn parse(text: &str) -> Result<Self, AuthError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(AuthError::bad("`email` must not be empty"));
        }
        if text.len() > MAX_BYTES {
            return Err(AuthError::bad(format!(
                "`email` may have at most {MAX_BYTES} bytes"
            )));
        }
        if !text.is_ascii() {
            let text = "`email` may hold only ASCII characters; write the domain in its xn-- form";
            return Err(AuthError::bad(text));
        }
        let good = text.split_once('@').is_some_and(|(local, domain)| {
            is_local(local) && (is_domain(domain) || domain.eq_ignore_ascii_case("localhost"))
        });
        if !good {
            return Err(AuthError::bad("`email` is not an e-mail address"));
        }
        Ok(Self(text.to_ascii_lowercase()))
    }

    /// The normalised text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The form under which an account key is made, whether or not `text` is an address.
pub(crate) fn normalise(text: &str) -> String {
    text.trim().to_ascii_lowercase()
}

fn is_local(local: &str) -> bool {
    let atom = |c: u8| c.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~".contains(&c);
    local.len() <= MAX_LOCAL
        && local
            .split('.')
            .all(|part| !part.is_empty() && part.bytes().all(atom))
}

fn is_domain(domain: &str) -> bool {
    let label = |label: &str| {
        !label.is_empty()
            && label.len() <= MAX_LABEL
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|c| c.is_ascii_alphanumeric() || c == b'-')
    };
    domain.contains('.') && domain.split('.').all(label)
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
    fn spellings_of_one_address_are_one() {
        for text in ["Ada@Example.COM", "  ada@example.com\n", "ADA@EXAMPLE.com"] {
            assert_eq!(Address::parse(text).unwrap().as_str(), "ada@example.com");
        }
        for good in [
            "a+b@x.org",
            "o'neil@x.co.uk",
            "a.b-c_d@sub.x-y.org",
            "dev@localhost",
        ] {
            assert!(Address::parse(good).is_ok(), "{good}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        let long = format!("{}@example.com", "a".repeat(65));
        let longer = format!("a@{}com", "example.".repeat(40));
        let bad = [
            "",
            "  ",
            "ada",
            "@example.com",
            "ada@",
            "ada@example",
            "a@b@example.com",
            "a b@x.org",
            ".a@x.org",
            "a..b@x.org",
            "a@-x.org",
            "a@x..org",
            "a@x.org\r\nBcc: b@x.org",
            "a\0@x.org",
            "<a@x.org>",
            "\"a b\"@x.org",
            "ä@x.org",
            "a@x.org,b@x.org",
            &long,
            &longer,
        ];
        for text in bad {
            assert!(Address::parse(text).is_err(), "{text:?}");
        }
    }
}
