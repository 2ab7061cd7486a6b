//! The search for the client, step by step and in words, for `zonai limits explain --request`.
//!
//! Must never decide anything: [`super::find_client_with`] is the only walk, and it tells its steps to a [`StepSink`].

use std::fmt;
use std::net::IpAddr;

use http::{HeaderMap, HeaderName};
use zonai_limit::{Client, Ipv6Prefix};

use super::{Found, find_client_with};
use crate::TrustedProxy;

/// How much of an entry is shown.
const SHOWN: usize = 80;

/// Takes the steps of a search. `()` drops them, at no cost.
pub trait StepSink {
    /// The next step.
    fn step(&mut self, step: Step<'_>);
}

impl StepSink for () {
    #[inline]
    fn step(&mut self, _step: Step<'_>) {}
}

/// Writes each step as one sentence.
impl StepSink for Vec<String> {
    fn step(&mut self, step: Step<'_>) {
        self.push(step.to_string());
    }
}

/// One step of the search. `Display` is one sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step<'a> {
    /// Who is at the other end of the connection.
    Peer(Option<IpAddr>),
    /// No `trustedProxy` in the settings.
    NoProxyConfigured {
        /// Headers that proxies set are there, and ignored.
        forwarded_present: bool,
    },
    /// `trustedProxy` names no header (the PROXY protocol alone).
    NoHeaderConfigured,
    /// The peer is outside `proxies`.
    PeerNotTrusted,
    /// The peer is believed.
    PeerTrusted {
        /// Because `proxies` is empty.
        any: bool,
    },
    /// This header is not in the request.
    HeaderAbsent(&'a HeaderName),
    /// This header is the first that is there.
    HeaderUsed {
        /// Its name.
        name: &'a HeaderName,
        /// How many lines it has.
        lines: usize,
        /// Read from the left.
        leftmost: bool,
    },
    /// An address inside `proxies`.
    Skipped {
        /// As it stands in the header.
        entry: &'a [u8],
        /// The address read from it.
        ip: IpAddr,
    },
    /// The client.
    Taken {
        /// As it stands in the header.
        entry: &'a [u8],
        /// The address read from it.
        ip: IpAddr,
    },
    /// An entry that ends the search.
    NoAddress(&'a [u8]),
    /// All entries lie inside `proxies`; this is the leftmost.
    AllSkipped(IpAddr),
    /// The end.
    Client {
        /// Who is counted.
        client: Client,
        /// From a header; otherwise the peer.
        from_header: bool,
    },
}

impl fmt::Display for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Peer(Some(ip)) => write!(f, "the connection comes from {ip}"),
            Self::Peer(None) => f.write_str("the connection comes through a Unix socket and has no address"),
            Self::NoProxyConfigured { forwarded_present: false } => {
                f.write_str("no trustedProxy is configured: the peer is the client")
            }
            Self::NoProxyConfigured { forwarded_present: true } => f.write_str(
                "no trustedProxy is configured: the forwarded headers of the request are ignored, the peer is the client",
            ),
            Self::NoHeaderConfigured => f.write_str("trustedProxy names no header: the peer is the client"),
            Self::PeerNotTrusted => {
                f.write_str("the peer is not inside trustedProxy.proxies: its headers are not believed")
            }
            Self::PeerTrusted { any: false } => {
                f.write_str("the peer is inside trustedProxy.proxies: its headers are believed")
            }
            Self::PeerTrusted { any: true } => {
                f.write_str("trustedProxy.proxies is empty: the header is believed from any peer")
            }
            Self::HeaderAbsent(name) => write!(f, "{name} is not in the request"),
            Self::HeaderUsed { name, lines, leftmost } => {
                let end = if leftmost { "left" } else { "right" };
                let plural = if lines == 1 { "" } else { "s" };
                write!(f, "{name} is used: {lines} line{plural}, read from the {end}")
            }
            Self::Skipped { entry, ip } => {
                write!(f, "{} is {ip}, inside trustedProxy.proxies: skipped", Shown(entry))
            }
            Self::Taken { entry, ip } => write!(f, "{} is {ip}: taken", Shown(entry)),
            Self::NoAddress(entry) => write!(f, "{} is no address: the search ends, the peer is the client", Shown(entry)),
            Self::AllSkipped(ip) => {
                write!(f, "all entries lie inside trustedProxy.proxies: the leftmost, {ip}, is taken")
            }
            Self::Client { client, from_header: true } => write!(f, "the client is {client}, from the header"),
            Self::Client { client, from_header: false } => write!(f, "the client is {client}, the peer"),
        }
    }
}

/// [`super::find_client`], with its steps in words.
#[must_use]
pub fn trace_client(
    peer: Option<IpAddr>,
    headers: &HeaderMap,
    trusted: Option<&TrustedProxy>,
    prefix: Ipv6Prefix,
) -> (Found, Vec<String>) {
    let mut steps = Vec::new();
    let found = find_client_with(peer, headers, trusted, prefix, &mut steps);
    (found, steps)
}

/// Header bytes, quoted and escaped, cut to [`SHOWN`].
struct Shown<'a>(&'a [u8]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = super::address::trim(self.0);
        match text.get(..SHOWN) {
            Some(cut) if text.len() > SHOWN => write!(f, "`{}…`", cut.escape_ascii()),
            _ => write!(f, "`{}`", text.escape_ascii()),
        }
    }
}
