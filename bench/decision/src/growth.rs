//! The slowest decision while the counters grow from none to a million.

use serde_json::{Value, json};
use zonai_limit::{Client, Counters};

use crate::machine::{Slowest, ms};
use crate::workload::{NOW, Numbers, address, charge, v4, v6};

const DECISIONS: usize = 10_000_000;
const COUNTERS: usize = 1_000_000;

pub fn measure() -> Value {
    let spread: Vec<Client> = (0..COUNTERS as u32)
        .map(|number| v4(address(number)))
        .collect();
    let (wall, cpu) = grow(&spread);
    // The worst that can be: all of one IPv6 /32, so that all lie in one shard.
    let dense: Vec<Client> = (0..COUNTERS as u128)
        .map(|net| v6(0x2001_0db8 << 96 | net << 64))
        .collect();
    let (dense_wall, dense_cpu) = grow(&dense);
    json!({
        "decisions": DECISIONS,
        "slowest_wall_ms": wall,
        "slowest_cpu_ms": cpu,
        "one_network_slowest_wall_ms": dense_wall,
        "one_network_slowest_cpu_ms": dense_cpu,
    })
}

/// One decision in ten meets a new client.
fn grow(clients: &[Client]) -> (f64, f64) {
    let counters = Counters::new(COUNTERS + COUNTERS / 8);
    let mut slowest = Slowest::default();
    let mut numbers = Numbers(1);
    let mut known = 0;
    for decision in 0..DECISIONS {
        let client = if decision % (DECISIONS / COUNTERS) == 0 {
            known += 1;
            clients[known - 1]
        } else {
            clients[(numbers.next() % known as u64) as usize]
        };
        slowest.of(|| counters.decide(NOW, client, &[charge(u32::MAX)], false));
    }
    assert_eq!(counters.len(), COUNTERS);
    (ms(slowest.wall), ms(slowest.cpu))
}
