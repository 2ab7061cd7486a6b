//! Nanoseconds a decision: one hot counter, 100,000 counters, two threads; ours and governor's.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroU32;
use std::process::ExitCode;
use std::sync::{Arc, Barrier};
use std::time::Instant;

use governor::clock::FakeRelativeClock;
use governor::{Quota, RateLimiter};
use serde_json::{Value, json};
use zonai_clock::Clock;
use zonai_limit::{
    Ask, Bucket, Client, Counters, CustomNames, Kind, Known, KnownTable, Limit, Limiter, Mode, Operation, Origin,
    Outcome, Registration, TableLimits, Verdict,
};

use crate::workload::{NOW, addresses, charge, order, v4};

const KEYS: usize = 100_000;
const DECISIONS: usize = 4_000_000;
const ROUNDS: usize = 7;
/// So high that nothing is refused.
const PLENTY: u32 = u32::MAX;

/// The best of some rounds, in ns per step, rounded to a tenth.
fn best(mut round: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        round();
        best = best.min(start.elapsed().as_nanos() as f64 / DECISIONS as f64);
    }
    (best * 10.0).round() / 10.0
}

struct Workload {
    clients: Vec<Client>,
    ips: Vec<IpAddr>,
    order: Vec<u32>,
}

impl Workload {
    fn new() -> Self {
        let addresses = addresses(KEYS);
        Self {
            clients: addresses.iter().map(|&address| v4(address)).collect(),
            ips: addresses.iter().map(|&address| Ipv4Addr::from_bits(address).into()).collect(),
            order: order(KEYS, DECISIONS),
        }
    }
}

pub fn measure() -> Value {
    let work = Workload::new();
    let counters = Counters::new(1_000_000);
    let zonai_hot = hot(&counters, &work, PLENTY);
    let zonai_100k = many(&counters, &work, PLENTY);
    let zonai_refusing = many(&counters, &work, 1);
    let two_threads = two_threads(&counters, &work);
    let limiter = limiter();
    let zonai_check_hot = check(&limiter, &work.clients[..1], &work.order);
    let zonai_check = check(&limiter, &work.clients, &work.order);
    let (governor_hot, governor_100k, governor_two) = governor(&work);
    let governor_still = governor_without_clock(&work);
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
        "zonai_limiter_check_hot_ns": zonai_check_hot,
        "zonai_limiter_check_100k_ns": zonai_check,
        "zonai_clock_read_ns": clock_ns,
        "governor_hot_ns": governor_hot,
        "governor_100k_ns": governor_100k,
        "governor_two_threads_ns": governor_two,
        "governor_100k_clock_aside_ns": governor_still,
        "ratio_to_governor_hot": ratio(zonai_hot, governor_hot),
        "ratio_to_governor_100k": ratio(zonai_100k, governor_100k),
        "ratio_to_governor_100k_clock_aside": ratio(zonai_100k, governor_still),
        "ratio_to_governor_100k_both_with_clock": ratio(zonai_100k + clock_ns, governor_100k),
    })
}

fn hot(counters: &Counters, work: &Workload, max: u32) -> f64 {
    let charges = [charge(max)];
    let client = work.clients[0];
    best(|| {
        for _ in 0..DECISIONS {
            black_box(counters.decide(NOW, black_box(client), &charges, false));
        }
    })
}

fn many(counters: &Counters, work: &Workload, max: u32) -> f64 {
    let charges = [charge(max)];
    fill(counters, work);
    best(|| {
        for &index in &work.order {
            black_box(counters.decide(NOW, work.clients[index as usize], &charges, false));
        }
    })
}

fn fill(counters: &Counters, work: &Workload) {
    for &client in &work.clients {
        let outcome = counters.decide(NOW, client, &[charge(PLENTY)], false);
        assert!(matches!(outcome, Outcome::Admitted { .. }));
    }
}

/// Wall time over all decisions of both threads.
fn two_threads(counters: &Counters, work: &Workload) -> f64 {
    let charges = [charge(PLENTY)];
    let half = work.order.len() / 2;
    best(|| in_two(|thread| {
        for &index in &work.order[thread * half..(thread + 1) * half] {
            black_box(counters.decide(NOW, work.clients[index as usize], &charges, false));
        }
    }))
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
            auth: false,
            custom: CustomNames::Registered(Vec::new()),
        }],
    };
    let limit = Limit { windows: vec![charge(PLENTY).policy], mode: Mode::Enforce, origin: Origin::Default };
    let limits = TableLimits {
        table: "items".to_owned(),
        origin: Origin::Default,
        operations: [(Operation::Get, limit)].into(),
        custom: Default::default(),
        mode: Mode::Enforce,
    };
    let counters = Arc::new(Counters::new(1_000_000));
    let registrations = vec![Registration::stated(Kind::Table, limits)];
    Limiter::new(counters, known, registrations, Vec::new()).expect("a valid configuration").0
}

fn check(limiter: &Limiter, clients: &[Client], order: &[u32]) -> f64 {
    let bucket = Bucket::Table(limiter.table("items").expect("the table"));
    let ask = Ask::new(bucket, &[Operation::Get]);
    best(|| {
        for &index in order {
            let client = clients[index as usize % clients.len()];
            let verdict = limiter.check_now(NOW, client, &ask);
            assert!(matches!(black_box(verdict), Some(Verdict::Admitted(_))));
        }
    })
}

fn quota() -> Quota {
    Quota::per_second(NonZeroU32::MAX)
}

/// As shipped: it reads its own clock.
fn governor(work: &Workload) -> (f64, f64, f64) {
    let limiter = RateLimiter::keyed(quota());
    let hot = best(|| {
        for _ in 0..DECISIONS {
            let _ = black_box(limiter.check_key(black_box(&work.ips[0])));
        }
    });
    let many = best(|| {
        for &index in &work.order {
            let _ = black_box(limiter.check_key(&work.ips[index as usize]));
        }
    });
    let half = work.order.len() / 2;
    let two = best(|| in_two(|thread| {
        for &index in &work.order[thread * half..(thread + 1) * half] {
            let _ = black_box(limiter.check_key(&work.ips[index as usize]));
        }
    }));
    (hot, many, two)
}

fn governor_without_clock(work: &Workload) -> f64 {
    let limiter = RateLimiter::dashmap_with_clock(quota(), FakeRelativeClock::default());
    best(|| {
        for &index in &work.order {
            let _ = black_box(limiter.check_key(&work.ips[index as usize]));
        }
    })
}

/// Some decisions and nothing else.
pub fn once(decisions: usize) -> ExitCode {
    let counters = Counters::new(1_000);
    let charges = [charge(PLENTY)];
    let clients: Vec<Client> = addresses(64).into_iter().map(v4).collect();
    for decision in 0..decisions {
        black_box(counters.decide(NOW, clients[decision % clients.len()], &charges, false));
    }
    ExitCode::SUCCESS
}
