//! Whether a refusal is repeated: a look that counts nothing and never says more than a decision would.

use proptest::prelude::*;
use zonai_limit::{Ask, Client, Mode, Operation, RateLimitPolicy, Refusal, Verdict};

use crate::common::{
    START, admitted, bucket, limiter, of_get, of_table, policy, refusal, run, stated, v4,
};

#[test]
fn a_refusal_is_repeated_until_its_window_closes() {
    let limiter = limiter(of_get(&[policy(3, 60_000)]));
    let ask = Ask::new(bucket(&limiter, "items"), &[Operation::Get]);
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 5), 3);
    let refused = refusal(run(limiter.check(START, v4(1), &ask)));
    for later in [0, 1, 59_999] {
        assert!(limiter.refuses_again(START.plus(later), v4(1), &ask, &refused));
    }
    assert!(!limiter.refuses_again(START.plus(60_000), v4(1), &ask, &refused));
    assert!(!limiter.refuses_again(START, v4(2), &ask, &refused));
    let exempt = Ask {
        exempt: true,
        ..ask
    };
    assert!(!limiter.refuses_again(START, v4(1), &exempt, &refused));
}

#[test]
fn looking_counts_nothing() {
    let limiter = limiter(of_get(&[policy(3, 60_000)]));
    let ask = Ask::new(bucket(&limiter, "items"), &[Operation::Get]);
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 4), 3);
    let refused = refusal(run(limiter.check(START, v4(1), &ask)));
    let closed = START.plus(60_000);
    for _ in 0..10 {
        assert!(!limiter.refuses_again(closed, v4(1), &ask, &refused));
        assert!(!limiter.refuses_again(closed, v4(2), &ask, &refused));
    }
    assert_eq!(admitted(&limiter, closed, v4(1), &ask, 5), 3);
    assert_eq!(admitted(&limiter, closed, v4(2), &ask, 5), 3);
}

#[test]
fn another_policy_is_another_refusal() {
    let limiter = limiter(of_get(&[policy(3, 60_000)]));
    let ask = Ask::new(bucket(&limiter, "items"), &[Operation::Get]);
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 4), 3);
    let refused = refusal(run(limiter.check(START, v4(1), &ask)));
    for (max, window_ms, again) in [
        (2, 60_000, false),
        (3, 90_000, false),
        (4, 60_000, false),
        (3, 60_000, true),
    ] {
        limiter
            .replace(START, of_get(&[policy(max, window_ms)]), Vec::new())
            .unwrap();
        assert_eq!(
            limiter.refuses_again(START, v4(1), &ask, &refused),
            again,
            "{max} in {window_ms}"
        );
    }
    let mut observed = stated("items", &[(Operation::Get, &[policy(3, 60_000)])]);
    for limit in observed.operations.values_mut() {
        limit.mode = Mode::Observe;
    }
    limiter
        .replace(START, vec![of_table(observed)], Vec::new())
        .unwrap();
    assert!(!limiter.refuses_again(START, v4(1), &ask, &refused));
}

#[test]
fn of_several_windows_the_one_that_refuses_is_meant() {
    let limiter = limiter(of_get(&[policy(2, 1_000), policy(9, 60_000)]));
    let ask = Ask::new(bucket(&limiter, "items"), &[Operation::Get]);
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 3), 2);
    let refused = refusal(run(limiter.check(START, v4(1), &ask)));
    assert_eq!(refused.policy, policy(2, 1_000));
    assert!(limiter.refuses_again(START.plus(999), v4(1), &ask, &refused));
    assert!(!limiter.refuses_again(START.plus(1_000), v4(1), &ask, &refused));
}

#[test]
fn a_window_of_nothing_is_opened_by_a_decision() {
    let limiter = limiter(of_get(&[policy(0, 7_000)]));
    let ask = Ask::new(bucket(&limiter, "items"), &[Operation::Get]);
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 1), 0);
    let both = of_get(&[policy(0, 3_000), policy(0, 7_000)]);
    limiter.replace(START, both, Vec::new()).unwrap();
    let refused = refusal(run(limiter.check(START, v4(1), &ask)));
    assert_eq!(refused.policy, policy(0, 7_000));
    assert!(limiter.refuses_again(START.plus(2_999), v4(1), &ask, &refused));
    // The short window has closed: opened anew at this moment it would close with the long one, and be named first.
    let later = START.plus(4_000);
    assert!(!limiter.refuses_again(later, v4(1), &ask, &refused));
    assert_ne!(refusal(run(limiter.check(later, v4(1), &ask))), refused);
}

#[derive(Clone, Debug)]
enum Step {
    Ask(u32),
    Wait(u64),
    Replace(Vec<(u32, u64)>),
}

fn windows() -> impl Strategy<Value = Vec<(u32, u64)>> {
    let window = (
        0_u32..4,
        prop_oneof![Just(1_000_u64), Just(3_000), Just(7_000)],
    );
    proptest::collection::vec(window, 1..3).prop_filter("two windows of one length", |windows| {
        windows.len() < 2 || windows[0].1 != windows[1].1
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (0_u32..3).prop_map(Step::Ask),
        2 => (0_u64..4_000).prop_map(Step::Wait),
        1 => windows().prop_map(Step::Replace),
    ];
    proptest::collection::vec(step, 1..80)
}

fn policies(windows: &[(u32, u64)]) -> Vec<RateLimitPolicy> {
    let policies = windows.iter();
    policies.map(|&(max, window)| policy(max, window)).collect()
}

proptest! {
    /// A look that says yes is right at any moment; and where there is one window, and it stays, it says yes
    /// wherever it may.
    #[test]
    fn a_look_says_what_a_decision_does(first in windows(), steps in steps()) {
        let limiter = limiter(of_get(&policies(&first)));
        let ask = Ask::new(bucket(&limiter, "items"), &[Operation::Get]);
        let mut now = START;
        let mut last: Vec<Option<Refusal>> = vec![None; 3];
        let mut is_simple = first.len() == 1;
        for step in steps {
            match step {
                Step::Wait(ms) => now = now.plus(ms),
                Step::Replace(windows) => {
                    is_simple = false;
                    limiter.replace(now, of_get(&policies(&windows)), Vec::new()).unwrap();
                }
                Step::Ask(number) => {
                    let client: Client = v4(number);
                    let known = last[number as usize].take();
                    let looked = known
                        .as_ref()
                        .map(|refused| limiter.refuses_again(now, client, &ask, refused));
                    let refused = match run(limiter.check(now, client, &ask)) {
                        Verdict::Refused(refused) => Some(refused),
                        _ => None,
                    };
                    if let Some(looked) = looked && (looked || is_simple) {
                        prop_assert_eq!(looked, refused == known, "{:?} then {:?}", known, refused);
                    }
                    last[number as usize] = refused;
                }
            }
        }
    }
}
