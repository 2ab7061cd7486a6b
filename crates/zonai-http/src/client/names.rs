//! The headers in which proxies and content networks say whose request it is.
//!
//! Used only to notice that they arrive (a self-check and a guard of `exempt`); must never decide who the client is.

use http::HeaderMap;

/// Whether `headers` has one that proxies set (`X-Forwarded-*`, `X-Real-IP`, `Forwarded`, `Via`, `CF-Connecting-IP` and the like).
#[must_use]
#[inline]
pub fn has_forwarded(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| is_forwarded(name.as_str()))
}

/// A `match` on text compiles to a switch on its length: about a nanosecond a header.
#[inline]
fn is_forwarded(name: &str) -> bool {
    // `-For`, `-Proto`, `-Host`, `-Port` and whatever else a proxy says of what it forwards.
    name.starts_with("x-forwarded")
        || matches!(
            name,
            "forwarded"
                | "via"
                | "cf-ray"
                | "client-ip"
                | "wl-proxy-client-ip"
                | "proxy-client-ip"
                | "x-vercel-forwarded-for"
                | "x-real-ip"
                | "cf-connecting-ip"
                | "cf-connecting-ipv6"
                | "true-client-ip"
                | "fly-client-ip"
                | "fastly-client-ip"
                | "x-client-ip"
                | "x-cluster-client-ip"
                | "x-original-forwarded-for"
                | "x-envoy-external-address"
                | "x-azure-clientip"
                | "x-appengine-user-ip"
                | "forwarded-for"
        )
}
