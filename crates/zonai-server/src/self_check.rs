//! Whether the server seems to stand behind a proxy that nobody told it about.
//!
//! The commonest fault of a rate limiter in the field is the wrong client. Must never change what a request is
//! counted as, and never speak twice: it only says once what to look at.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use zonai_http::Found;
use zonai_limit::Client;

/// Of this many requests ...
const STRETCH: u32 = 2_000;
/// ... so many from one address are nearly all, ...
const NEARLY_ALL: u32 = 1_950;
/// ... and so many with forwarded headers are no accident, as a scanner's now and then would be.
const FORWARDED: u32 = 100;

/// What was seen so far. The numbers are a sample: requests at the same moment may make them a little less precise.
#[derive(Debug)]
pub(crate) struct SelfCheck {
    proxy_configured: bool,
    /// Requests, and of this stretch those with forwarded headers.
    seen: AtomicU32,
    forwarded: AtomicU32,
    /// Requests of the client that this stretch began with.
    same: AtomicU32,
    first: AtomicU64,
    said: AtomicBool,
}

/// What to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Suspicion {
    /// Forwarded headers keep arriving, and nobody said which proxies to believe.
    Forwarded,
    /// Nearly all traffic has this address.
    OneAddress(Client),
}

impl SelfCheck {
    pub(crate) fn new(proxy_configured: bool) -> Self {
        Self {
            proxy_configured,
            seen: AtomicU32::new(0),
            forwarded: AtomicU32::new(0),
            same: AtomicU32::new(0),
            first: AtomicU64::new(0),
            said: AtomicBool::new(false),
        }
    }

    /// Looks at one request. Says what it has to say once.
    pub(crate) fn note(&self, found: &Found, peer: Option<IpAddr>) {
        if self.said.load(Ordering::Relaxed) {
            return;
        }
        let Some(suspicion) = self.judge(found) else {
            return;
        };
        if self.said.swap(true, Ordering::Relaxed) {
            return;
        }
        let peer = peer.map_or_else(
            || "unix socket".to_owned(),
            |peer| peer.to_canonical().to_string(),
        );
        match suspicion {
            Suspicion::Forwarded => tracing::warn!(
                peer,
                "requests keep arriving with forwarded headers, but no proxy is configured: if a proxy stands in front, \
                 all its clients share one counter; set `app.trustedProxy` in zonai.yaml"
            ),
            Suspicion::OneAddress(client) if self.proxy_configured => tracing::warn!(
                %client,
                peer,
                "nearly all traffic has one address: if that is a proxy, list it in `app.trustedProxy.proxies` in \
                 zonai.yaml, and name the header that it sets, so that each of its clients has counters of its own"
            ),
            Suspicion::OneAddress(client) => tracing::warn!(
                %client,
                "nearly all traffic has one address: if a proxy stands in front, set `app.trustedProxy` in zonai.yaml, \
                 so that each client has counters of its own"
            ),
        }
    }

    fn judge(&self, found: &Found) -> Option<Suspicion> {
        // Requests through a Unix socket that names no client: the warning at start has told that they share one.
        found.ip?;
        let mark = mark(found.client);
        let mut suspicion = None;
        if self
            .seen
            .fetch_add(1, Ordering::Relaxed)
            .is_multiple_of(STRETCH)
        {
            let same = self.same.swap(0, Ordering::Relaxed);
            let first = self.first.swap(mark, Ordering::Relaxed);
            self.forwarded.store(0, Ordering::Relaxed);
            // Also where it is this machine's own: a proxy that sends no headers looks the same.
            if same >= NEARLY_ALL && first == mark {
                suspicion = Some(Suspicion::OneAddress(found.client));
            }
        }
        if self.first.load(Ordering::Relaxed) == mark {
            self.same.fetch_add(1, Ordering::Relaxed);
        }
        if found.forwarded_present && !self.proxy_configured {
            let forwarded = self.forwarded.fetch_add(1, Ordering::Relaxed) + 1;
            if forwarded >= FORWARDED {
                suspicion = Some(Suspicion::Forwarded);
            }
        }
        suspicion
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

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use zonai_limit::Ipv6Prefix;

    use super::*;

    fn found(ip: [u8; 4], forwarded_present: bool) -> Found {
        let ip = IpAddr::V4(Ipv4Addr::from(ip));
        Found {
            client: Client::from_ip(ip, Ipv6Prefix::DEFAULT),
            ip: Some(ip),
            forwarded_present,
            from_trusted: false,
        }
    }

    /// What is suspected of `requests` requests, the n-th of which is `of(n)`; at most so often.
    fn suspected(
        proxy_configured: bool,
        requests: u8,
        of: impl Fn(u32) -> Found,
    ) -> Vec<Suspicion> {
        let check = SelfCheck::new(proxy_configured);
        let all = (0..u32::from(requests) * 100).filter_map(|number| check.judge(&of(number)));
        all.take(1).collect()
    }

    #[test]
    fn a_proxy_that_nobody_told_of_is_noticed_by_its_headers() {
        assert_eq!(
            suspected(false, 1, |_| found([127, 0, 0, 1], true)),
            [Suspicion::Forwarded]
        );
        let few = |number: u32| {
            found(
                [10, 0, 0, number.to_le_bytes()[0]],
                number.is_multiple_of(40),
            )
        };
        assert_eq!(suspected(false, 250, few), []);
        assert_eq!(
            suspected(true, 250, |number| found(number.to_le_bytes(), true)),
            []
        );
    }

    #[test]
    fn one_address_is_noticed_after_thousands_of_requests_also_this_machines() {
        let remote = found([10, 0, 0, 7], false);
        for one in [remote, found([127, 0, 0, 1], false)] {
            for proxy_configured in [false, true] {
                assert_eq!(suspected(proxy_configured, 20, |_| one), []);
                let expected = [Suspicion::OneAddress(one.client)];
                assert_eq!(suspected(proxy_configured, 21, |_| one), expected);
            }
        }
        let office = |number: u32| {
            if number % 20 == 7 {
                found([10, 0, 1, 1], false)
            } else {
                remote
            }
        };
        assert_eq!(suspected(false, 250, office), []);
    }

    #[test]
    fn the_address_that_is_named_is_the_one_that_nearly_all_have() {
        let remote = found([10, 0, 0, 7], false);
        let odd = |number: u32| {
            if number == 2_000 {
                found([10, 9, 9, 9], false)
            } else {
                remote
            }
        };
        assert_eq!(suspected(false, 21, odd), []);
        assert_eq!(
            suspected(false, 81, odd),
            [Suspicion::OneAddress(remote.client)]
        );
    }
}
