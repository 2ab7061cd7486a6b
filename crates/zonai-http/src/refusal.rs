//! The one function that builds a 429, and what belongs to it.
//!
//! Must never put an address, a table's data or a reason beyond the counter into the answer, and nothing else in the
//! project may build a 429.

mod cors;
mod draft;

pub use cors::{EXPOSED_HEADERS, allow_origin};
pub use draft::{DraftLimit, draft_headers};

use std::sync::LazyLock;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode, header};
use zonai_clock::Clock;
use zonai_limit::{Moment, Refusal};

/// What a refusal tells its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedRequest<'a> {
    /// The limit of the policy that refused.
    pub max_requests: u32,
    /// When the window closes: Unix time in milliseconds.
    pub reset_epoch_ms: i64,
    /// How long until then, in milliseconds.
    pub retry_after_ms: u64,
    /// The table, or the shared bucket.
    pub collection: &'a str,
    /// The operation, as policies name it.
    pub operation: &'a str,
    /// The name of a custom operation; only one that is registered.
    pub custom_operation: Option<&'a str>,
}

impl<'a> RefusedRequest<'a> {
    /// What a refusal of the limiter at `now` tells its client.
    #[must_use]
    pub fn new(refusal: &'a Refusal, now: Moment, clock: &Clock) -> Self {
        Self {
            max_requests: refusal.policy.max_requests(),
            reset_epoch_ms: clock.steady_wall_ms_at(now, refusal.reset),
            retry_after_ms: refusal.reset.since(now),
            collection: &refusal.collection,
            operation: refusal.operation.name(),
            custom_operation: refusal.custom.as_deref(),
        }
    }
}

const LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// The headers in their order; a copy costs less than five insertions, each of which hashes a name.
static HEADERS: LazyLock<HeaderMap> = LazyLock::new(|| {
    let zero = HeaderValue::from_static("0");
    let mut headers = HeaderMap::with_capacity(6);
    headers.insert(header::RETRY_AFTER, zero.clone());
    headers.insert(LIMIT, zero.clone());
    headers.insert(REMAINING, zero.clone());
    headers.insert(RESET, zero);
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    headers
});

/// The 429. Seconds are rounded up, and `retry-after` is at least 1, so that a client that waits for either is admitted.
///
/// ```
/// use zonai_http::{RefusedRequest, too_many_requests};
/// let response = too_many_requests(&RefusedRequest {
///     max_requests: 100,
///     reset_epoch_ms: 1_788_307_241_001,
///     retry_after_ms: 41_001,
///     collection: "items",
///     operation: "create",
///     custom_operation: None,
/// });
/// assert_eq!(response.status(), 429);
/// assert_eq!(response.headers()["retry-after"], "42");
/// assert_eq!(
///     response.body(),
///     r#"{"error":"Rate limit exceeded","collection":"items","operation":"create","retryAfter":42}"#
/// );
/// ```
#[must_use]
pub fn too_many_requests(refused: &RefusedRequest<'_>) -> Response<Bytes> {
    let retry_after = refused.retry_after_ms.div_ceil(1_000).max(1);
    let reset = refused.reset_epoch_ms.div_euclid(1_000)
        + i64::from(refused.reset_epoch_ms.rem_euclid(1_000) > 0);

    // One buffer holds the body and then the header values; each is a slice of it.
    let mut text = Vec::with_capacity(256);
    text.extend_from_slice(b"{\"error\":\"Rate limit exceeded\",\"collection\":");
    push_json(&mut text, refused.collection);
    text.extend_from_slice(b",\"operation\":");
    push_json(&mut text, refused.operation);
    if let Some(name) = refused.custom_operation {
        text.extend_from_slice(b",\"customOperation\":");
        push_json(&mut text, name);
    }
    text.extend_from_slice(b",\"retryAfter\":");
    let retry_start = text.len();
    push_number(&mut text, retry_after);
    let retry_end = text.len();
    text.push(b'}');
    let body_end = text.len();
    push_number(&mut text, refused.max_requests);
    let limit_end = text.len();
    push_number(&mut text, reset);
    let text = Bytes::from(text);

    let mut headers = HEADERS.clone();
    // Those that differ from refusal to refusal, each with how many before it stay as they are.
    let numbers = [
        (0, retry_start..retry_end),
        (0, body_end..limit_end),
        (1, limit_end..text.len()),
    ];
    let mut values = headers.values_mut();
    for (unchanged, range) in numbers {
        if let Some(value) = values.nth(unchanged) {
            *value = digits(text.slice(range));
        }
    }

    let mut response = Response::new(text.slice(..body_end));
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    *response.headers_mut() = headers;
    response
}

/// A header value of digits, without a copy.
fn digits(text: Bytes) -> HeaderValue {
    HeaderValue::from_maybe_shared(text).unwrap_or(HeaderValue::from_static("0"))
}

fn push_number(text: &mut Vec<u8>, number: impl itoa::Integer) {
    text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// `value` as a JSON string.
pub(crate) fn push_json(text: &mut Vec<u8>, value: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    text.push(b'"');
    if !value.bytes().any(|b| b < 0x20 || matches!(b, b'"' | b'\\')) {
        text.extend_from_slice(value.as_bytes());
    } else {
        for byte in value.bytes() {
            match byte {
                b'"' | b'\\' => text.extend_from_slice(&[b'\\', byte]),
                0..0x20 => {
                    text.extend_from_slice(b"\\u00");
                    let digit = |nibble: u8| HEX.get(usize::from(nibble)).copied().unwrap_or(b'0');
                    text.extend_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
                }
                _ => text.push(byte),
            }
        }
    }
    text.push(b'"');
}
