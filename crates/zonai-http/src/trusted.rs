//! `app.trustedProxy`: which header of which peer is believed. Settings that would let a caller choose
//! its own address cannot be built, or are warned about.
//!
//! Must never look at a request: that is [`crate::client`].

use std::fmt;
use std::net::SocketAddr;

use http::HeaderName;

use crate::CidrList;

/// The proxies in front of the server, and how they say whose request it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedProxy {
    headers: Vec<HeaderName>,
    use_leftmost_ip: bool,
    proxies: CidrList,
    proxy_protocol: bool,
}

/// Why the settings of a trusted proxy were refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TrustedProxyError {
    /// Neither a header nor the PROXY protocol.
    #[error(
        "trustedProxy trusts nothing: name the header your proxy sets in `headers` (such as X-Forwarded-For), \
         or set `proxyProtocol: true`"
    )]
    NothingTrusted,
    /// Several headers, believed from anybody.
    #[error(
        "trustedProxy has {count} headers but no `proxies`: a caller could send the one your proxy does not set; \
         list the networks of your proxies"
    )]
    HeadersWithoutProxies {
        /// How many headers are listed.
        count: usize,
    },
    /// The PROXY protocol, believed from anybody.
    #[error(
        "trustedProxy has `proxyProtocol: true` but no `proxies`: list the networks of your proxies"
    )]
    ProxyProtocolWithoutProxies,
    /// One header twice.
    #[error("trustedProxy lists the header `{header}` twice")]
    HeaderTwice {
        /// The header.
        header: HeaderName,
    },
}

/// Something that works, but probably not as meant. `Display` is one sentence for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// One header without `proxies`, on a listener that others than this machine reach.
    HeaderFromAnybody {
        /// The header.
        header: HeaderName,
        /// The first listener that is not loopback.
        listener: SocketAddr,
    },
    /// `proxies` holds every address, so that everybody is believed.
    EverybodyIsProxy,
    /// A Unix socket is listened on, but `proxies` does not name `unix:`.
    UnixSocketNotListed,
}

impl TrustedProxy {
    /// Believe `headers` (tried in order) of a peer inside `proxies` (of any peer where it is empty), read from
    /// the right, or with `use_leftmost_ip` from the left; with `proxy_protocol` each connection of such a peer
    /// begins with a PROXY header.
    ///
    /// # Errors
    /// When nothing is trusted, a header is listed twice, or more than one header or the PROXY protocol would be
    /// believed from anybody.
    pub fn new(
        headers: Vec<HeaderName>,
        use_leftmost_ip: bool,
        proxies: CidrList,
        proxy_protocol: bool,
    ) -> Result<Self, TrustedProxyError> {
        if headers.is_empty() && !proxy_protocol {
            return Err(TrustedProxyError::NothingTrusted);
        }
        for (index, header) in headers.iter().enumerate() {
            if headers.iter().take(index).any(|before| before == header) {
                return Err(TrustedProxyError::HeaderTwice {
                    header: header.clone(),
                });
            }
        }
        if proxies.is_empty() && headers.len() > 1 {
            return Err(TrustedProxyError::HeadersWithoutProxies {
                count: headers.len(),
            });
        }
        if proxies.is_empty() && proxy_protocol {
            return Err(TrustedProxyError::ProxyProtocolWithoutProxies);
        }
        Ok(Self {
            headers,
            use_leftmost_ip,
            proxies,
            proxy_protocol,
        })
    }

    /// The headers, in the order they are tried.
    #[must_use]
    pub fn headers(&self) -> &[HeaderName] {
        &self.headers
    }

    /// Whether the leftmost entry is the client.
    #[must_use]
    pub fn use_leftmost_ip(&self) -> bool {
        self.use_leftmost_ip
    }

    /// The networks of the proxies; empty where a header is believed from any peer.
    #[must_use]
    pub fn proxies(&self) -> &CidrList {
        &self.proxies
    }

    /// Whether connections from [`Self::proxies`] begin with a PROXY header.
    #[must_use]
    pub fn proxy_protocol(&self) -> bool {
        self.proxy_protocol
    }

    /// Whether a header of this peer is believed (`None`: a Unix socket).
    #[must_use]
    pub fn believes(&self, peer: Option<std::net::IpAddr>) -> bool {
        self.proxies.is_empty()
            || match peer {
                Some(ip) => self.proxies.contains(ip),
                None => self.proxies.names_unix_sockets(),
            }
    }

    /// What to say once at start, for these TCP listeners.
    #[must_use]
    pub fn warnings(&self, listeners: &[SocketAddr]) -> Vec<Warning> {
        let mut warnings = Vec::new();
        if self.proxies.is_empty()
            && let Some(header) = self.headers.first()
            && let Some(listener) = listeners
                .iter()
                .find(|at| !at.ip().to_canonical().is_loopback())
        {
            warnings.push(Warning::HeaderFromAnybody {
                header: header.clone(),
                listener: *listener,
            });
        }
        if self.proxies.covers_everything() {
            warnings.push(Warning::EverybodyIsProxy);
        }
        warnings
    }

    /// What to say once at start where a Unix socket is listened on.
    #[must_use]
    pub fn unix_socket_warning(&self) -> Option<Warning> {
        (!self.believes(None)).then_some(Warning::UnixSocketNotListed)
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::HeaderFromAnybody { header, listener } => write!(
                f,
                "trustedProxy believes the header {header} from whoever reaches {listener}; \
                 list the networks of your proxies in trustedProxy.proxies"
            ),
            Self::EverybodyIsProxy => f.write_str(
                "trustedProxy.proxies holds every address, so every caller can choose its own client address; \
                 list the networks of your proxies only",
            ),
            Self::UnixSocketNotListed => f.write_str(
                "a Unix socket is listened on, but trustedProxy.proxies does not name `unix:`, so headers that \
                 arrive through it are not believed and all its requests share one client",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const XFF: HeaderName = HeaderName::from_static("x-forwarded-for");

    fn proxies() -> CidrList {
        CidrList::parse_proxies(["10.0.0.0/8"]).unwrap()
    }

    #[test]
    fn more_than_one_header_or_the_proxy_protocol_needs_proxies() {
        let two = || vec![XFF, http::header::FORWARDED];
        let none = CidrList::default;
        assert_eq!(
            TrustedProxy::new(two(), false, none(), false),
            Err(TrustedProxyError::HeadersWithoutProxies { count: 2 })
        );
        assert!(TrustedProxy::new(two(), false, proxies(), false).is_ok());
        assert_eq!(
            TrustedProxy::new(vec![XFF], false, none(), true),
            Err(TrustedProxyError::ProxyProtocolWithoutProxies)
        );
        assert!(TrustedProxy::new(vec![], false, proxies(), true).is_ok());
        assert_eq!(
            TrustedProxy::new(vec![], false, proxies(), false),
            Err(TrustedProxyError::NothingTrusted)
        );
        assert_eq!(
            TrustedProxy::new(vec![XFF, XFF], false, proxies(), false),
            Err(TrustedProxyError::HeaderTwice { header: XFF })
        );
    }

    #[test]
    fn one_header_believed_from_anybody_is_a_warning_unless_only_this_machine_is_reached() {
        let trusted = TrustedProxy::new(vec![XFF], false, CidrList::default(), false).unwrap();
        let loopback: SocketAddr = "[::1]:8080".parse().unwrap();
        let open: SocketAddr = "[::]:8080".parse().unwrap();
        assert_eq!(trusted.warnings(&[loopback]), []);
        let warnings = trusted.warnings(&[loopback, open]);
        assert_eq!(
            warnings,
            [Warning::HeaderFromAnybody {
                header: XFF,
                listener: open
            }]
        );
        assert!(warnings[0].to_string().contains("trustedProxy.proxies"));
        let listed = TrustedProxy::new(vec![XFF], false, proxies(), false).unwrap();
        assert_eq!(listed.warnings(&[open]), []);
        assert_eq!(
            listed.unix_socket_warning(),
            Some(Warning::UnixSocketNotListed)
        );
        let all = TrustedProxy::new(
            vec![XFF],
            false,
            CidrList::parse(["0.0.0.0/0"]).unwrap(),
            false,
        )
        .unwrap();
        assert_eq!(all.warnings(&[loopback]), [Warning::EverybodyIsProxy]);
    }
}
