//! So many decisions and nothing else: what `bench/instructions` counts.

use std::hint::black_box;
use std::net::Ipv4Addr;
use std::process::ExitCode;
use std::time::Duration;

use zonai_limit::{Charge, Client, Counters, Ipv6Prefix, Moment, RateLimitPolicy, Slot};

fn main() -> ExitCode {
    let number = std::env::args()
        .nth(1)
        .and_then(|number| number.parse().ok());
    let policy = RateLimitPolicy::new(u32::MAX, Duration::from_secs(3_600));
    let (Some(number), Ok(policy), Some(slot)) = (number, policy, Slot::new(0)) else {
        eprintln!("usage: decisions NUMBER");
        return ExitCode::from(2);
    };
    let counters = Counters::new(1_000);
    let charges = [Charge {
        slot,
        policy,
        observe: false,
    }];
    for decision in 0_u32..number {
        let address = Ipv4Addr::from_bits(decision % 64);
        let client = Client::from_ip(address.into(), Ipv6Prefix::DEFAULT);
        black_box(counters.decide(Moment::from_millis(10_000_000), client, &charges, false));
    }
    ExitCode::SUCCESS
}
