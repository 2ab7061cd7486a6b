//! Whether exactly the limit is admitted when threads race: ours, limitador's, governor's.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, Ordering};

use governor::clock::FakeRelativeClock;
use governor::{Quota, RateLimiter};
use serde_json::{Value, json};
use zonai_limit::{Counters, Outcome};

use crate::workload::{NOW, charge, v4};

const ROUNDS: u32 = 300;
const LIMIT: u32 = 100;
const THREADS: [u32; 4] = [2, 4, 8, 16];
const TRIES: u32 = 200;

pub fn measure() -> Value {
    let counters = Counters::new(100_000);
    let ours = rounds(|round| {
        matches!(
            counters.decide(NOW, v4(round), &[charge(LIMIT)], false),
            Outcome::Admitted { .. }
        )
    });
    let quota = Quota::per_hour(NonZeroU32::new(LIMIT).expect("not 0"));
    let governor = RateLimiter::dashmap_with_clock(quota, FakeRelativeClock::default());
    let governors = rounds(|round| governor.check_key(&round).is_ok());
    let limitador = limitador::RateLimiter::new(100_000);
    let variable = "client".try_into().expect("a variable");
    limitador.add_limit(limitador::limit::Limit::new(
        "all",
        u64::from(LIMIT),
        3_600,
        vec![],
        vec![variable],
    ));
    let namespace = "all".into();
    let limitadors = rounds(|round| {
        let context = HashMap::from([("client".to_owned(), round.to_string())]).into();
        !limitador
            .check_rate_limited_and_update(&namespace, &context, 1)
            .expect("decided")
            .limited
    });
    json!({
        "rounds": ROUNDS * THREADS.len() as u32,
        "limit": LIMIT,
        "zonai_wrong": ours.wrong,
        "zonai_most": ours.most,
        "governor_wrong": governors.wrong,
        "governor_most": governors.most,
        "limitador_wrong": limitadors.wrong,
        "limitador_most": limitadors.most,
    })
}

#[derive(Default)]
struct Found {
    /// Rounds in which not exactly the limit was admitted.
    wrong: u32,
    most: u32,
}

fn rounds(admit: impl Fn(u32) -> bool + Sync) -> Found {
    let mut found = Found::default();
    for threads in THREADS {
        let admitted: Vec<AtomicU32> = (0..ROUNDS).map(|_| AtomicU32::new(0)).collect();
        let barrier = Barrier::new(threads as usize);
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    for (round, admitted) in admitted.iter().enumerate() {
                        barrier.wait();
                        let client = threads * 10_000 + round as u32;
                        let count = (0..TRIES).filter(|_| admit(client)).count();
                        admitted.fetch_add(count as u32, Ordering::Relaxed);
                    }
                });
            }
        });
        for admitted in admitted {
            let admitted = admitted.into_inner();
            found.wrong += u32::from(admitted != LIMIT);
            found.most = found.most.max(admitted);
        }
    }
    found
}
