//! Where to listen: `host` and `port`, or addresses as in `listen:`.
//!
//! Must never ask a name server: an address that means something else tomorrow is no setting.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};
use std::path::PathBuf;

use zonai_project::settings::Listen;

/// The port where none is set.
pub(crate) const DEFAULT_PORT: u16 = 8080;

/// One interface, or both loopback addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Host {
    /// `localhost`: 127.0.0.1, and ::1 where the machine has IPv6.
    Localhost,
    /// An address of this machine, or `0.0.0.0` / `::` for all of them.
    Ip(IpAddr),
}

/// `host` as it is written: `localhost` or an IP address.
pub(crate) fn host(text: &str) -> Result<Host, String> {
    if text.eq_ignore_ascii_case("localhost") {
        return Ok(Host::Localhost);
    }
    let bare = text
        .strip_prefix('[')
        .and_then(|text| text.strip_suffix(']'))
        .unwrap_or(text);
    if let Ok(ip) = bare.parse() {
        return Ok(Host::Ip(ip));
    }
    let hint = match text {
        "*" => "; for every interface write 0.0.0.0, or :: for IPv6 too",
        _ if text.parse::<SocketAddr>().is_ok() => "; the port has a key of its own, `port`",
        _ => "",
    };
    Err(format!("`host` must be localhost or an IP address{hint}"))
}

/// The addresses of one host.
pub(crate) fn addresses(host: Host, port: u16) -> Vec<Listen> {
    match host {
        Host::Ip(ip) => vec![Listen::Tcp(SocketAddr::new(ip, port))],
        Host::Localhost => {
            let mut both = vec![Listen::Tcp((Ipv4Addr::LOCALHOST, port).into())];
            // Port 0 would be two different ports.
            if port != 0 && has_ipv6_loopback() {
                both.push(Listen::Tcp((Ipv6Addr::LOCALHOST, port).into()));
            }
            both
        }
    }
}

/// One entry of `listen:`. `localhost:8080` is two addresses.
pub(crate) fn listen(text: &str) -> Result<Vec<Listen>, String> {
    if let Some(path) = text.strip_prefix("unix:") {
        return match path {
            "" => Err("the path of the Unix socket is missing: unix:/run/zonai.sock".into()),
            path => Ok(vec![Listen::Unix(PathBuf::from(path))]),
        };
    }
    if let Some(index) = text.strip_prefix("inherited:") {
        let index = index
            .parse()
            .map_err(|_| "expected inherited:0, inherited:1 …")?;
        return Ok(vec![Listen::Inherited(index)]);
    }
    if let Ok(address) = text.parse() {
        return Ok(vec![Listen::Tcp(address)]);
    }
    let (name, port) = text.rsplit_once(':').unwrap_or((text, ""));
    match (host(name), port.parse()) {
        (Ok(host), Ok(port)) => Ok(addresses(host, port)),
        (_, Err(_)) if host(text).is_ok() => Err(format!("the port is missing: {text}:{DEFAULT_PORT}")),
        _ => Err("expected an address such as 127.0.0.1:8080, [::]:8080, localhost:8080, unix:/run/zonai.sock or \
                  inherited:0"
            .into()),
    }
}

/// Whether only processes of this machine can reach the address. A Unix socket is there for a proxy, and an
/// inherited one can be anything: neither counts as loopback.
pub(crate) fn is_loopback(listen: &Listen) -> bool {
    matches!(listen, Listen::Tcp(address) if address.ip().to_canonical().is_loopback())
}

/// Containers often have no IPv6 at all; `localhost` means what there is.
fn has_ipv6_loopback() -> bool {
    TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "tests"
    )]

    use super::*;

    #[test]
    fn addresses_are_read_as_written() {
        assert_eq!(
            listen("127.0.0.1:80").unwrap(),
            [Listen::Tcp(([127, 0, 0, 1], 80).into())]
        );
        assert_eq!(
            listen("[::]:80").unwrap(),
            [Listen::Tcp((Ipv6Addr::UNSPECIFIED, 80).into())]
        );
        assert_eq!(
            listen("unix:/run/z.sock").unwrap(),
            [Listen::Unix("/run/z.sock".into())]
        );
        assert_eq!(listen("inherited:1").unwrap(), [Listen::Inherited(1)]);
        assert_eq!(
            listen("localhost:80").unwrap()[0],
            Listen::Tcp(([127, 0, 0, 1], 80).into())
        );
        for bad in [
            "",
            "127.0.0.1",
            "example.org:80",
            "127.0.0.1:99999",
            "unix:",
            "inherited:x",
            ":8080",
            "*:80",
        ] {
            assert!(listen(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_name_is_no_host() {
        assert_eq!(host("LocalHost").unwrap(), Host::Localhost);
        assert_eq!(host("[::1]").unwrap(), Host::Ip(Ipv6Addr::LOCALHOST.into()));
        assert!(host("*").unwrap_err().contains("0.0.0.0"));
        assert!(host("127.0.0.1:80").unwrap_err().contains("`port`"));
    }

    #[test]
    fn only_loopback_addresses_are_loopback() {
        for (text, expected) in [
            ("127.0.0.9:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("unix:/x", false),
        ] {
            assert_eq!(
                listen(text).unwrap().iter().all(is_loopback),
                expected,
                "{text}"
            );
        }
    }
}
