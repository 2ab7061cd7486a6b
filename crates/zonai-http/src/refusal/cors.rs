//! What lets a script of another origin read the answer.
//!
//! Which origins may is decided by the server; must never echo an origin that was not allowed.

use http::{HeaderMap, HeaderValue, header};

/// The headers of a refusal that a script may read.
pub const EXPOSED_HEADERS: HeaderValue = HeaderValue::from_static(
    "Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset",
);

/// Lets `origin`, which the caller has found to be allowed, read the response and its rate-limit headers.
pub fn allow_origin(headers: &mut HeaderMap, origin: HeaderValue) {
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED_HEADERS);
}
