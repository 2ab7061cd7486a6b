//! The `for` of one element of a `Forwarded` header (RFC 7239).
//!
//! Obfuscated nodes (`_name`) and `unknown` are no address; an element with two `for` is none either, for one of
//! them may be the caller's.

use std::net::IpAddr;

use super::address;

/// Room for an unescaped node; what is longer is no address.
const LONGEST: usize = 64;

/// The address in the `for` parameter of `element`.
pub(super) fn address(element: &[u8]) -> Option<IpAddr> {
    let mut node = None;
    let mut rest = Some(element);
    while let Some(text) = rest {
        let (pair, after) = cut_pair(text);
        rest = after;
        let Some(equals) = pair.iter().position(|&b| b == b'=') else {
            continue;
        };
        let (name, value) = pair.split_at(equals);
        if address::trim(name).eq_ignore_ascii_case(b"for") {
            if node.is_some() {
                return None;
            }
            node = value.get(1..);
        }
    }
    read_node(address::trim(node?))
}

/// Up to the first `;` outside quotes, and what follows it.
fn cut_pair(text: &[u8]) -> (&[u8], Option<&[u8]>) {
    let mut inside = false;
    let mut escaped = false;
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b';' if !inside => return (text.get(..at).unwrap_or(text), text.get(at + 1..)),
            b'"' if !escaped => inside = !inside,
            _ => {}
        }
        escaped = inside && byte == b'\\' && !escaped;
    }
    (text, None)
}

fn read_node(value: &[u8]) -> Option<IpAddr> {
    let [b'"', inner @ .., b'"'] = value else {
        // RFC 7239 wants quotes around colons and brackets; proxies in the field leave them out.
        return address::parse(value);
    };
    if !inner.contains(&b'\\') {
        return address::parse(inner);
    }
    let mut node = [0u8; LONGEST];
    let mut len = 0;
    let mut bytes = inner.iter();
    while let Some(&byte) = bytes.next() {
        let byte = if byte == b'\\' { *bytes.next()? } else { byte };
        *node.get_mut(len)? = byte;
        len += 1;
    }
    address::parse(node.get(..len)?)
}
