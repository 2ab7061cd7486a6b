//! The PROXY protocol, versions 1 and 2: where a connection really comes from, said by a proxy before its first byte.
//!
//! Incremental and bounded: [`parse`] is asked again with more bytes until it decides. Must never be asked about a
//! connection whose peer is not inside `trustedProxy.proxies`: anybody can write such a header.
//! Format: <https://www.haproxy.org/download/3.2/doc/proxy-protocol.txt>.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::client::usable;

/// The longest header that is read, in bytes; a longer one is invalid. A version 1 line has at most 107.
pub const MAX_HEADER: usize = 4_096;

/// The longest line of version 1, its end included.
const MAX_LINE: usize = 107;

const SIGNATURE: [u8; 12] = *b"\r\n\r\n\0\r\nQUIT\n";
/// Signature, version and command, family, length.
const FIXED: usize = 16;

/// What the first bytes of a connection say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A beginning of a header; ask again with more bytes. Never with [`MAX_HEADER`] bytes or more.
    NeedMore,
    /// No header: close the connection.
    Invalid,
    /// A whole header.
    Header {
        /// How many bytes it has; the request begins after them.
        consumed: usize,
        /// The client's end of the connection. `None` where the proxy speaks for itself (`LOCAL`), does not
        /// know (`UNKNOWN`), or names no usable address: then the peer of the connection stands.
        source: Option<SocketAddr>,
    },
}

/// Reads a header at the start of `buf`.
#[must_use]
pub fn parse(buf: &[u8]) -> Parsed {
    if starts_alike(buf, &SIGNATURE) {
        return if buf.len() < FIXED {
            Parsed::NeedMore
        } else {
            parse_v2(buf)
        };
    }
    if starts_alike(buf, b"PROXY ") {
        return parse_v1(buf);
    }
    Parsed::Invalid
}

/// Whether one is a beginning of the other.
fn starts_alike(buf: &[u8], signature: &[u8]) -> bool {
    buf.iter().zip(signature).all(|(a, b)| a == b)
}

fn parse_v1(buf: &[u8]) -> Parsed {
    let window = buf.get(..MAX_LINE).unwrap_or(buf);
    let Some(end) = window.windows(2).position(|pair| pair == b"\r\n") else {
        return if buf.len() >= MAX_LINE {
            Parsed::Invalid
        } else {
            Parsed::NeedMore
        };
    };
    let line = window
        .get(..end)
        .and_then(|line| std::str::from_utf8(line).ok());
    let Some(line) = line.and_then(|line| line.strip_prefix("PROXY ")) else {
        return Parsed::Invalid;
    };
    let consumed = end + 2;
    if line == "UNKNOWN" || line.starts_with("UNKNOWN ") {
        return Parsed::Header {
            consumed,
            source: None,
        };
    }
    match v1_source(line) {
        Some(source) => Parsed::Header {
            consumed,
            source: reachable(source),
        },
        None => Parsed::Invalid,
    }
}

/// `TCP4 source destination port port`, one space between.
fn v1_source(line: &str) -> Option<SocketAddr> {
    let mut words = line.split(' ');
    let family = words.next()?;
    let (source, destination) = (words.next()?, words.next()?);
    let (source_port, destination_port) = (port(words.next()?)?, words.next()?);
    port(destination_port)?;
    if words.next().is_some() {
        return None;
    }
    let ip = match family {
        "TCP4" => {
            destination.parse::<Ipv4Addr>().ok()?;
            IpAddr::V4(source.parse().ok()?)
        }
        "TCP6" => {
            destination.parse::<Ipv6Addr>().ok()?;
            IpAddr::V6(source.parse().ok()?)
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, source_port))
}

fn port(text: &str) -> Option<u16> {
    let plain =
        text.bytes().all(|b| b.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'));
    if plain { text.parse().ok() } else { None }
}

fn parse_v2(buf: &[u8]) -> Parsed {
    let [version_and_command, family, high, low] = match buf.get(SIGNATURE.len()..FIXED) {
        Some(&[a, b, c, d]) => [a, b, c, d],
        _ => return Parsed::NeedMore,
    };
    let consumed = FIXED + usize::from(u16::from_be_bytes([high, low]));
    if consumed > MAX_HEADER {
        return Parsed::Invalid;
    }
    let local = match version_and_command {
        0x20 => true,
        0x21 => false,
        _ => return Parsed::Invalid,
    };
    // What follows the addresses (type-length-values) is skipped.
    let Some(body) = buf.get(FIXED..consumed) else {
        return Parsed::NeedMore;
    };
    if local {
        return Parsed::Header {
            consumed,
            source: None,
        };
    }
    let source = match family {
        // Unspecified, or Unix sockets: no address.
        0x00 => None,
        0x31 | 0x32 if body.len() >= 216 => None,
        0x11 | 0x12 => match v2_inet(body) {
            Some(source) => reachable(source),
            None => return Parsed::Invalid,
        },
        0x21 | 0x22 => match v2_inet6(body) {
            Some(source) => reachable(source),
            None => return Parsed::Invalid,
        },
        _ => return Parsed::Invalid,
    };
    Parsed::Header { consumed, source }
}

/// Source, destination (4 bytes each), ports (2 bytes each).
fn v2_inet(body: &[u8]) -> Option<SocketAddr> {
    let (source, rest) = body.split_first_chunk::<4>()?;
    let (_destination, rest) = rest.split_first_chunk::<4>()?;
    let (ports, _) = rest.split_first_chunk::<4>()?;
    let [high, low, ..] = *ports;
    Some(SocketAddr::new(
        Ipv4Addr::from(*source).into(),
        u16::from_be_bytes([high, low]),
    ))
}

/// Source, destination (16 bytes each), ports (2 bytes each).
fn v2_inet6(body: &[u8]) -> Option<SocketAddr> {
    let (source, rest) = body.split_first_chunk::<16>()?;
    let (_destination, rest) = rest.split_first_chunk::<16>()?;
    let (ports, _) = rest.split_first_chunk::<4>()?;
    let [high, low, ..] = *ports;
    Some(SocketAddr::new(
        Ipv6Addr::from(*source).into(),
        u16::from_be_bytes([high, low]),
    ))
}

/// `source` with its address in canonical form, where a caller can have it.
fn reachable(source: SocketAddr) -> Option<SocketAddr> {
    usable(source.ip()).map(|ip| SocketAddr::new(ip, source.port()))
}
