//! Header values of a trusted proxy: no panic, and no address that was not there.
#![no_main]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use http::header::FORWARDED;
use http::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;
use zonai_http::{CidrList, TrustedProxy, find_client, trace_client};
use zonai_limit::Ipv6Prefix;

const XFF: HeaderName = HeaderName::from_static("x-forwarded-for");
const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));

// The first byte chooses the settings; the rest are header lines.
fuzz_target!(|data: &[u8]| {
    let Some((&choice, text)) = data.split_first() else {
        return;
    };
    let name = if choice & 1 == 0 { XFF } else { FORWARDED };
    let proxies = if choice & 2 == 0 {
        CidrList::parse(["10.0.0.0/8", "2001:db8::/32"])
    } else {
        Ok(CidrList::default())
    };
    let trusted =
        TrustedProxy::new(vec![name.clone()], choice & 4 == 0, proxies.unwrap(), false).unwrap();
    let mut headers = HeaderMap::new();
    for line in text.split(|&b| b == b'\n') {
        if let Ok(line) = HeaderValue::from_bytes(line) {
            headers.append(&name, line);
        }
    }
    let found = find_client(Some(PEER), &headers, Some(&trusted), Ipv6Prefix::DEFAULT);
    let ip = found.ip.unwrap();
    assert!(
        ip == PEER || was_there(ip, text),
        "{ip} was not in the input"
    );
    let (traced, steps) = trace_client(Some(PEER), &headers, Some(&trusted), Ipv6Prefix::DEFAULT);
    assert_eq!(traced, found);
    assert!(steps.len() >= 2);
});

/// Whether brute force finds `ip` in `text`, with or without backslashes.
fn was_there(ip: IpAddr, text: &[u8]) -> bool {
    let plain: Vec<u8> = text.iter().copied().filter(|&b| b != b'\\').collect();
    [text, &plain].iter().any(|text| {
        String::from_utf8_lossy(text)
            .split([',', ';', '=', '"', '[', ']', ' ', '\t', '\n'])
            .any(|part| {
                let host = part.rsplit_once(':').map_or(part, |(host, _)| host);
                let addresses = [
                    part.parse::<IpAddr>().ok(),
                    host.parse().ok(),
                    part.parse::<SocketAddr>().ok().map(|at| at.ip()),
                ];
                addresses
                    .into_iter()
                    .flatten()
                    .any(|there| there.to_canonical() == ip)
            })
    })
}
