//! The PROXY protocol, versions 1 and 2.

use zonai_http::Parsed;
use zonai_http::proxy_protocol::{MAX_HEADER, parse};

use crate::random::Random;

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

fn v2(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).unwrap().to_be_bytes();
    [SIGNATURE, &[command, family], &length, body].concat()
}

fn header(consumed: usize, source: &str) -> Parsed {
    Parsed::Header {
        consumed,
        source: source.parse().ok(),
    }
}

/// The whole is read as `expected`, with or without what follows, and every beginning asks for more.
fn check(whole: &[u8], expected: Parsed) {
    let with_request = [whole, b"GET / HTTP/1.1\r\n\r\n"].concat();
    assert_eq!(parse(&with_request), expected, "{}", whole.escape_ascii());
    if let Parsed::Header { consumed, .. } = expected {
        assert_eq!(consumed, whole.len());
        for cut in 0..whole.len() {
            assert_eq!(
                parse(&whole[..cut]),
                Parsed::NeedMore,
                "{}",
                whole[..cut].escape_ascii()
            );
        }
    }
}

#[test]
fn version_1_is_read() {
    let line = b"PROXY TCP4 203.0.113.7 10.0.0.1 51234 443\r\n";
    check(line, header(line.len(), "203.0.113.7:51234"));
    let line = b"PROXY TCP6 2001:db8::1 2001:db8::2 1 65535\r\n";
    check(line, header(line.len(), "[2001:db8::1]:1"));
    let line = b"PROXY TCP6 ::ffff:203.0.113.7 ::1 1 2\r\n";
    check(line, header(line.len(), "203.0.113.7:1"));
    let line = b"PROXY UNKNOWN\r\n";
    check(
        line,
        Parsed::Header {
            consumed: line.len(),
            source: None,
        },
    );
    let longest = b"PROXY UNKNOWN ffff:f...f:ffff ffff:f...f:ffff 65535 65535\r\n";
    check(
        longest,
        Parsed::Header {
            consumed: longest.len(),
            source: None,
        },
    );
}

#[test]
fn version_1_refuses_what_is_no_header() {
    for line in [
        "GET / HTTP/1.1\r\n",
        "PROXY TCP4 203.0.113.7 10.0.0.1 51234\r\n",
        "PROXY TCP4 203.0.113.7 10.0.0.1 51234 443 1\r\n",
        "PROXY TCP4 2001:db8::1 10.0.0.1 1 2\r\n",
        "PROXY TCP6 203.0.113.7 ::1 1 2\r\n",
        "PROXY TCP4 203.0.113.7 x 1 2\r\n",
        "PROXY TCP4 203.0.113.7 10.0.0.1 65536 1\r\n",
        "PROXY TCP4 203.0.113.7 10.0.0.1 +1 1\r\n",
        "PROXY TCP4 203.0.113.7  10.0.0.1 1 1\r\n",
        "PROXY TCP4 203.0.113.7 10.0.0.1 01 1\r\n",
        "PROXY UDP4 1.1.1.1 1.1.1.1 1 1\r\n",
        "PROXY UNKNOWNS\r\n",
        "PROXY \r\n",
        "proxy UNKNOWN\r\n",
        "PROXY TCP4 203.0.113.7 10.0.0.1 1 \r\n",
    ] {
        check(line.as_bytes(), Parsed::Invalid);
    }
    let endless = [b"PROXY UNKNOWN ".as_slice(), &[b'x'; 200]].concat();
    assert_eq!(parse(&endless[..106]), Parsed::NeedMore);
    assert_eq!(parse(&endless[..107]), Parsed::Invalid);
}

#[test]
fn version_2_is_read_and_what_follows_the_addresses_is_skipped() {
    let addresses = [203, 0, 113, 7, 10, 0, 0, 1, 0xc8, 0x22, 0x01, 0xbb];
    let plain = v2(0x21, 0x11, &addresses);
    check(&plain, header(28, "203.0.113.7:51234"));
    let with_tlv = v2(
        0x21,
        0x11,
        &[&addresses[..], &[0x03, 0, 4, 1, 2, 3, 4, 0xea, 0, 1, 9]].concat(),
    );
    check(&with_tlv, header(39, "203.0.113.7:51234"));
    let mut six = [0u8; 36];
    six[..4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
    six[15] = 1;
    six[33] = 80;
    check(&v2(0x21, 0x21, &six), header(52, "[2001:db8::1]:80"));
    let unix = v2(0x21, 0x31, &[0; 216]);
    check(
        &unix,
        Parsed::Header {
            consumed: 232,
            source: None,
        },
    );
}

#[test]
fn version_2_without_an_address_leaves_the_peer() {
    for whole in [
        v2(0x20, 0x00, &[]),
        v2(0x20, 0x11, &[1; 12]),
        v2(0x21, 0x00, &[1, 2, 3]),
    ] {
        check(
            &whole,
            Parsed::Header {
                consumed: whole.len(),
                source: None,
            },
        );
    }
    let unspecified = v2(0x21, 0x11, &[0; 12]);
    check(
        &unspecified,
        Parsed::Header {
            consumed: 28,
            source: None,
        },
    );
}

#[test]
fn version_2_refuses_what_is_no_header() {
    let too_long = [SIGNATURE, &[0x21, 0x11, 0xff, 0xff]].concat();
    for whole in [
        v2(0x11, 0x11, &[1; 12]),
        v2(0x22, 0x11, &[1; 12]),
        v2(0x21, 0x11, &[1; 11]),
        v2(0x21, 0x21, &[1; 35]),
        v2(0x21, 0x41, &[1; 36]),
        v2(0x21, 0x13, &[1; 36]),
        v2(0x21, 0x31, &[1; 215]),
        too_long,
    ] {
        check(&whole, Parsed::Invalid);
    }
}

#[test]
fn random_bytes_never_ask_for_more_than_the_bound() {
    let mut random = Random::seeded(0x5eed_0007);
    for _ in 0..20_000 {
        let mut bytes = match random.below(3) {
            0 => SIGNATURE.to_vec(),
            1 => b"PROXY TCP4 203.0.113.7 ".to_vec(),
            _ => Vec::new(),
        };
        let longest = if random.below(50) == 0 {
            MAX_HEADER + 100
        } else {
            40
        };
        for _ in 0..random.below(longest) {
            bytes.push(u8::try_from(random.below(256)).unwrap());
        }
        match parse(&bytes) {
            Parsed::NeedMore => assert!(bytes.len() < MAX_HEADER),
            Parsed::Header { consumed, .. } => assert!(consumed <= bytes.len()),
            Parsed::Invalid => {}
        }
    }
}
