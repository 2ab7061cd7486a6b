//! Random header values: no panic, and no address that was not there.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};

use http::header::FORWARDED;
use http::{HeaderMap, HeaderName, HeaderValue};
use proptest::prelude::*;
use zonai_http::{CidrList, TrustedProxy, find_client};
use zonai_limit::Ipv6Prefix;

use crate::random::Random;

const XFF: HeaderName = HeaderName::from_static("x-forwarded-for");
const PEER: &str = "10.0.0.1";

/// Pieces that, thrown together, come near to real headers.
const PIECES: [&str; 40] = [
    "203.0.113.7",
    "198.51.100.1",
    "10.0.0.2",
    "10.9.9.9",
    "2001:db8::1",
    "[2001:db8::1]",
    "::ffff:1.2.3.4",
    "fe80::1%eth0",
    "for=",
    "For=",
    "by=",
    "host=",
    "proto=https",
    "unknown",
    "_hidden",
    ":",
    ":80",
    ":65536",
    ":_p",
    ",",
    ", ",
    ",,",
    ";",
    "; ",
    "\"",
    "\"",
    "\\",
    "\\\"",
    "=",
    "[",
    "]",
    " ",
    "\t",
    "1",
    ".",
    "::",
    "0.0.0.0",
    "ff02::1",
    "%",
    "é",
];

fn random_value(random: &mut Random) -> Vec<u8> {
    let mut value = Vec::new();
    for _ in 0..random.below(12) {
        match random.below(16) {
            0 => value.push(u8::try_from(random.below(256)).unwrap()),
            1 => {
                let text = format!(
                    "{}.{}.{}.{}",
                    random.below(300),
                    random.below(256),
                    random.below(256),
                    random.below(256)
                );
                value.extend_from_slice(text.as_bytes());
            }
            _ => value.extend_from_slice(random.pick(&PIECES).as_bytes()),
        }
    }
    value
}

/// Every address that can be seen in `value`, found by brute force.
fn addresses(value: &[u8], out: &mut HashSet<IpAddr>) {
    let plain: Vec<u8> = value.iter().copied().filter(|&b| b != b'\\').collect();
    for text in [value, &plain] {
        let text = String::from_utf8_lossy(text);
        for part in text.split([',', ';', '=', '"', '[', ']', ' ', '\t']) {
            let host = part.rsplit_once(':').map_or(part, |(host, _)| host);
            for text in [part, host] {
                out.extend(text.parse::<IpAddr>().ok().map(|ip| ip.to_canonical()));
            }
            out.extend(
                part.parse::<SocketAddr>()
                    .ok()
                    .map(|at| at.ip().to_canonical()),
            );
        }
    }
}

/// Behind every kind of settings, the client is the peer or an address of the header that is used.
fn check(lines: &[(HeaderName, Vec<u8>)], settings: &[TrustedProxy]) {
    let mut headers = HeaderMap::new();
    let mut seen = HashSet::from([PEER.parse().unwrap()]);
    for (name, value) in lines {
        if let Ok(line) = HeaderValue::from_bytes(value) {
            headers.append(name, line);
            addresses(value, &mut seen);
        }
    }
    for trusted in settings {
        let found = find_client(
            PEER.parse().ok(),
            &headers,
            Some(trusted),
            Ipv6Prefix::DEFAULT,
        );
        let ip = found.ip.unwrap();
        assert!(seen.contains(&ip), "{ip} is not in {lines:?}");
        assert!(!ip.is_unspecified() && !ip.is_multicast());
    }
}

fn settings() -> Vec<TrustedProxy> {
    let proxies = || CidrList::parse(["10.0.0.0/8"]).unwrap();
    let mut all = Vec::new();
    for leftmost in [false, true] {
        for name in [XFF, FORWARDED] {
            all.push(TrustedProxy::new(vec![name.clone()], leftmost, proxies(), false).unwrap());
            all.push(TrustedProxy::new(vec![name], leftmost, CidrList::default(), false).unwrap());
        }
        all.push(TrustedProxy::new(vec![FORWARDED, XFF], leftmost, proxies(), false).unwrap());
    }
    all
}

/// `count` header values, each read by every kind of settings.
fn run(count: usize) {
    let mut random = Random::seeded(0x5eed_0005);
    let settings = settings();
    let mut values = 0;
    while values < count {
        let lines: Vec<_> = (0..=random.below(3))
            .map(|_| {
                let name = if random.below(2) == 0 { XFF } else { FORWARDED };
                (name, random_value(&mut random))
            })
            .collect();
        values += lines.len();
        check(&lines, &settings);
    }
}

#[test]
fn two_hundred_thousand_random_values_give_no_address_that_was_not_there() {
    run(200_000);
}

#[test]
#[ignore = "minutes in a debug build: cargo test --release -- --ignored ten_million"]
fn ten_million_random_values_give_no_address_that_was_not_there() {
    run(10_000_000);
}

/// What the specification says for `X-Forwarded-For`, written naively: join, split, walk.
fn naive(lines: &[String], proxies: &CidrList) -> Option<IpAddr> {
    let joined = lines.join(",");
    let mut leftmost = None;
    for entry in joined.split(',').rev() {
        let entry = entry.trim_matches([' ', '\t']);
        let ip = entry
            .parse::<IpAddr>()
            .or_else(|_| entry.parse::<SocketAddr>().map(|at| at.ip()))
            .ok()?
            .to_canonical();
        if !proxies.contains(ip) {
            return Some(ip);
        }
        leftmost = Some(ip);
    }
    leftmost
}

proptest! {
    #[test]
    fn the_walk_agrees_with_a_naive_one(
        lines in prop::collection::vec(
            prop::collection::vec(
                prop_oneof![
                    4 => (1u8..=3, 0u8..=255).prop_map(|(a, b)| format!("10.0.{a}.{b}")),
                    2 => (1u8..=223, any::<[u8; 3]>()).prop_map(|(a, [b, c, d])| format!("{a}.{b}.{c}.{d}:443")),
                    1 => (1u16..=9).prop_map(|n| format!("[2001:db8::{n}]:80")),
                    1 => (1u16..=9).prop_map(|n| format!("2001:db8::{n}")),
                    1 => Just("unknown".to_owned()),
                    1 => Just(String::new()),
                ],
                0..4,
            ).prop_map(|entries| entries.join(", ")),
            1..4,
        )
    ) {
        let proxies = CidrList::parse(["10.0.0.0/8"]).unwrap();
        let trusted = TrustedProxy::new(vec![XFF], false, proxies.clone(), false).unwrap();
        let mut headers = HeaderMap::new();
        for line in &lines {
            headers.append(XFF, HeaderValue::from_str(line).unwrap());
        }
        let peer: IpAddr = PEER.parse().unwrap();
        let found = find_client(Some(peer), &headers, Some(&trusted), Ipv6Prefix::DEFAULT);
        let expected = naive(&lines, &proxies);
        prop_assert_eq!(found.ip, Some(expected.unwrap_or(peer)));
        prop_assert_eq!(found.from_trusted, expected.is_some());
    }
}
