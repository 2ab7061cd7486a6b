//! Whose request it is: from the peer of a connection and the headers of a request to one client.
//!
//! Pure, without allocation, and it never fails: where a header says nothing usable, the client is the peer. Must
//! never believe a header that [`TrustedProxy`] does not name, nor return an address that is not in its input.

mod address;
mod entries;
mod forwarded;
mod names;
mod trace;

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue};
use zonai_limit::{Client, Ipv6Prefix};

use crate::TrustedProxy;

pub(crate) use address::usable;
pub use names::has_forwarded;
pub use trace::{Step, StepSink, trace_client};

/// Whose request it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Who is counted. [`Client::Local`] where there is no address at all (a Unix socket without a trusted header).
    pub client: Client,
    /// The address itself, for logs and for `exempt`; an IPv4-mapped address is the IPv4 address.
    pub ip: Option<IpAddr>,
    /// The request carries a header that proxies set, believed or not.
    pub forwarded_present: bool,
    /// `ip` was read from a header that is believed; otherwise it is the peer.
    pub from_trusted: bool,
}

/// Finds the client of a request. With the PROXY protocol `peer` is the source address of the PROXY header.
///
/// Without `trusted` it is the peer. Otherwise, where the peer is a trusted proxy, the first of its headers that is
/// present is read, all lines joined in order:
/// - from the right, skipping addresses inside `proxies`. The first other address is the client; an entry that is
///   no address (an empty one, too) ends the search: the client is the peer. Where all entries lie inside `proxies`, it is the
///   leftmost of them: then a machine among the proxies made the request.
/// - with `use_leftmost_ip`, its first entry, wherever it lies; where that is no address, it is the peer.
///
/// ```
/// use http::{HeaderMap, HeaderName};
/// use zonai_http::{CidrList, TrustedProxy, find_client};
/// use zonai_limit::Ipv6Prefix;
///
/// let name = HeaderName::from_static("x-forwarded-for");
/// let proxies = CidrList::parse(["10.0.0.0/8"]).unwrap();
/// let trusted = TrustedProxy::new(vec![name.clone()], false, proxies, false).unwrap();
/// let mut headers = HeaderMap::new();
/// headers.insert(name, "198.51.100.1, 203.0.113.7:51234, 10.0.0.2".parse().unwrap());
/// let peer = "10.0.0.1".parse().ok();
/// let found = find_client(peer, &headers, Some(&trusted), Ipv6Prefix::DEFAULT);
/// assert_eq!(found.client.to_string(), "203.0.113.7");
/// ```
#[must_use]
#[inline]
pub fn find_client(
    peer: Option<IpAddr>,
    headers: &HeaderMap,
    trusted: Option<&TrustedProxy>,
    prefix: Ipv6Prefix,
) -> Found {
    find_client_with(peer, headers, trusted, prefix, &mut ())
}

/// As [`find_client`], and tells `sink` each step.
#[must_use]
pub fn find_client_with<S: StepSink>(
    peer: Option<IpAddr>,
    headers: &HeaderMap,
    trusted: Option<&TrustedProxy>,
    prefix: Ipv6Prefix,
    sink: &mut S,
) -> Found {
    let peer = peer.map(|ip| ip.to_canonical());
    sink.step(Step::Peer(peer));
    let forwarded_present = has_forwarded(headers);
    let read = match trusted {
        None => {
            sink.step(Step::NoProxyConfigured { forwarded_present });
            None
        }
        Some(trusted) => from_headers(peer, headers, trusted, sink),
    };
    let ip = read.or(peer);
    let client = ip.map_or(Client::Local, |ip| Client::from_ip(ip, prefix));
    sink.step(Step::Client {
        client,
        from_header: read.is_some(),
    });
    Found {
        client,
        ip,
        forwarded_present,
        from_trusted: read.is_some(),
    }
}

fn from_headers<S: StepSink>(
    peer: Option<IpAddr>,
    headers: &HeaderMap,
    trusted: &TrustedProxy,
    sink: &mut S,
) -> Option<IpAddr> {
    if trusted.headers().is_empty() {
        sink.step(Step::NoHeaderConfigured);
        return None;
    }
    if !trusted.believes(peer) {
        sink.step(Step::PeerNotTrusted);
        return None;
    }
    sink.step(Step::PeerTrusted {
        any: trusted.proxies().is_empty(),
    });
    for name in trusted.headers() {
        let lines = headers.get_all(name);
        if lines.iter().next().is_none() {
            sink.step(Step::HeaderAbsent(name));
            continue;
        }
        sink.step(Step::HeaderUsed {
            name,
            lines: lines.iter().count(),
            leftmost: trusted.use_leftmost_ip(),
        });
        return if trusted.use_leftmost_ip() {
            leftmost(name, lines.iter(), sink)
        } else {
            from_the_right(name, lines.iter().rev(), trusted, sink)
        };
    }
    None
}

fn leftmost<'a, S: StepSink>(
    name: &HeaderName,
    lines: impl Iterator<Item = &'a HeaderValue>,
    sink: &mut S,
) -> Option<IpAddr> {
    let mut lines = lines;
    let line = lines.next()?;
    let entry = entries::first(line.as_bytes(), quotes(name));
    let ip = read_entry(name, entry);
    sink.step(match ip {
        Some(ip) => Step::Taken { entry, ip },
        None => Step::NoAddress(entry),
    });
    ip
}

fn from_the_right<'a, S: StepSink>(
    name: &HeaderName,
    lines: impl Iterator<Item = &'a HeaderValue>,
    trusted: &TrustedProxy,
    sink: &mut S,
) -> Option<IpAddr> {
    let mut last = None;
    for line in lines {
        for entry in entries::from_the_right(line.as_bytes(), quotes(name)) {
            let Some(ip) = read_entry(name, entry) else {
                sink.step(Step::NoAddress(entry));
                return None;
            };
            if !trusted.proxies().contains(ip) {
                sink.step(Step::Taken { entry, ip });
                return Some(ip);
            }
            sink.step(Step::Skipped { entry, ip });
            last = Some(ip);
        }
    }
    if let Some(ip) = last {
        sink.step(Step::AllSkipped(ip));
    }
    last
}

/// Whether commas inside double quotes are text: in `Forwarded` only.
fn quotes(name: &HeaderName) -> bool {
    *name == http::header::FORWARDED
}

fn read_entry(name: &HeaderName, entry: &[u8]) -> Option<IpAddr> {
    if *name == http::header::FORWARDED {
        forwarded::address(entry)
    } else {
        address::parse(entry)
    }
}
