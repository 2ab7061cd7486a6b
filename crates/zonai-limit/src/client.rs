//! Who is counted: an IPv4 address, an IPv6 network, or the one client without an address.
//!
//! Must never parse header text: that is the business of `zonai-http`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// How many leading bits of an IPv6 address make one client: 32 to 128, 64 unless told,
/// because one customer holds a whole /64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ipv6Prefix(u8);

impl Ipv6Prefix {
    /// /64.
    pub const DEFAULT: Self = Self(64);

    /// A prefix of `bits`, or `None` outside 32 to 128.
    #[must_use]
    pub const fn new(bits: u8) -> Option<Self> {
        if bits >= 32 && bits <= 128 {
            Some(Self(bits))
        } else {
            None
        }
    }

    /// The number of bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.0
    }
}

impl Default for Ipv6Prefix {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// One client, as it is counted and shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Client {
    /// One IPv4 address, or a network of them (`bits` below 32).
    V4 {
        /// The address, bits after the prefix zero.
        network: Ipv4Addr,
        /// Leading bits that count.
        bits: u8,
    },
    /// One IPv6 network.
    V6 {
        /// The network, bits after the prefix zero.
        network: Ipv6Addr,
        /// Leading bits that count.
        bits: u8,
    },
    /// Every request that has no address: a Unix socket without a trusted header.
    Local,
    /// Everybody at once: the last of the wider counters past the cap.
    Everyone,
}

impl Client {
    /// The client of an address. An IPv4-mapped IPv6 address is the IPv4 address.
    #[must_use]
    pub fn from_ip(ip: IpAddr, prefix: Ipv6Prefix) -> Self {
        match ip.to_canonical() {
            IpAddr::V4(network) => Self::V4 { network, bits: 32 },
            IpAddr::V6(address) => Self::v6(address, prefix.bits()),
        }
    }

    pub(crate) fn v6(address: Ipv6Addr, bits: u8) -> Self {
        let mask = u128::MAX.checked_shl(128 - u32::from(bits)).unwrap_or(0);
        Self::V6 {
            network: Ipv6Addr::from_bits(address.to_bits() & mask),
            bits,
        }
    }

    pub(crate) fn v4(address: Ipv4Addr, bits: u8) -> Self {
        let mask = u32::MAX.checked_shl(32 - u32::from(bits)).unwrap_or(0);
        Self::V4 {
            network: Ipv4Addr::from_bits(address.to_bits() & mask),
            bits,
        }
    }

    /// The next wider group of clients, used past the cap: IPv4 /24, /16; IPv6 /48, /32; then everybody.
    #[must_use]
    pub fn wider(self) -> Option<Self> {
        match self {
            Self::V4 { network, bits } if bits > 24 => Some(Self::v4(network, 24)),
            Self::V4 { network, bits } if bits > 16 => Some(Self::v4(network, 16)),
            Self::V6 { network, bits } if bits > 48 => Some(Self::v6(network, 48)),
            Self::V6 { network, bits } if bits > 32 => Some(Self::v6(network, 32)),
            Self::V4 { .. } | Self::V6 { .. } | Self::Local => Some(Self::Everyone),
            Self::Everyone => None,
        }
    }

    /// The form of `Display`, read back: `203.0.113.7`, `203.0.113.0/24`, `2001:db8::/64`, `local`, `everyone`.
    /// A bare IPv6 address is read with `prefix`. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str, prefix: Ipv6Prefix) -> Option<Self> {
        match text {
            "local" => return Some(Self::Local),
            "everyone" => return Some(Self::Everyone),
            _ => {}
        }
        let Some((address, bits)) = text.split_once('/') else {
            return text.parse().ok().map(|ip| Self::from_ip(ip, prefix));
        };
        let bits: u8 = bits.parse().ok()?;
        match address.parse::<IpAddr>().ok()? {
            IpAddr::V4(address) if bits <= 32 => Some(Self::v4(address, bits)),
            IpAddr::V6(address) if bits <= 128 => Some(Self::v6(address, bits)),
            _ => None,
        }
    }
}

impl fmt::Display for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4 { network, bits: 32 } => write!(f, "{network}"),
            Self::V4 { network, bits } => write!(f, "{network}/{bits}"),
            Self::V6 { network, bits: 128 } => write!(f, "{network}"),
            Self::V6 { network, bits } => write!(f, "{network}/{bits}"),
            Self::Local => f.write_str("local"),
            Self::Everyone => f.write_str("everyone"),
        }
    }
}
