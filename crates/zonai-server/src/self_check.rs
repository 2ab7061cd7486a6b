//! Whether the server seems to stand behind a proxy that nobody told it about.
//!
//! The commonest fault of a rate limiter in the field is the wrong client. Must never change what a request is
//! counted as: it only says once what to look at.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use zonai_http::Found;
use zonai_limit::Client;

/// Forwarded headers from this many requests in one stretch are no accident.
const FORWARDED: u32 = 100;
/// Of this many requests ...
const STRETCH: u32 = 2_000;
/// ... so many from one address are nearly all.
const NEARLY_ALL: u32 = 1_950;

/// What was seen so far.
#[derive(Debug)]
pub(crate) struct SelfCheck {
    proxy_configured: bool,
    forwarded: AtomicU32,
    seen: AtomicU32,
    /// Of the address that the stretch began with.
    same: AtomicU32,
    first_hash: AtomicU64,
    said_forwarded: AtomicBool,
    said_one: AtomicBool,
}

impl SelfCheck {
    pub(crate) fn new(proxy_configured: bool) -> Self {
        Self {
            proxy_configured,
            forwarded: AtomicU32::new(0),
            seen: AtomicU32::new(0),
            same: AtomicU32::new(0),
            first_hash: AtomicU64::new(0),
            said_forwarded: AtomicBool::new(false),
            said_one: AtomicBool::new(false),
        }
    }

    /// Looks at one request. Says what it has to say at most once each.
    pub(crate) fn note(&self, found: &Found, peer: Option<IpAddr>) {
        if found.forwarded_present && !self.proxy_configured && !self.said_forwarded.load(Ordering::Relaxed) {
            let seen = self.forwarded.fetch_add(1, Ordering::Relaxed) + 1;
            if seen >= FORWARDED && !self.said_forwarded.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    requests = seen,
                    peer = %peer.map_or_else(|| "unix socket".to_owned(), |peer| peer.to_string()),
                    "requests keep arriving with forwarded headers, but no proxy is configured: if a proxy stands \
                     in front, all its clients share one counter; set `app.trustedProxy` in zonai.yaml"
                );
            }
        }
        if !self.said_one.load(Ordering::Relaxed) {
            self.note_sameness(found);
        }
    }

    fn note_sameness(&self, found: &Found) {
        let seen = self.seen.fetch_add(1, Ordering::Relaxed);
        if seen.is_multiple_of(STRETCH) {
            let nearly_all = self.same.swap(0, Ordering::Relaxed) >= NEARLY_ALL;
            // A program on this machine that talks to its own server is no proxy.
            let remote = !found.ip.is_none_or(|ip| ip.is_loopback());
            if nearly_all && (remote || found.forwarded_present) && !self.said_one.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    client = %found.client,
                    "nearly all traffic has one address: if a proxy stands in front, set `app.trustedProxy` \
                     in zonai.yaml, so that each client has counters of its own"
                );
            }
            self.first_hash.store(mark(found.client), Ordering::Relaxed);
        }
        if self.first_hash.load(Ordering::Relaxed) == mark(found.client) {
            self.same.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// A number for a client; two clients of one number only make the sample a little less precise.
fn mark(client: Client) -> u64 {
    match client {
        Client::V4 { network, .. } => u64::from(network.to_bits()) | 1 << 40,
        Client::V6 { network, .. } => u64::try_from(network.to_bits() >> 64).unwrap_or(0),
        Client::Local | Client::Everyone => 1 << 41,
    }
}
