//! Exact under threads (promise 2.3), whatever else goes on.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use zonai_limit::{Charge, Client, Counters, Moment};

use crate::common::{START, admits, charge, v4};

/// How many are admitted when `threads` ask until one is refused to each.
fn race(counters: &Counters, threads: u32, client: Client, now: Moment, charges: &[Charge]) -> u32 {
    let admitted = AtomicU32::new(0);
    let barrier = Barrier::new(threads as usize);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                barrier.wait();
                while admits(counters.decide(now, client, charges, false)) {
                    admitted.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    admitted.into_inner()
}

#[test]
fn s2_3_of_simultaneous_requests_exactly_the_limit_is_admitted() {
    let counters = Counters::new(10_000);
    let one = [charge(0, 100, 60_000)];
    let two = [charge(1, 100, 60_000), charge(2, 150, 60_000)];
    for threads in 2..=16 {
        for round in 0..4 {
            let client = v4(threads * 100 + round);
            assert_eq!(
                race(&counters, threads, client, START, &one),
                100,
                "{threads} threads, round {round}"
            );
            assert_eq!(
                race(&counters, threads, client, START, &two),
                100,
                "{threads} threads, round {round}"
            );
            // The next window, which all threads try to open at once.
            let next = START.plus(60_000);
            assert_eq!(
                race(&counters, threads, client, next, &one),
                100,
                "{threads} threads, round {round}"
            );
        }
    }
}

/// The same past the cap, where clients of one network share a counter.
#[test]
fn s2_3_a_shared_counter_is_exact_too() {
    let counters = Counters::new(0);
    let charges = [charge(0, 2, 60_000)];
    assert_eq!(race(&counters, 8, v4(1), START, &charges), 2 * 8 * 8 * 8);
}

/// Ends the loop beside it, also when the test fails.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn reclaiming_and_storing_beside_it_change_nothing() {
    let counters = Counters::new(1_000);
    let charges = [charge(0, 100, 1_000)];
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut taken = Vec::new();
            while !done.load(Ordering::Relaxed) {
                counters.reclaim(START, 500);
                taken.clear();
                counters.take_changed(50, &mut taken);
                counters.for_each(&mut |key, _| counters.mark_changed(key));
            }
        });
        let _ends = SetOnDrop(&done);
        for client in 0..100 {
            assert_eq!(race(&counters, 2, v4(client << 8), START, &charges), 100);
        }
    });
    assert_eq!(counters.len(), 100);
}
