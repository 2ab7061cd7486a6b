//! Tokens: JWT (HS256), signed with the secret in use and verified with it or a previous one.
//!
//! A good signature is not enough: the token's row in `_jwt` decides, and that is for `tokens` to ask.
//! Must never verify with another algorithm than it signs with, whatever the token's header says.

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};

use crate::error::BAD_TOKEN;
use crate::{AuthError, Claims, Secrets};

/// The longest token that is looked at, in bytes.
const MAX_BYTES: usize = 8_192;

/// Signs and reads tokens.
pub(crate) struct TokenKeys {
    sign: EncodingKey,
    verify: Vec<DecodingKey>,
    validation: Validation,
}

impl TokenKeys {
    pub(crate) fn new(secrets: &Secrets) -> Result<Self, AuthError> {
        let fault = |error| AuthError::internal("the token keys could not be made", error);
        let all = std::iter::once(secrets.jwt()).chain(secrets.previous_jwt());
        let verify = all.map(|secret| DecodingKey::from_secret(secret.expose().as_bytes()));
        let mut validation = Validation::new(Algorithm::HS256);
        // `expiresAt` is ours, and the time comes from the clock the server was given.
        validation.required_spec_claims.clear();
        validation.validate_exp = false;
        Ok(Self {
            sign: EncodingKey::from_secret(secrets.jwt().expose().as_bytes()).map_err(fault)?,
            verify: verify.collect::<Result<_, _>>().map_err(fault)?,
            validation,
        })
    }

    /// Signs with the secret in use.
    pub(crate) fn sign(&self, claims: &Claims) -> Result<String, AuthError> {
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), claims, &self.sign)
            .map_err(|error| AuthError::internal("a token could not be signed", error))
    }

    /// Reads a token whose signature is good and whose time is not over.
    pub(crate) fn read(&self, token: &str, now_ms: i64) -> Result<Claims, AuthError> {
        if token.len() > MAX_BYTES {
            return Err(BAD_TOKEN);
        }
        let mut tries = self.verify.iter();
        let claims = tries.find_map(|key| {
            jsonwebtoken::decode::<Claims>(token, key, &self.validation)
                .ok()
                .map(|data| data.claims)
        });
        claims
            .filter(|claims| claims.expires_at > now_ms)
            .ok_or(BAD_TOKEN)
    }
}

/// The token in an `Authorization` header: with or without `Bearer`, in any case and spacing.
///
/// `None` for a header that holds no token: empty, other than visible ASCII, or several words.
///
/// ```
/// assert_eq!(zonai_auth::parse_bearer(b"  bEARER \t x.y.z "), Some("x.y.z"));
/// assert_eq!(zonai_auth::parse_bearer(b"x.y.z"), Some("x.y.z"));
/// ```
#[must_use]
pub fn parse_bearer(header: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(header).ok()?.trim_ascii();
    let token = match text.split_once([' ', '\t']) {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("bearer") => rest.trim_ascii(),
        Some(_) => return None,
        None if text.eq_ignore_ascii_case("bearer") => return None,
        None => text,
    };
    (!token.is_empty() && token.bytes().all(|byte| byte.is_ascii_graphic())).then_some(token)
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "tests"
    )]
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;
    use serde_json::Map;

    use super::*;
    use crate::UserId;

    const OLD: &str = "an old token secret 0123456789 ab";
    const NEW: &str = "a new token secret 0123456789 abc";
    const PASSWORD: &str = "a password secret 0123456789 abcd";

    fn keys(jwt: &str, previous: &str) -> TokenKeys {
        TokenKeys::new(&Secrets::parse(jwt, PASSWORD, previous, "").unwrap()).unwrap()
    }

    fn claims() -> Claims {
        Claims {
            user_id: UserId::Text("0123456789abcde_us".to_owned()),
            table: "users".to_owned(),
            jwt_id: "j".to_owned(),
            expires_at: 1_000,
            claims: Map::new(),
            user: Map::new(),
            admin: false,
        }
    }

    #[test]
    fn a_token_holds_the_claims_by_their_names() {
        let token = keys(NEW, "").sign(&claims()).unwrap();
        let parts: Vec<&str> = token.split('.').collect();
        let decode = |part: &str| String::from_utf8(URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
        assert_eq!(decode(parts[0]), r#"{"typ":"JWT","alg":"HS256"}"#);
        let payload = r#"{"userId":"0123456789abcde_us","table":"users","jwtId":"j","expiresAt":1000,"claims":{},"user":{},"admin":false}"#;
        assert_eq!(decode(parts[1]), payload);
    }

    #[test]
    fn it_ends_at_its_time() {
        let keys = keys(NEW, "");
        let token = keys.sign(&claims()).unwrap();
        assert_eq!(keys.read(&token, 999).unwrap(), claims());
        assert_eq!(keys.read(&token, 1_000), Err(BAD_TOKEN));
    }

    #[test]
    fn a_previous_secret_verifies_and_another_does_not() {
        let token = keys(OLD, "").sign(&claims()).unwrap();
        assert!(keys(NEW, OLD).read(&token, 0).is_ok());
        assert_eq!(keys(NEW, "").read(&token, 0), Err(BAD_TOKEN));
        let fresh = keys(NEW, OLD).sign(&claims()).unwrap();
        assert_eq!(keys(OLD, "").read(&fresh, 0), Err(BAD_TOKEN));
    }

    #[test]
    fn another_algorithm_none_or_a_changed_payload_is_refused() {
        let keys = keys(NEW, "");
        let token = keys.sign(&claims()).unwrap();
        let parts: Vec<&str> = token.split('.').collect();
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let none = format!("{}.{}.", encode(r#"{"alg":"none"}"#), parts[1]);
        let key = EncodingKey::from_secret(NEW.as_bytes()).unwrap();
        let hs512 = jsonwebtoken::encode(&Header::new(Algorithm::HS512), &claims(), &key).unwrap();
        let changed = serde_json::to_string(&Claims {
            admin: true,
            ..claims()
        })
        .unwrap();
        let changed = format!("{}.{}.{}", parts[0], encode(&changed), parts[2]);
        let huge = "a".repeat(MAX_BYTES + 1);
        for bad in [
            &none, &hs512, &changed, &huge, "", "a", "a.b", "a.b.c", "a.b.c.d", "\0",
        ] {
            assert_eq!(keys.read(bad, 0), Err(BAD_TOKEN), "{bad}");
        }
    }

    #[test]
    fn spellings_of_the_header_are_one() {
        for header in [
            "x.y",
            "Bearer x.y",
            "bearer  x.y",
            "BEARER\tx.y",
            "  x.y ",
            " bEaReR \t x.y\t",
        ] {
            assert_eq!(parse_bearer(header.as_bytes()), Some("x.y"), "{header:?}");
        }
        for header in [
            "",
            " ",
            "Bearer",
            "bearer ",
            "Basic x.y",
            "x y",
            "Bearer x y",
            "Bearer \u{e9}",
        ] {
            assert_eq!(parse_bearer(header.as_bytes()), None, "{header:?}");
        }
        assert_eq!(parse_bearer(b"Bearer \xff"), None);
    }
}
