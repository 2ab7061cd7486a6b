//! The counters under a model checker: every interleaving it tries must be exact.
//!
//! `cargo test -p zonai-limit --features shuttle --test shuttle`
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

use std::time::Duration;

use shuttle::sync::Arc;
use shuttle::thread;
use zonai_limit::{Charge, Client, CounterKey, Counters, Moment, Outcome, RateLimitPolicy, Slot};

const START: Moment = Moment::from_millis(1_000_000);
const CLIENT: Client = Client::Local;

fn charge(slot: u32, max: u32) -> Charge {
    let policy = RateLimitPolicy::new(max, Duration::from_secs(60)).unwrap();
    Charge {
        slot: Slot::new(slot).unwrap(),
        policy,
        observe: false,
    }
}

/// Runs `each` in three threads and returns the sum.
fn race(counters: &Arc<Counters>, each: fn(&Counters, u32) -> u32) -> u32 {
    let threads: Vec<_> = (0..3)
        .map(|number| {
            let counters = Arc::clone(counters);
            thread::spawn(move || each(&counters, number))
        })
        .collect();
    threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .sum()
}

fn tries(counters: &Counters, now: Moment, charges: &[Charge]) -> u32 {
    (0..2)
        .filter(|_| {
            matches!(
                counters.decide(now, CLIENT, charges, false),
                Outcome::Admitted { .. }
            )
        })
        .count() as u32
}

fn check(body: impl Fn() + Send + Sync + 'static) {
    shuttle::check_random(body, 300);
}

#[test]
fn the_first_requests_of_a_client_are_counted_exactly() {
    check(|| {
        let counters = Arc::new(Counters::new(100));
        assert_eq!(
            race(&counters, |counters, _| tries(
                counters,
                START,
                &[charge(0, 4)]
            )),
            4
        );
    });
}

#[test]
fn several_counters_are_counted_together() {
    check(|| {
        let counters = Arc::new(Counters::new(100));
        let admitted = race(&counters, |counters, number| {
            let charges = [charge(0, 3), charge(1, 4)];
            if number == 0 {
                tries(counters, START, &charges[1..])
            } else {
                tries(counters, START, &charges)
            }
        });
        let count = |slot| {
            let key = CounterKey {
                client: CLIENT,
                slot: Slot::new(slot).unwrap(),
                account: 0,
            };
            counters.get(key).map_or(0, |state| state.count)
        };
        assert_eq!(count(1), admitted);
        assert_eq!(admitted, 4);
        assert!(count(0) <= 3);
    });
}

#[test]
fn a_window_that_all_open_at_once_is_one_window() {
    check(|| {
        let counters = Arc::new(Counters::new(100));
        assert_eq!(tries(&counters, START, &[charge(0, 1)]), 1);
        let admitted = race(&counters, |counters, number| {
            tries(
                counters,
                START.plus(60_000 + u64::from(number)),
                &[charge(0, 3)],
            )
        });
        assert_eq!(admitted, 3);
    });
}

#[test]
fn past_the_cap_and_beside_the_reclaiming_it_stays_exact() {
    check(|| {
        let counters = Arc::new(Counters::new(0));
        let admitted = race(&counters, |counters, number| {
            if number == 0 {
                counters.reclaim(START, 10);
                return 0;
            }
            (0..6)
                .map(|_| tries(counters, START, &[charge(0, 1)]))
                .sum()
        });
        assert_eq!(admitted, 8, "everyone has 8 times the limit");
    });
}

#[test]
fn no_change_is_lost_to_the_store() {
    check(|| {
        let counters = Arc::new(Counters::new(100));
        let stored = race(&counters, |counters, number| {
            let mut taken = Vec::new();
            if number == 0 {
                counters.take_changed(10, &mut taken);
            } else {
                tries(counters, START, &[charge(0, 100)]);
            }
            // A counter that changed while it was taken may be taken again; the later state counts.
            taken.last().map_or(0, |(_, state)| state.count)
        });
        let mut rest = Vec::new();
        counters.take_changed(10, &mut rest);
        let last = rest.last().map_or(stored, |(_, state)| state.count);
        assert_eq!(last, 4, "{stored} {rest:?}");
    });
}
