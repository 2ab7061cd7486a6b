//! One address as proxies write it: with or without a port and brackets.
//!
//! Must never fail in another way than `None`, whatever the bytes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest text that can be an address: a bracketed IPv6 address with an IPv4 tail, and an obfuscated port.
const LONGEST: usize = 64;

/// The address in `text`, spaces around it, port and brackets removed. `None` for a zone id, an obfuscated name,
/// `unknown`, junk, and addresses that no caller can have (multicast, broadcast, unspecified).
pub(super) fn parse(text: &[u8]) -> Option<IpAddr> {
    let text = trim(text);
    if text.is_empty() || text.len() > LONGEST {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    let ip = match text.strip_prefix('[') {
        Some(rest) => {
            let (inner, after) = rest.split_once(']')?;
            if !after.is_empty() && !is_port(after.strip_prefix(':')?) {
                return None;
            }
            // Some proxies put brackets around every address.
            inner.parse().ok()?
        }
        None => match text.split_once(':') {
            None => IpAddr::V4(text.parse::<Ipv4Addr>().ok()?),
            Some((_, after)) if after.contains(':') => IpAddr::V6(text.parse::<Ipv6Addr>().ok()?),
            Some((host, port)) if is_port(port) => IpAddr::V4(host.parse::<Ipv4Addr>().ok()?),
            Some(_) => return None,
        },
    };
    usable(ip)
}

/// `ip` in canonical form, where a caller can have it.
pub(crate) fn usable(ip: IpAddr) -> Option<IpAddr> {
    let ip = ip.to_canonical();
    let broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    (!ip.is_multicast() && !ip.is_unspecified() && !broadcast).then_some(ip)
}

/// A port of RFC 7239: one to five digits, or an obfuscated one (`_x`).
fn is_port(text: &str) -> bool {
    match text.strip_prefix('_') {
        Some(name) => {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        }
        None => (1..=5).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit()),
    }
}

/// Without spaces and tabs at the ends.
pub(super) fn trim(mut text: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] = text {
        text = rest;
    }
    while let [rest @ .., b' ' | b'\t'] = text {
        text = rest;
    }
    text
}
