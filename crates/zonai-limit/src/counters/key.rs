//! How a client is packed into the key of a counter, and how it is widened past the cap.
//!
//! Must never map two clients to one key, but for addresses that no client can have.

use std::hash::Hasher;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::{Client, Ipv6Prefix};

/// How wide the group of clients is that one counter counts. The last step, everyone, is kept elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level(u8);

impl Level {
    /// One client.
    pub(crate) const OWN: Self = Self(0);
    /// IPv4 /24, IPv6 /48.
    pub(crate) const NEAR: Self = Self(1);
    /// IPv4 /16, IPv6 /32.
    pub(crate) const FAR: Self = Self(2);

    /// How many bits of a tag hold the level.
    pub(crate) const BITS: u32 = 2;

    pub(crate) const fn number(self) -> u32 {
        self.0 as u32
    }

    pub(crate) const fn from_tag(tag: u32) -> Self {
        Self((tag & ((1 << Self::BITS) - 1)) as u8)
    }

    const fn bits_v4(self) -> u8 {
        match self.0 {
            0 => 32,
            1 => 24,
            _ => 16,
        }
    }

    const fn bits_v6(self, prefix: Ipv6Prefix) -> u8 {
        match self.0 {
            0 => prefix.bits(),
            1 => 48,
            _ => 32,
        }
    }

    fn of(client: Client, prefix: Ipv6Prefix) -> Option<Self> {
        let all = [Self::OWN, Self::NEAR, Self::FAR];
        match client {
            Client::V4 { bits, .. } => all.into_iter().find(|level| level.bits_v4() == bits),
            Client::V6 { bits, .. } => all.into_iter().find(|level| level.bits_v6(prefix) == bits),
            Client::Local => Some(Self::OWN),
            Client::Everyone => None,
        }
    }
}

/// The packed client of a counter: 64 bits where IPv6 counts per /64 or wider, 128 otherwise, and one with an
/// account for failed sign-ins.
pub(crate) trait Key: Copy + Eq {
    /// Whether counters of this kind give way to wider ones of the same kind past the cap.
    const WIDENS: bool;

    /// Packs a client that is counted at some level. Everyone is at none: [`Self::of`] asks first.
    fn pack(client: Client, account: u64) -> Self;

    /// The packed client as 128 bits: an IPv6 address, or one of the marks below.
    fn address(self) -> u128;

    /// The account, 0 where there is none.
    fn account(self) -> u64;

    /// Feeds the hash with key and tag, in as few steps as it takes.
    fn hash_into(self, tag: u32, hasher: &mut impl Hasher);

    /// What chooses the shard: the widest network, so that all counters of a client lie in one shard.
    fn network(self) -> u64;

    /// The level and the key of a client; `None` where no counter of this kind can be its.
    fn of(client: Client, account: u64, prefix: Ipv6Prefix) -> Option<(Self, Level)> {
        Level::of(client, prefix).map(|level| (Self::pack(client, account), level))
    }

    /// The key of the wider group at `level`; `None` where that is no wider than the client itself.
    fn widened(self, level: Level, prefix: Ipv6Prefix) -> Option<Self> {
        let client = match unpack(self.address(), Level::OWN, prefix) {
            Client::V4 { network, .. } => Client::v4(network, level.bits_v4()),
            Client::V6 { network, bits } if bits > level.bits_v6(prefix) => {
                Client::v6(network, level.bits_v6(prefix))
            }
            Client::V6 { .. } | Client::Local | Client::Everyone => return None,
        };
        Some(Self::pack(client, self.account()))
    }

    /// The client again.
    fn client(self, level: Level, prefix: Ipv6Prefix) -> Client {
        unpack(self.address(), level, prefix)
    }

    /// Whether it is an IPv6 network.
    fn is_v6(self) -> bool {
        self.address() >> 97 != MARKS
    }
}

// IPv4 addresses and the client without an address lie where IPv6 has multicast, which no client has:
// 0xffff_ffff in front of an IPv4 address, 0xffff_fffe for the one without. The address stands in the next 32
// bits, so that the upper half is the whole key.
const MARKS: u128 = 0x7fff_ffff;
const V4_MARK: u64 = 0xffff_ffff << 32;
const LOCAL_MARK: u64 = 0xffff_fffe << 32;

#[inline]
fn upper(client: Client) -> u64 {
    match client {
        Client::V4 { network, .. } => V4_MARK | u64::from(network.to_bits()),
        Client::V6 { network, .. } => {
            let upper = (network.to_bits() >> 64) as u64;
            // Text that claims such an address comes from no client that exists.
            if upper >= LOCAL_MARK {
                LOCAL_MARK
            } else {
                upper
            }
        }
        Client::Local | Client::Everyone => LOCAL_MARK,
    }
}

fn unpack(address: u128, level: Level, prefix: Ipv6Prefix) -> Client {
    let upper = (address >> 64) as u64;
    if upper >= V4_MARK {
        return Client::V4 {
            network: Ipv4Addr::from_bits(upper as u32),
            bits: level.bits_v4(),
        };
    }
    if upper >= LOCAL_MARK {
        return Client::Local;
    }
    Client::V6 {
        network: Ipv6Addr::from_bits(address),
        bits: level.bits_v6(prefix),
    }
}

#[inline]
const fn network(upper: u64) -> u64 {
    if upper >= V4_MARK {
        upper >> 16
    } else {
        upper >> 32
    }
}

impl Key for u64 {
    const WIDENS: bool = true;

    #[inline]
    fn pack(client: Client, _account: u64) -> Self {
        upper(client)
    }

    #[inline]
    fn address(self) -> u128 {
        u128::from(self) << 64
    }

    fn account(self) -> u64 {
        0
    }

    #[inline]
    fn hash_into(self, tag: u32, hasher: &mut impl Hasher) {
        hasher.write_u128((u128::from(self) << 64) | u128::from(tag));
    }

    #[inline]
    fn network(self) -> u64 {
        network(self)
    }
}

impl Key for u128 {
    const WIDENS: bool = true;

    #[inline]
    fn pack(client: Client, _account: u64) -> Self {
        let lower = match client {
            Client::V6 { network, .. } if upper(client) < LOCAL_MARK => network.to_bits() as u64,
            _ => 0,
        };
        u128::from(upper(client)) << 64 | u128::from(lower)
    }

    #[inline]
    fn address(self) -> u128 {
        self
    }

    fn account(self) -> u64 {
        0
    }

    #[inline]
    fn hash_into(self, tag: u32, hasher: &mut impl Hasher) {
        hasher.write_u128(self);
        hasher.write_u32(tag);
    }

    #[inline]
    fn network(self) -> u64 {
        network((self >> 64) as u64)
    }
}

/// A client and an account, for failed sign-ins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AccountKey {
    client: [u64; 2],
    account: u64,
}

impl Key for AccountKey {
    const WIDENS: bool = false;

    fn pack(client: Client, account: u64) -> Self {
        let address = <u128 as Key>::pack(client, account);
        Self {
            client: [(address >> 64) as u64, address as u64],
            account,
        }
    }

    fn address(self) -> u128 {
        u128::from(self.client[0]) << 64 | u128::from(self.client[1])
    }

    fn account(self) -> u64 {
        self.account
    }

    fn hash_into(self, tag: u32, hasher: &mut impl Hasher) {
        hasher.write_u64(self.client[0]);
        hasher.write_u64(self.client[1]);
        hasher.write_u64(self.account);
        hasher.write_u32(tag);
    }

    fn network(self) -> u64 {
        network(self.client[0])
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn client(text: &str, bits: u8) -> Client {
        Client::parse(text, Ipv6Prefix::new(bits).unwrap()).unwrap()
    }

    #[test]
    fn a_key_gives_its_client_back() {
        for (text, bits) in [
            ("203.0.113.7", 64),
            ("2001:db8:1:2::1", 64),
            ("2001:db8::1", 48),
            ("local", 64),
        ] {
            let prefix = Ipv6Prefix::new(bits).unwrap();
            let client = client(text, bits);
            let (key, level) = <u64 as Key>::of(client, 0, prefix).unwrap();
            assert_eq!(key.client(level, prefix), client);
        }
        let prefix = Ipv6Prefix::new(128).unwrap();
        let long = client("2001:db8::ffff:1", 128);
        let (key, level) = <u128 as Key>::of(long, 0, prefix).unwrap();
        assert_eq!(key.client(level, prefix), long);
        let (key, level) = AccountKey::of(long, 7, prefix).unwrap();
        assert_eq!((key.client(level, prefix), key.account()), (long, 7));
    }

    #[test]
    fn all_widths_of_a_client_choose_one_shard() {
        let prefix = Ipv6Prefix::DEFAULT;
        for text in ["203.0.113.7", "2001:db8:1:2::1"] {
            let own = <u64 as Key>::pack(client(text, 64), 0);
            for level in [Level::NEAR, Level::FAR] {
                assert_eq!(own.widened(level, prefix).unwrap().network(), own.network());
            }
        }
        let near = <u64 as Key>::pack(client("203.0.113.7", 64), 0)
            .widened(Level::NEAR, prefix)
            .unwrap();
        assert_eq!(
            near.client(Level::NEAR, prefix).to_string(),
            "203.0.113.0/24"
        );
    }

    #[test]
    fn a_group_that_is_no_wider_is_left_out() {
        let prefix = Ipv6Prefix::new(40).unwrap();
        let own = <u64 as Key>::pack(client("2001:db8:100::1", 40), 0);
        assert_eq!(own.widened(Level::NEAR, prefix), None);
        assert!(own.widened(Level::FAR, prefix).is_some());
        assert_eq!(
            <u64 as Key>::pack(Client::Local, 0).widened(Level::FAR, prefix),
            None
        );
    }

    #[test]
    fn invented_addresses_never_meet_an_ipv4_client() {
        let invented = <u64 as Key>::pack(client("ffff:ffff:cb00:7107::1", 64), 0);
        assert_ne!(invented, <u64 as Key>::pack(client("203.0.113.7", 64), 0));
    }
}
