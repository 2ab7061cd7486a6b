//! Whose request it is.

use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue};
use zonai_http::{CidrList, Found, TrustedProxy, find_client, has_forwarded, trace_client};
use zonai_limit::{Client, Ipv6Prefix};

const PROXY: &str = "10.0.0.1";

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in lines {
        map.append(
            HeaderName::from_bytes(name.as_bytes()).unwrap(),
            HeaderValue::from_str(value).unwrap(),
        );
    }
    map
}

fn trusting(names: &[&str], leftmost: bool, proxies: &[&str]) -> TrustedProxy {
    let names = names
        .iter()
        .map(|name| HeaderName::from_bytes(name.as_bytes()).unwrap())
        .collect();
    TrustedProxy::new(
        names,
        leftmost,
        CidrList::parse_proxies(proxies).unwrap(),
        false,
    )
    .unwrap()
}

fn find(peer: &str, lines: &[(&str, &str)], trusted: Option<&TrustedProxy>) -> Found {
    find_client(
        Some(ip(peer)),
        &headers(lines),
        trusted,
        Ipv6Prefix::DEFAULT,
    )
}

/// The client of one `X-Forwarded-For` behind the proxy.
fn xff(value: &str) -> String {
    let trusted = trusting(&["x-forwarded-for"], false, &["10.0.0.0/8"]);
    find(PROXY, &[("x-forwarded-for", value)], Some(&trusted))
        .client
        .to_string()
}

/// The client of one `Forwarded` behind the proxy.
fn forwarded(value: &str) -> String {
    let trusted = trusting(&["forwarded"], false, &["10.0.0.0/8"]);
    find(PROXY, &[("forwarded", value)], Some(&trusted))
        .client
        .to_string()
}

#[test]
fn direct_no_header_changes_the_client() {
    for name in [
        "X-Forwarded-For",
        "X-Real-IP",
        "Forwarded",
        "CF-Connecting-IP",
        "True-Client-IP",
    ] {
        for value in ["198.51.100.1", "for=198.51.100.1", "127.0.0.1"] {
            let found = find("203.0.113.9", &[(name, value)], None);
            assert_eq!(found.client.to_string(), "203.0.113.9");
            assert!(found.forwarded_present && !found.from_trusted);
        }
    }
}

#[test]
fn what_the_caller_wrote_before_the_proxys_entry_is_never_reached() {
    for forged in [
        "198.51.100.1",
        "127.0.0.1",
        "10.0.0.7",
        "\"",
        "for=\"",
        "a\\",
        ",,,",
        "unknown",
        "[::1",
    ] {
        assert_eq!(
            xff(&format!("{forged}, 203.0.113.7")),
            "203.0.113.7",
            "{forged}"
        );
        assert_eq!(
            forwarded(&format!("{forged}, for=203.0.113.7;proto=https")),
            "203.0.113.7",
            "{forged}"
        );
        assert_eq!(
            forwarded(&format!(
                "for=\"{forged}, for=\"203.0.113.7:80\";by=\"a\\\\\""
            )),
            "203.0.113.7",
            "{forged}"
        );
    }
}

#[test]
fn each_client_behind_the_proxy_is_its_own() {
    let clients: std::collections::HashSet<String> = (0..150)
        .map(|n| xff(&format!("198.51.100.1, 203.0.113.{n}")))
        .collect();
    assert_eq!(clients.len(), 150);
}

#[test]
fn a_forged_loopback_is_not_loopback() {
    let found = find("203.0.113.9", &[("x-forwarded-for", "127.0.0.1")], None);
    assert_eq!(found.ip, Some(ip("203.0.113.9")));
}

#[test]
fn ports_and_brackets_are_removed_and_bare_ipv6_stays_whole() {
    for value in [
        "203.0.113.7:51234",
        "203.0.113.7:51235",
        "203.0.113.7",
        " \t203.0.113.7:1 ",
        "203.0.113.7:_port",
        "[203.0.113.7]",
        "[203.0.113.7]:51234",
    ] {
        assert_eq!(xff(value), "203.0.113.7", "{value}");
    }
    let trusted = trusting(&["x-forwarded-for"], false, &["10.0.0.0/8"]);
    for value in [
        "[2001:db8::1]:443",
        "2001:db8::1",
        "[2001:db8::1]",
        "2001:DB8:0:0::1",
    ] {
        let found = find(PROXY, &[("x-forwarded-for", value)], Some(&trusted));
        assert_eq!(found.ip, Some(ip("2001:db8::1")), "{value}");
        assert!(found.from_trusted);
    }
}

#[test]
fn junk_is_no_address_and_the_peer_is_the_client() {
    let junk = "x".repeat(10_000);
    let long_address = format!("{}203.0.113.7", "0".repeat(10_000));
    let values = [
        "unknown",
        "",
        ",",
        " ",
        "203.0.113.7,",
        &junk,
        &long_address,
        "fe80::1%eth0.100",
        "[fe80::1%eth0]:80",
        "203.0.113.7:",
        "203.0.113.7:123456",
        "203.0.113.7:8x",
        "203.0.113.7:80:80",
        "203.0.113",
        "203.0.113.07",
        "0xcb007107",
        "3405803783",
        "[203.0.113.7]:",
        "[203.0.113.7",
        "[203.0.113.07]",
        "[::1",
        "::1]",
        "[]",
        "[::1]x",
        "[::1]:",
        "_hidden",
        "\u{e9}",
        "0.0.0.0",
        "::",
        "ff02::1",
        "224.0.0.1",
        "255.255.255.255",
        "::ffff:0.0.0.0",
        "\"203.0.113.7\"",
        "198.51.100.1, unknown",
        "198.51.100.1,,",
        "198.51.100.1, 10.0.0.2, fe80::1%1",
    ];
    for value in values {
        assert_eq!(xff(value), PROXY, "{value}");
    }
}

#[test]
fn ipv6_counts_by_network() {
    let client = |text: &str| find(text, &[], None).client;
    assert_eq!(client("2001:db8::1"), client("2001:db8::ffff:1:2:3"));
    assert_ne!(client("2001:db8::1"), client("2001:db8:0:1::1"));
    assert_eq!(client("2001:db8::1").to_string(), "2001:db8::/64");
    let whole = Ipv6Prefix::new(128).unwrap();
    let found = find_client(Some(ip("2001:db8::1")), &HeaderMap::new(), None, whole);
    assert_eq!(found.client.to_string(), "2001:db8::1");
}

#[test]
fn a_mapped_address_is_the_ipv4_address() {
    let mapped = find("::ffff:1.2.3.4", &[], None);
    assert_eq!(mapped, find("1.2.3.4", &[], None));
    assert_eq!(mapped.ip, Some(ip("1.2.3.4")));
    assert_ne!(mapped.client, find("::ffff:1.2.3.5", &[], None).client);
    assert_eq!(xff("[::ffff:1.2.3.4]:80"), "1.2.3.4");
    // Also of the peer, when it is asked whether it is a proxy.
    let trusted = trusting(&["x-forwarded-for"], false, &["10.0.0.0/8"]);
    let found = find(
        "::ffff:10.0.0.1",
        &[("x-forwarded-for", "1.2.3.4, ::ffff:10.0.0.2")],
        Some(&trusted),
    );
    assert_eq!(found.client.to_string(), "1.2.3.4");
}

#[test]
fn a_unix_socket_without_a_believed_header_is_one_shared_client() {
    let lines = headers(&[("x-forwarded-for", "203.0.113.7")]);
    let find = |trusted: Option<TrustedProxy>| {
        find_client(None, &lines, trusted.as_ref(), Ipv6Prefix::DEFAULT)
    };
    let nobody = Found {
        client: Client::Local,
        ip: None,
        forwarded_present: true,
        from_trusted: false,
    };
    assert_eq!(find(None), nobody);
    // Proxies are listed, and Unix sockets are not among them.
    assert_eq!(
        find(Some(trusting(&["x-forwarded-for"], false, &["10.0.0.0/8"]))),
        nobody
    );
    for proxies in [["10.0.0.0/8", "unix:"].as_slice(), &["unix:"], &[]] {
        let found = find(Some(trusting(&["x-forwarded-for"], false, proxies)));
        assert_eq!(found.client.to_string(), "203.0.113.7", "{proxies:?}");
    }
}

#[test]
fn a_header_is_believed_only_from_a_proxy() {
    let trusted = trusting(&["x-forwarded-for"], false, &["10.0.0.0/8"]);
    let found = find(
        "203.0.113.9",
        &[("x-forwarded-for", "198.51.100.1")],
        Some(&trusted),
    );
    assert_eq!(
        (found.client.to_string().as_str(), found.from_trusted),
        ("203.0.113.9", false)
    );
    // One header and no list: from anybody.
    let anybody = trusting(&["x-forwarded-for"], false, &[]);
    let found = find(
        "203.0.113.9",
        &[("x-forwarded-for", "10.0.0.7, 198.51.100.1")],
        Some(&anybody),
    );
    assert_eq!(found.client.to_string(), "198.51.100.1");
}

#[test]
fn all_lines_are_joined_and_proxies_are_skipped_from_the_right() {
    let trusted = trusting(&["x-forwarded-for"], false, &["10.0.0.0/8"]);
    let client = |lines: &[(&str, &str)]| find(PROXY, lines, Some(&trusted)).client.to_string();
    let name = "x-forwarded-for";
    assert_eq!(
        client(&[
            (name, "198.51.100.1"),
            (name, "203.0.113.7, 10.0.0.3"),
            (name, "10.0.0.2")
        ]),
        "203.0.113.7"
    );
    // An entry that is no address hides what stands left of it.
    assert_eq!(
        client(&[(name, "198.51.100.1"), (name, ""), (name, "10.0.0.2")]),
        PROXY
    );
    // All of them are proxies: the leftmost made the request.
    assert_eq!(
        client(&[(name, "10.9.9.9, 10.0.0.3"), (name, "10.0.0.2")]),
        "10.9.9.9"
    );
}

#[test]
fn the_first_header_that_is_present_is_used_even_where_it_says_nothing() {
    let trusted = trusting(&["x-real-ip", "x-forwarded-for"], false, &["10.0.0.0/8"]);
    let client = |lines: &[(&str, &str)]| find(PROXY, lines, Some(&trusted)).client.to_string();
    assert_eq!(
        client(&[
            ("x-forwarded-for", "203.0.113.7"),
            ("x-real-ip", "203.0.113.8")
        ]),
        "203.0.113.8"
    );
    assert_eq!(client(&[("x-forwarded-for", "203.0.113.7")]), "203.0.113.7");
    assert_eq!(
        client(&[("x-forwarded-for", "203.0.113.7"), ("x-real-ip", "unknown")]),
        PROXY
    );
    assert_eq!(client(&[("cf-connecting-ip", "203.0.113.7")]), PROXY);
    assert_eq!(client(&[]), PROXY);
}

#[test]
fn the_leftmost_entry_is_used_on_request_and_no_other() {
    let trusted = trusting(&["x-forwarded-for"], true, &["10.0.0.0/8"]);
    let name = "x-forwarded-for";
    let client = |lines: &[(&str, &str)]| find(PROXY, lines, Some(&trusted)).client.to_string();
    assert_eq!(
        client(&[(name, "198.51.100.1:80, 203.0.113.7"), (name, "192.0.2.1")]),
        "198.51.100.1"
    );
    assert_eq!(client(&[(name, "10.0.0.9, 203.0.113.7")]), "10.0.0.9");
    assert_eq!(client(&[(name, "unknown, 203.0.113.7")]), PROXY);
    assert_eq!(client(&[(name, ""), (name, "203.0.113.7")]), PROXY);
    let trusted = trusting(&["forwarded"], true, &["10.0.0.0/8"]);
    let found = find(
        PROXY,
        &[(
            "forwarded",
            "by=\"a,\\\",b\";for=198.51.100.1, for=203.0.113.7",
        )],
        Some(&trusted),
    );
    assert_eq!(found.client.to_string(), "198.51.100.1");
}

#[test]
fn forwarded_is_read_as_rfc_7239_says() {
    for value in [
        "for=203.0.113.7",
        "For=\"203.0.113.7\"",
        "proto=http;FOR=203.0.113.7 ; by=10.0.0.1",
        "for=\"203.0.113.7:8080\";host=\"a;for=1.1.1.1, b\"",
        "for=\"203.0.113.7:_gate\"",
        "for=\"2\\03.0.113.7\"",
        "for=198.51.100.1, for=203.0.113.7, for=\"10.0.0.2:80\"",
        "secret;for=203.0.113.7",
        "for=198.51.100.1, for=203.0.113.7;host=\"a\\\",b\"",
        "for=198.51.100.1, for=203.0.113.7;host=\"a\\\\\"",
    ] {
        assert_eq!(forwarded(value), "203.0.113.7", "{value}");
    }
    for value in [
        "for=\"[2001:db8:cafe::17]:4711\"",
        "for=\"[2001:db8:cafe::17]\"",
        "for=[2001:db8:cafe::17]:1",
    ] {
        assert_eq!(forwarded(value), "2001:db8:cafe::/64", "{value}");
    }
    for value in [
        "for=_hidden",
        "for=unknown",
        "for=\"_gazonk\"",
        "for=",
        "for",
        "by=203.0.113.7",
        "203.0.113.7",
        "",
        "for=\"203.0.113.7",
        "for=203.0.113.7\"",
        "for=203.0.113.7;for=198.51.100.1",
        "for=\"\\\"",
        "for=\"\"",
        "xfor=203.0.113.7",
        "for=198.51.100.1, for=_hidden",
        "for=198.51.100.1, for=203.0.113.7\\",
    ] {
        assert_eq!(forwarded(value), PROXY, "{value}");
    }
}

#[test]
fn headers_that_proxies_set_are_noticed() {
    assert!(!has_forwarded(&headers(&[
        ("host", "a"),
        ("x-requested-with", "a"),
        ("accept", "*/*")
    ])));
    for name in [
        "x-forwarded-for",
        "X-Real-IP",
        "Forwarded",
        "CF-Connecting-IP",
        "Fly-Client-IP",
        "X-Client-IP",
        "X-Forwarded-Proto",
        "X-Forwarded-Host",
        "X-Forwarded-Port",
        "X-Forwarded-Scheme",
        "Via",
        "CF-Ray",
        "Client-IP",
        "WL-Proxy-Client-IP",
        "X-Vercel-Forwarded-For",
    ] {
        assert!(
            has_forwarded(&headers(&[("host", "a"), (name, "")])),
            "{name}"
        );
    }
}

#[test]
fn the_search_is_told_step_by_step() {
    let trusted = trusting(&["forwarded", "x-forwarded-for"], false, &["10.0.0.0/8"]);
    let lines = headers(&[
        ("x-forwarded-for", "198.51.100.1, 203.0.113.7:80"),
        ("x-forwarded-for", "10.0.0.2"),
    ]);
    let (found, steps) = trace_client(Some(ip(PROXY)), &lines, Some(&trusted), Ipv6Prefix::DEFAULT);
    assert_eq!(found.client.to_string(), "203.0.113.7");
    assert_eq!(
        steps,
        [
            "the connection comes from 10.0.0.1",
            "the peer is inside trustedProxy.proxies: its headers are believed",
            "forwarded is not in the request",
            "x-forwarded-for is used: 2 lines, read from the right",
            "`10.0.0.2` is 10.0.0.2, inside trustedProxy.proxies: skipped",
            "`203.0.113.7:80` is 203.0.113.7: taken",
            "the client is 203.0.113.7, from the header",
        ]
    );
    let junk = headers(&[("x-forwarded-for", &"é".repeat(5_000))]);
    let (_, steps) = trace_client(Some(ip(PROXY)), &junk, Some(&trusted), Ipv6Prefix::DEFAULT);
    assert!(
        steps
            .iter()
            .all(|step| step.is_ascii() || step.contains('…')),
        "{steps:?}"
    );
    assert!(steps.iter().all(|step| step.len() < 500), "{steps:?}");
}
