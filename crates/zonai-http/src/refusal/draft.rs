//! The `RateLimit` and `RateLimit-Policy` fields of draft-ietf-httpapi-ratelimit-headers, as structured fields (RFC 9651).
//!
//! Off unless the settings say `headers: draft`; must never replace the `X-RateLimit-*` headers of a refusal.

use http::HeaderValue;

/// One limit that applied to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DraftLimit<'a> {
    /// What the limit is called; other characters than printable ASCII are shown as `?`.
    pub name: &'a str,
    /// Requests a window admits.
    pub max_requests: u32,
    /// Length of the window in milliseconds; shown in seconds, rounded up.
    pub window_ms: u64,
    /// Requests left in it.
    pub remaining: u32,
    /// Until it closes, in milliseconds; shown in seconds, rounded up.
    pub reset_ms: u64,
}

/// The values of `RateLimit-Policy` and `RateLimit`, or `None` without limits.
///
/// ```
/// use zonai_http::{DraftLimit, draft_headers};
/// let limit = DraftLimit { name: "notes:list", max_requests: 100, window_ms: 60_000, remaining: 99, reset_ms: 59_001 };
/// let (policy, state) = draft_headers(&[limit]).unwrap();
/// assert_eq!(policy, r#""notes:list";q=100;w=60"#);
/// assert_eq!(state, r#""notes:list";r=99;t=60"#);
/// ```
#[must_use]
pub fn draft_headers(limits: &[DraftLimit<'_>]) -> Option<(HeaderValue, HeaderValue)> {
    if limits.is_empty() {
        return None;
    }
    let (mut policy, mut state) = (Vec::with_capacity(48), Vec::with_capacity(48));
    for (index, limit) in limits.iter().enumerate() {
        for out in [&mut policy, &mut state] {
            if index > 0 {
                out.extend_from_slice(b", ");
            }
            push_string(out, limit.name);
        }
        push_parameter(&mut policy, b";q=", u64::from(limit.max_requests));
        push_parameter(&mut policy, b";w=", limit.window_ms.div_ceil(1_000));
        push_parameter(&mut state, b";r=", u64::from(limit.remaining));
        push_parameter(&mut state, b";t=", limit.reset_ms.div_ceil(1_000));
    }
    Some((
        HeaderValue::from_maybe_shared(bytes::Bytes::from(policy)).ok()?,
        HeaderValue::from_maybe_shared(bytes::Bytes::from(state)).ok()?,
    ))
}

fn push_parameter(out: &mut Vec<u8>, name: &[u8], value: u64) {
    out.extend_from_slice(name);
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// A string of RFC 9651: printable ASCII in quotes.
fn push_string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    for char in text.chars() {
        match char {
            '"' | '\\' => out.extend_from_slice(&[b'\\', char as u8]),
            ' '..='~' => out.push(char as u8),
            _ => out.push(b'?'),
        }
    }
    out.push(b'"');
}
