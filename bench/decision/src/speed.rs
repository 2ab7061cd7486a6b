//! Nanoseconds a decision: one hot counter, 100,000 counters, two threads; ours and governor's.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::sync::{Arc, Barrier};
use std::time::Instant;

use governor::clock::FakeRelativeClock;
use governor::{Quota, RateLimiter};
use serde_json::{Value, json};
use zonai_clock::Clock;
use zonai_limit::{
    Accounts, Ask, Bucket, Counters, CustomNames, Kind, Known, KnownTable, Limit, Limiter, Mode, Operation,
    Origin, Outcome, Registration, TableLimits, Verdict,
};

use crate::sketch::Sketch;
use crate::workload::{NOW, address, charge, order, v4};

const KEYS: usize = 100_000;
/// The best of some rounds is taken: what else runs shows less.
const DECISIONS: usize = 1_000_000;
const ROUNDS: usize = 15;
/// So high that nothing is refused.
const PLENTY: u32 = u32::MAX;

/// The best of some rounds, in ns per step, rounded to a tenth.
fn best(mut round: impl FnMut()) -> f64 {
    best_of([&mut round])[0]
}

/// The same for several that are compared: their rounds take turns, so that a busy machine is busy for all of them.
fn best_of<const N: usize>(mut rounds: [&mut dyn FnMut(); N]) -> [f64; N] {
    let mut best = [f64::INFINITY; N];
    for _ in 0..ROUNDS {
        for (round, best) in rounds.iter_mut().zip(&mut best) {
            let start = Instant::now();
            round();
            *best = best.min(start.elapsed().as_nanos() as f64 / DECISIONS as f64);
        }
    }
    best.map(|best| (best * 10.0).round() / 10.0)
}

fn ip(index: u32) -> IpAddr {
    Ipv4Addr::from_bits(address(index)).into()
}

pub fn measure() -> Value {
    let order = order(KEYS, DECISIONS);
    let counters = Counters::new(1_000_000);
    fill(&counters);
    let governor = RateLimiter::keyed(quota());
    let sketch = Sketch::new();
    let sketched = |order: &[u32]| {
        for &index in order {
            black_box(sketch.admits(NOW.as_millis(), address(index).into(), PLENTY, 3_600_000));
        }
    };
    let still = RateLimiter::dashmap_with_clock(quota(), FakeRelativeClock::default());
    let half = DECISIONS / 2;
    let (first, second) = order.split_at(half);
    let halves = [first, second];
    // The limit is known where it is compiled, as the sketch's is.
    let ours = |order: &[u32]| decide::<PLENTY>(&counters, order);
    let theirs = |order: &[u32]| {
        for &index in order {
            let _ = black_box(governor.check_key(&ip(index)));
        }
    };
    let hot_order = vec![0; DECISIONS];
    let [zonai_hot, sketch_hot, governor_hot] = best_of([
        &mut || ours(&hot_order),
        &mut || sketched(&hot_order),
        &mut || theirs(&hot_order),
    ]);
    let [
        zonai_100k,
        sketch_100k,
        governor_100k,
        governor_still,
        two_threads,
        governor_two,
    ] = best_of([
        &mut || ours(&order),
        &mut || sketched(&order),
        &mut || theirs(&order),
        &mut || {
            for &index in &order {
                let _ = black_box(still.check_key(&ip(index)));
            }
        },
        &mut || in_two(|thread| ours(halves[thread])),
        &mut || in_two(|thread| theirs(halves[thread])),
    ]);
    // What two workers of a server do: a connection stays with one, and so do most clients.
    let apart = [0, 1].map(|thread| -> Vec<u32> {
        order
            .iter()
            .map(|&index| index / 2 + thread * (KEYS as u32 / 2))
            .collect()
    });
    let [two_apart, one_apart] = best_of([
        &mut || in_two(|thread| ours(&apart[thread][..half])),
        &mut || ours(&apart[0]),
    ]);
    let zonai_refusing = best(|| decide::<1>(&counters, &order));
    let limiter = limiter();
    let zonai_check_hot = check(&limiter, &hot_order);
    let zonai_check = check(&limiter, &order);
    let clock = Clock::system();
    let clock_ns = best(|| {
        for _ in 0..DECISIONS {
            black_box(clock.now());
        }
    });
    let ratio = |one: f64, other: f64| (one / other * 1_000.0).round() / 1_000.0;
    json!({
        "zonai_hot_ns": zonai_hot,
        "zonai_100k_ns": zonai_100k,
        "zonai_100k_refusing_ns": zonai_refusing,
        "zonai_two_threads_ns": two_threads,
        "zonai_two_threads_own_clients_ns": two_apart,
        "zonai_one_thread_half_the_clients_ns": one_apart,
        "zonai_limiter_check_hot_ns": zonai_check_hot,
        "zonai_limiter_check_100k_ns": zonai_check,
        "zonai_clock_read_ns": clock_ns,
        "sketch_hot_ns": sketch_hot,
        "sketch_100k_ns": sketch_100k,
        "governor_hot_ns": governor_hot,
        "governor_100k_ns": governor_100k,
        "governor_two_threads_ns": governor_two,
        "governor_100k_clock_aside_ns": governor_still,
        "ratio_to_sketch_hot": ratio(zonai_hot, sketch_hot),
        "ratio_to_sketch_100k": ratio(zonai_100k, sketch_100k),
        "ratio_to_governor_hot": ratio(zonai_hot, governor_hot),
        "ratio_to_governor_100k": ratio(zonai_100k, governor_100k),
        "ratio_to_governor_100k_clock_aside": ratio(zonai_100k, governor_still),
        "ratio_to_governor_100k_both_with_clock": ratio(zonai_100k + clock_ns, governor_100k),
    })
}

#[inline(always)]
fn decide<const MAX: u32>(counters: &Counters, order: &[u32]) {
    let charges = [charge(MAX)];
    for &index in order {
        black_box(counters.decide(NOW, v4(address(index)), &charges, false));
    }
}

fn fill(counters: &Counters) {
    for client in (0..KEYS as u32).map(|index| v4(address(index))) {
        let outcome = counters.decide(NOW, client, &[charge(PLENTY)], false);
        assert!(matches!(outcome, Outcome::Admitted { .. }));
    }
}

fn in_two(work: impl Fn(usize) + Sync) {
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (barrier, work) = (&barrier, &work);
            scope.spawn(move || {
                barrier.wait();
                work(thread);
            });
        }
    });
}

/// A limiter over one table whose reads have the highest limit there is.
fn limiter() -> Limiter {
    let known = Known {
        tables: vec![KnownTable {
            name: "items".to_owned(),
            accounts: Accounts::None,
            custom: CustomNames::Registered(Vec::new()),
        }],
    };
    let limit = Limit {
        windows: vec![charge(PLENTY).policy],
        mode: Mode::Enforce,
        origin: Origin::Default,
    };
    let limits = TableLimits {
        table: "items".to_owned(),
        origin: Origin::Default,
        operations: [(Operation::Get, limit)].into(),
        custom: Default::default(),
        mode: Mode::Enforce,
    };
    let counters = Arc::new(Counters::new(1_000_000));
    let registrations = vec![Registration::stated(Kind::Table, limits)];
    Limiter::new(counters, known, registrations, Vec::new())
        .expect("a valid configuration")
        .0
}

fn check(limiter: &Limiter, order: &[u32]) -> f64 {
    let bucket = Bucket::Table(limiter.table("items").expect("the table"));
    let ask = Ask::new(bucket, &[Operation::Get]);
    best(|| {
        for &index in order {
            let verdict = limiter.check_now(NOW, v4(address(index)), &ask);
            assert!(matches!(black_box(verdict), Some(Verdict::Admitted(_))));
        }
    })
}

fn quota() -> Quota {
    Quota::per_second(NonZeroU32::MAX)
}
