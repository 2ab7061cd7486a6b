//! The window, against a reference so plain that it can be believed (section 2 of the promises).

use std::collections::HashMap;

use proptest::prelude::*;
use zonai_limit::{Charge, Client, Counters, Moment, Outcome, Slot};

use crate::common::{START, admits, charge, policy, v4};

/// One map, no shards, no packing: start and count by client and slot.
#[derive(Default)]
struct Reference {
    windows: HashMap<(Client, Slot), (Moment, u32)>,
}

impl Reference {
    /// The latest reset of those that refuse, or `None` where all admit.
    fn decide(
        &mut self,
        now: Moment,
        client: Client,
        charges: &[Charge],
        exempt: bool,
    ) -> Option<(usize, Moment)> {
        let mut refused: Option<(usize, Moment)> = None;
        for (index, charge) in charges.iter().enumerate() {
            let key = (client, charge.slot);
            let window = charge.policy.window_ms();
            let open = self
                .windows
                .get(&key)
                .copied()
                .filter(|(start, _)| now < start.plus(window));
            let (start, count) = open.unwrap_or((now, 0));
            let full = count >= charge.policy.max_requests();
            if full && !exempt && !charge.observe {
                self.windows.insert(key, (start, count));
                let reset = start.plus(window);
                if refused.is_none_or(|(_, latest)| reset > latest) {
                    refused = Some((index, reset));
                }
            }
        }
        if refused.is_some() {
            return refused;
        }
        for charge in charges {
            let window = charge.policy.window_ms();
            let counter = self
                .windows
                .entry((client, charge.slot))
                .or_insert((now, 0));
            if now >= counter.0.plus(window) {
                *counter = (now, 0);
            }
            counter.1 += 1;
        }
        None
    }
}

#[derive(Clone, Debug)]
enum Step {
    Pass {
        ms: u64,
    },
    Decide {
        client: u32,
        slots: Vec<usize>,
        exempt: bool,
    },
    Policy {
        slot: usize,
        max: u32,
        window_ms: u64,
        observe: bool,
    },
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0_u64..400).prop_map(|ms| Step::Pass { ms }),
        6 => (0_u32..3, prop::sample::subsequence(vec![0_usize, 1, 2], 1..=3), prop::bool::weighted(0.1))
            .prop_map(|(client, slots, exempt)| Step::Decide { client, slots, exempt }),
        1 => (0_usize..3, 0_u32..6, 1_u64..900, prop::bool::weighted(0.2))
            .prop_map(|(slot, max, window_ms, observe)| Step::Policy { slot, max, window_ms, observe }),
    ]
}

fn follow(steps: &[Step]) -> Result<(), TestCaseError> {
    let counters = Counters::new(1_000);
    let mut reference = Reference::default();
    let mut charges = [charge(0, 3, 200), charge(1, 4, 500), charge(2, 1, 90)];
    let mut now = START;
    // A counter may be forgotten once its window has closed, also where a longer one comes into force later. Here the
    // longest that comes stands from the start, so that the reference need not guess when that happens.
    for charge in &charges {
        counters.set_window(charge.slot, Some(policy(1, 900).window()));
    }
    for step in steps {
        match step {
            Step::Pass { ms } => now = now.plus(*ms),
            Step::Policy {
                slot,
                max,
                window_ms,
                observe,
            } => {
                charges[*slot].policy = policy(*max, *window_ms);
                charges[*slot].observe = *observe;
            }
            Step::Decide {
                client,
                slots,
                exempt,
            } => {
                let asked: Vec<Charge> = slots.iter().map(|&slot| charges[slot]).collect();
                let expected = reference.decide(now, v4(*client), &asked, *exempt);
                let outcome = counters.decide(now, v4(*client), &asked, *exempt);
                let got = match outcome {
                    Outcome::Admitted { .. } => None,
                    Outcome::Refused(hit) => Some((hit.charge, hit.reset)),
                };
                prop_assert_eq!(got, expected, "at {:?}", now);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decides_as_the_reference_does(steps in prop::collection::vec(step(), 1..200)) {
        follow(&steps)?;
    }

    /// Wait exactly what the refusal said: served. One millisecond less: refused.
    #[test]
    fn a_refusal_names_the_first_moment_that_is_served(
        max in 1_u32..20, window_ms in 1_u64..5_000, gaps in prop::collection::vec(0_u64..400, 1..60),
    ) {
        let counters = Counters::new(100);
        let charges = [charge(0, max, window_ms)];
        let mut now = START;
        for gap in gaps {
            now = now.plus(gap);
            if let Outcome::Refused(hit) = counters.decide(now, v4(1), &charges, false) {
                prop_assert!(hit.reset > now && hit.reset.since(now) <= window_ms);
                prop_assert!(!admits(counters.decide(hit.reset.minus(1), v4(1), &charges, false)));
                prop_assert!(admits(counters.decide(hit.reset, v4(1), &charges, false)));
                now = hit.reset;
            }
        }
    }
}

/// Promise 2.1: fixed, not sliding, not aligned.
#[test]
fn s2_1_the_window_opens_at_the_first_request_and_closes_once() {
    let counters = Counters::new(100);
    let charges = [charge(0, 10, 10_000)];
    for second in 0..10 {
        assert!(admits(counters.decide(
            START.plus(second * 1_000),
            v4(1),
            &charges,
            false
        )));
    }
    assert!(!admits(counters.decide(
        START.plus(9_999),
        v4(1),
        &charges,
        false
    )));
    let reopened = START.plus(10_700);
    assert!(admits(counters.decide(reopened, v4(1), &charges, false)));
    for _ in 0..9 {
        assert!(admits(counters.decide(
            reopened.plus(9_000),
            v4(1),
            &charges,
            false
        )));
    }
    let Outcome::Refused(hit) = counters.decide(reopened.plus(9_999), v4(1), &charges, false)
    else {
        panic!()
    };
    assert_eq!(hit.reset, reopened.plus(10_000));
}

/// Promise 2.2: ten requests at 12:00, then retries until 12:15.
#[test]
fn s2_2_a_refused_request_is_not_counted_and_moves_nothing() {
    let counters = Counters::new(100);
    let window = 15 * 60_000;
    let charges = [charge(0, 10, window)];
    for _ in 0..10 {
        assert!(admits(counters.decide(START, v4(1), &charges, false)));
    }
    for retry in 0..10_000_u64 {
        let now = START.plus(retry * window / 10_000);
        let outcome = counters.decide(now, v4(1), &charges, false);
        let Outcome::Refused(hit) = outcome else {
            panic!("admitted at {now:?}")
        };
        assert_eq!(hit.reset, START.plus(window));
    }
    for _ in 0..10 {
        assert!(admits(counters.decide(
            START.plus(window),
            v4(1),
            &charges,
            false
        )));
    }
    assert!(!admits(counters.decide(
        START.plus(window),
        v4(1),
        &charges,
        false
    )));
}

/// Promise 2.5: a moment from before the window, seen by a slower thread, is inside it.
#[test]
fn s2_5_an_earlier_moment_is_inside_the_window_of_a_later_one() {
    let counters = Counters::new(100);
    let charges = [charge(0, 2, 1_000)];
    assert!(admits(counters.decide(
        START.plus(50),
        v4(1),
        &charges,
        false
    )));
    assert!(admits(counters.decide(START, v4(1), &charges, false)));
    let Outcome::Refused(hit) = counters.decide(START, v4(1), &charges, false) else {
        panic!()
    };
    assert_eq!(hit.reset, START.plus(1_050));
}

/// Promise 3.1: a limit of 0 refuses everything; the first refusal opens a window, so that it has a reset.
#[test]
fn s3_1_a_limit_of_0_refuses_everything_and_has_a_reset() {
    let counters = Counters::new(100);
    let charges = [charge(0, 0, 1_000)];
    for ms in [0, 1, 999] {
        let Outcome::Refused(hit) = counters.decide(START.plus(ms), v4(1), &charges, false) else {
            panic!()
        };
        assert_eq!(hit.reset, START.plus(1_000));
    }
    let Outcome::Refused(hit) = counters.decide(START.plus(1_000), v4(1), &charges, false) else {
        panic!()
    };
    assert_eq!(hit.reset, START.plus(2_000));
    assert_eq!(
        counters.changed(),
        0,
        "promise 7.3: a refusal writes nothing"
    );
}
