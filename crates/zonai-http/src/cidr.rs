//! A list of networks, written as CIDR ranges or bare addresses, that answers "is this address inside?".
//!
//! Must never resolve names: an entry that is no address is an error that names it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// The entry that stands for every Unix socket in a list of proxies.
pub const UNIX_SOCKETS: &str = "unix:";

/// A list of IPv4 and IPv6 networks. IPv4-mapped IPv6 (`::ffff:1.2.3.4`) is IPv4, in entries and in questions.
///
/// ```
/// use zonai_http::CidrList;
/// let list = CidrList::parse(["10.0.0.0/8", "2001:db8::/32", "192.0.2.7"]).unwrap();
/// assert!(list.contains("10.1.2.3".parse().unwrap()));
/// assert!(list.contains("::ffff:192.0.2.7".parse().unwrap()));
/// assert!(!list.contains("192.0.2.8".parse().unwrap()));
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct CidrList {
    /// As written, apart from the bits after the prefix; for display.
    nets: Vec<IpNet>,
    /// First and last address of each range; sorted, without overlap.
    v4: Vec<(u32, u32)>,
    v6: Vec<(u128, u128)>,
    unix_sockets: bool,
}

/// An entry that is neither a network nor an address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{entry}` is no network: write an address or a CIDR range, such as 10.0.0.0/8 or 2001:db8::/32"
)]
pub struct CidrError {
    /// The entry, cut to 64 characters.
    pub entry: String,
    /// Its place in the list, from 0.
    pub index: usize,
}

impl CidrList {
    /// Reads a list of CIDR ranges and bare addresses. Bits after the prefix are dropped (`10.1.2.3/8` is `10.0.0.0/8`).
    ///
    /// # Errors
    /// On the first entry that is neither; the error names it.
    pub fn parse<I>(entries: I) -> Result<Self, CidrError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        Self::read(entries, false)
    }

    /// As [`CidrList::parse`], and `unix:` stands for every peer that came through a Unix socket.
    ///
    /// # Errors
    /// On the first entry that is none of these; the error names it.
    pub fn parse_proxies<I>(entries: I) -> Result<Self, CidrError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        Self::read(entries, true)
    }

    /// Whether `ip` lies inside one of the networks.
    #[must_use]
    #[inline]
    pub fn contains(&self, ip: IpAddr) -> bool {
        match ip.to_canonical() {
            IpAddr::V4(ip) => inside(&self.v4, ip.to_bits()),
            IpAddr::V6(ip) => inside(&self.v6, ip.to_bits()),
        }
    }

    /// Whether the list names Unix sockets (`unix:`).
    #[must_use]
    pub fn names_unix_sockets(&self) -> bool {
        self.unix_sockets
    }

    /// Whether the list has no entry.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nets.is_empty() && !self.unix_sockets
    }

    /// Whether every IPv4 or every IPv6 address lies inside.
    #[must_use]
    pub fn covers_everything(&self) -> bool {
        self.v4 == [(0, u32::MAX)] || self.v6 == [(0, u128::MAX)]
    }

    /// The networks, in the order they were written.
    pub fn iter(&self) -> impl Iterator<Item = IpNet> + '_ {
        self.nets.iter().copied()
    }

    fn read<I>(entries: I, unix: bool) -> Result<Self, CidrError>
    where
        I: IntoIterator,
        I::Item: AsRef<str>,
    {
        let mut list = Self::default();
        for (index, entry) in entries.into_iter().enumerate() {
            let text = entry.as_ref().trim();
            if unix && text == UNIX_SOCKETS {
                list.unix_sockets = true;
                continue;
            }
            let net = parse_net(text).ok_or_else(|| CidrError {
                entry: text.chars().take(64).collect(),
                index,
            })?;
            match net {
                IpNet::V4(net) => list
                    .v4
                    .push((net.network().to_bits(), net.broadcast().to_bits())),
                IpNet::V6(net) => list
                    .v6
                    .push((net.network().to_bits(), net.broadcast().to_bits())),
            }
            list.nets.push(net);
        }
        list.v4 = merge(list.v4, |last| last.saturating_add(1));
        list.v6 = merge(list.v6, |last| last.saturating_add(1));
        Ok(list)
    }
}

impl fmt::Debug for CidrList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut list = f.debug_list();
        for net in &self.nets {
            list.entry(&format_args!("{net}"));
        }
        if self.unix_sockets {
            list.entry(&format_args!("{UNIX_SOCKETS}"));
        }
        list.finish()
    }
}

fn parse_net(text: &str) -> Option<IpNet> {
    let net = match text.parse::<IpNet>() {
        Ok(net) => net.trunc(),
        Err(_) => IpNet::from(text.parse::<IpAddr>().ok()?),
    };
    Some(match net {
        IpNet::V6(net) => mapped(net).map_or(IpNet::V6(net), IpNet::V4),
        v4 => v4,
    })
}

/// The IPv4 network inside `::ffff:0:0/96`, where `net` is one.
fn mapped(net: Ipv6Net) -> Option<Ipv4Net> {
    const MAPPED: Ipv6Addr = Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0);
    let bits = net.prefix_len().checked_sub(96)?;
    let address = net.network().to_bits();
    let low = u32::try_from(address ^ MAPPED.to_bits()).ok()?;
    Ipv4Net::new(Ipv4Addr::from_bits(low), bits).ok()
}

#[inline]
fn inside<T: Ord + Copy>(ranges: &[(T, T)], value: T) -> bool {
    let after = ranges.partition_point(|&(first, _)| first <= value);
    after > 0
        && ranges
            .get(after - 1)
            .is_some_and(|&(_, last)| value <= last)
}

fn merge<T: Ord + Copy>(mut ranges: Vec<(T, T)>, next: impl Fn(T) -> T) -> Vec<(T, T)> {
    ranges.sort_unstable();
    let mut merged: Vec<(T, T)> = Vec::with_capacity(ranges.len());
    for (first, last) in ranges {
        match merged.last_mut() {
            Some(before) if first <= next(before.1) => before.1 = before.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn an_entry_that_is_no_network_is_named() {
        for entry in [
            "proxy.internal",
            "10.0.0.0/33",
            "2001:db8::/129",
            "",
            "10.0.0",
            "10.0.0.0/",
            "fe80::1%eth0",
        ] {
            let error = CidrList::parse(["10.0.0.0/8", entry]).unwrap_err();
            assert_eq!((error.entry.as_str(), error.index), (entry, 1));
            assert!(error.to_string().contains(&format!("`{entry}`")));
        }
        assert!(CidrList::parse(["unix:"]).is_err());
        assert!(
            CidrList::parse_proxies(["unix:"])
                .unwrap()
                .names_unix_sockets()
        );
    }

    #[test]
    fn overlapping_and_neighbouring_networks_are_one_range() {
        let list = CidrList::parse(["10.0.1.0/24", "10.0.0.0/24", "10.0.0.128/25", "10.0.3.0/24"])
            .unwrap();
        assert_eq!(list.v4.len(), 2);
        for inside in [
            "10.0.0.0",
            "10.0.0.255",
            "10.0.1.255",
            "10.0.3.0",
            "::ffff:10.0.1.7",
        ] {
            assert!(list.contains(ip(inside)), "{inside}");
        }
        for outside in ["9.255.255.255", "10.0.2.0", "10.0.4.0", "::1", "::10.0.1.7"] {
            assert!(!list.contains(ip(outside)), "{outside}");
        }
    }

    #[test]
    fn a_mapped_network_is_the_ipv4_network() {
        let list = CidrList::parse(["::ffff:10.0.0.0/104", "::ffff:192.0.2.1"]).unwrap();
        assert!(list.contains(ip("10.255.0.1")));
        assert!(list.contains(ip("192.0.2.1")));
        assert!(!list.contains(ip("192.0.2.2")));
        assert_eq!(format!("{list:?}"), "[10.0.0.0/8, 192.0.2.1/32]");
    }

    #[test]
    fn the_ends_of_the_address_space_are_inside_everything() {
        let list = CidrList::parse(["0.0.0.0/1", "128.0.0.0/1", "::/0"]).unwrap();
        assert!(list.covers_everything());
        for inside in [
            "0.0.0.0",
            "255.255.255.255",
            "::",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
        ] {
            assert!(list.contains(ip(inside)), "{inside}");
        }
        assert!(!CidrList::default().contains(ip("::")));
    }
}
