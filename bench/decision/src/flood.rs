//! Five million fresh addresses at the default cap: what happens to memory, to the blocked and to others.

use serde_json::{Value, json};
use zonai_limit::{Client, Counters, Outcome};

use crate::machine::{Slowest, ms, rss};
use crate::workload::{NOW, Numbers, charge, v4, v6};

const FRESH: u32 = 5_000_000;
const CAP: usize = 1_000_000;
const LIMIT: u32 = 100;

/// From 10.0.0.0/8 and one IPv6 /32, in turn.
pub fn of_two_networks() -> Value {
    flood(v4(0x0808_0808), |number| {
        if number.is_multiple_of(2) {
            v4(0x0a00_0000 + number)
        } else {
            v6(0x2001_0db8 << 96 | u128::from(number) << 64)
        }
    })
}

/// From anywhere in IPv4; the other network is one of IPv6.
pub fn from_everywhere() -> Value {
    let mut numbers = Numbers(3);
    flood(v6(0x2a00_1450 << 96 | 1 << 64), |_| {
        v4(numbers.next() as u32)
    })
}

fn flood(other: Client, mut fresh: impl FnMut(u32) -> Client) -> Value {
    let before = rss();
    let counters = Counters::new(CAP);
    let admits = |client| {
        matches!(
            counters.decide(NOW, client, &[charge(LIMIT)], false),
            Outcome::Admitted { .. }
        )
    };
    let blocked = v4(0xc000_0207);
    let first = (0..LIMIT * 2).filter(|_| admits(blocked)).count();
    assert_eq!(first, LIMIT as usize);
    let (mut slowest, mut most, mut refused, mut blocked_admitted) =
        (Slowest::default(), 0, 0_u32, 0_u32);
    for number in 0..FRESH {
        let client = fresh(number);
        refused += u32::from(!slowest.of(|| admits(client)));
        if number % 1_000 == 0 {
            most = most.max(counters.len());
            blocked_admitted += u32::from(admits(blocked));
        }
    }
    let other_refused = (0..LIMIT).filter(|_| !admits(other)).count();
    json!({
        "fresh_addresses": FRESH,
        "most_counters": most,
        "rss_mib": ((rss() - before) as f64 / (1 << 20) as f64).round(),
        "blocked_admitted": blocked_admitted,
        "other_network_refused": other_refused,
        "fresh_refused": refused,
        "decided_on_wider_counters": counters.crowded(),
        "slowest_wall_ms": ms(slowest.wall),
        "slowest_cpu_ms": ms(slowest.cpu),
    })
}
