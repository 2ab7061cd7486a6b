//! Bytes a counter, at a million of them.

use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;

use governor::{Quota, RateLimiter};
use serde_json::{Value, json};
use zonai_limit::Counters;

use crate::machine::rss;
use crate::workload::{NOW, address, charge, v4};

const COUNTERS: usize = 1_000_000;

pub fn measure() -> Value {
    let addresses = || (0..COUNTERS as u32).map(address);
    // The cap keeps a sixteenth for wider counters; the figure is for a million of a client's own.
    let before = rss();
    let counters = Counters::new(COUNTERS + COUNTERS / 8);
    for address in addresses() {
        let _ = counters.decide(NOW, v4(address), &[charge(100)], false);
    }
    assert_eq!(counters.len(), COUNTERS);
    let zonai = (rss() - before) as f64 / COUNTERS as f64;
    let full = rss();
    let later = NOW.plus(3_600_000);
    for _ in 0..200 {
        counters.reclaim(later, 100_000);
    }
    let freed = (full - rss()) as f64 / (full - before) as f64;
    let left = counters.len();
    drop(counters);
    let before = rss();
    let governor = RateLimiter::keyed(Quota::per_minute(NonZeroU32::MIN));
    for address in addresses() {
        let _ = governor.check_key(&IpAddr::from(Ipv4Addr::from_bits(address)));
    }
    // What was freed above is used again: a lower bound for governor.
    let governor_bytes = (rss() - before) as f64 / COUNTERS as f64;
    json!({
        "entry_bytes": zonai_limit::Counters::ENTRY_BYTES,
        "zonai_rss_per_counter": (zonai * 10.0).round() / 10.0,
        "counters_left_after_the_window": left,
        "share_of_memory_given_back_after_the_window": (freed * 100.0).round() / 100.0,
        "governor_rss_per_counter_at_least": (governor_bytes * 10.0).round() / 10.0,
        "governor_counters": governor.len(),
    })
}
