//! Clients and limits that all parts use.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use zonai_limit::{Charge, Client, Ipv6Prefix, Moment, RateLimitPolicy, Slot};

pub const NOW: Moment = Moment::from_millis(10_000_000);

pub fn charge(max: u32) -> Charge {
    let policy = RateLimitPolicy::new(max, Duration::from_secs(3_600)).expect("a valid policy");
    Charge {
        slot: Slot::new(0).expect("a slot"),
        policy,
        observe: false,
    }
}

pub fn v4(address: u32) -> Client {
    Client::from_ip(Ipv4Addr::from_bits(address).into(), Ipv6Prefix::DEFAULT)
}

pub fn v6(network: u128) -> Client {
    Client::from_ip(Ipv6Addr::from_bits(network).into(), Ipv6Prefix::DEFAULT)
}

/// Numbers that look random and are the same in every run (SplitMix64).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// The address of a number: from all over, in no order, each of another number. Computed, so that looking it up costs
/// no memory that the counters would need.
pub const fn address(number: u32) -> u32 {
    // An odd multiplier makes a permutation of the 32-bit numbers.
    number.wrapping_mul(2_654_435_761).wrapping_add(0x0500_0000)
}

/// `length` choices among `count` things.
pub fn order(count: usize, length: usize) -> Vec<u32> {
    let mut numbers = Numbers(7);
    (0..length)
        .map(|_| (numbers.next() % count as u64) as u32)
        .collect()
}
