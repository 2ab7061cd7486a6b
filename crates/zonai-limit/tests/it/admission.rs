//! All of a request's counters or none (promise 2.4), and what a refusal says.

use zonai_limit::{Ask, Bucket, CounterKey, Counters, Operation, Outcome, Shared, Verdict};

use crate::common::{
    START, admits, admitted, bucket, charge, limit, limiter, limiter_with, of_auth, of_table,
    policy, refusal, run, stated, v4,
};

fn count(counters: &Counters, charge: &zonai_limit::Charge) -> u32 {
    let key = CounterKey {
        client: v4(1),
        slot: charge.slot,
        account: 0,
    };
    counters.get(key).map_or(0, |state| state.count)
}

#[test]
fn s2_4_costs_one_in_each_counter_or_in_none() {
    let counters = Counters::new(100);
    let charges = [charge(0, 3, 1_000), charge(1, 5, 1_000)];
    for _ in 0..3 {
        assert!(admits(counters.decide(START, v4(1), &charges, false)));
    }
    for _ in 0..10 {
        assert!(!admits(counters.decide(START, v4(1), &charges, false)));
    }
    assert_eq!(
        (count(&counters, &charges[0]), count(&counters, &charges[1])),
        (3, 3)
    );
    assert!(admits(counters.decide(START, v4(1), &charges[1..], false)));
    assert!(admits(counters.decide(START, v4(1), &charges[1..], false)));
    assert!(!admits(counters.decide(START, v4(1), &charges[1..], false)));
}

#[test]
fn s2_4_a_refused_request_leaves_no_new_counter_behind() {
    let counters = Counters::new(100);
    let full = charge(0, 1, 1_000);
    assert!(admits(counters.decide(START, v4(1), &[full], false)));
    assert!(!admits(counters.decide(
        START,
        v4(1),
        &[charge(1, 5, 1_000), full],
        false
    )));
    assert_eq!(counters.len(), 1);
}

#[test]
fn s2_4_names_the_counter_whose_reset_is_latest() {
    let counters = Counters::new(100);
    let (short, long) = (charge(0, 1, 1_000), charge(1, 1, 60_000));
    assert!(admits(counters.decide(START, v4(1), &[short, long], false)));
    let Outcome::Refused(hit) = counters.decide(START.plus(1), v4(1), &[short, long], false) else {
        panic!()
    };
    assert_eq!((hit.charge, hit.reset), (1, START.plus(60_000)));
}

#[test]
fn s2_4_names_the_narrower_operation_at_a_tie() {
    let one = [policy(1, 60_000)];
    let auth = stated(
        "users",
        &[(Operation::SignIn, &one), (Operation::Authenticate, &one)],
    );
    let limiter = limiter(vec![of_auth(auth)]);
    for operations in [
        [Operation::SignIn, Operation::Authenticate],
        [Operation::Authenticate, Operation::SignIn],
    ] {
        let ask = Ask::new(bucket(&limiter, "users"), &operations);
        let client = v4(u32::from(operations[0] == Operation::SignIn));
        assert_eq!(admitted(&limiter, START, client, &ask, 1), 1);
        assert_eq!(
            refusal(run(limiter.check(START, client, &ask))).operation,
            Operation::SignIn
        );
    }
}

#[test]
fn several_windows_of_one_operation_must_all_admit() {
    let windows = [policy(2, 1_000), policy(3, 60_000)];
    let limiter = limiter(vec![of_table(stated(
        "items",
        &[(Operation::Create, &windows)],
    ))]);
    let ask = Ask::new(bucket(&limiter, "items"), &[Operation::Create]);
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 5), 2);
    assert_eq!(admitted(&limiter, START.plus(1_000), v4(1), &ask, 5), 1);
    let refusal = refusal(run(limiter.check(START.plus(1_000), v4(1), &ask)));
    assert_eq!(
        (refusal.policy, refusal.reset),
        (windows[1], START.plus(60_000))
    );
}

#[test]
fn a_refusal_says_all_that_the_429_needs() {
    let limiter = limiter(Vec::new());
    let ask = Ask::new(bucket(&limiter, "items"), &[Operation::Create]);
    assert_eq!(
        admitted(&limiter, START, v4(1), &ask, 200),
        100,
        "promise 1.3: 100 a minute without configuration"
    );
    let refusal = refusal(run(limiter.check(START.plus(18_500), v4(1), &ask)));
    assert_eq!(&*refusal.collection, "items");
    assert_eq!(refusal.operation.name(), "create");
    assert_eq!(refusal.custom, None);
    assert_eq!(refusal.policy.max_requests(), 100);
    assert_eq!(refusal.retry_after_s(START.plus(18_500)), 42);
}

#[test]
fn s1_1_tables_and_operations_and_clients_have_counters_of_their_own() {
    let limiter = limiter(Vec::new());
    for table in ["items", "notes"] {
        for operation in [Operation::Get, Operation::List, Operation::Create] {
            for client in 0..3 {
                let operations = [operation];
                let ask = Ask::new(bucket(&limiter, table), &operations);
                assert_eq!(admitted(&limiter, START, v4(client), &ask, 101), 100);
            }
        }
    }
}

#[test]
fn s5_7_exempt_is_never_refused_and_still_counted_but_not_for_admins() {
    let limiter = limiter(Vec::new());
    let ask = Ask {
        exempt: true,
        ..Ask::new(bucket(&limiter, "items"), &[Operation::Get])
    };
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 150), 150);
    let Verdict::Admitted(last) = run(limiter.check(START, v4(1), &ask)) else {
        panic!()
    };
    assert_eq!(last.would_refuse().unwrap().policy.max_requests(), 100);
    let peeked = run(limiter.peek(START, v4(1), &ask));
    assert_eq!((peeked[0].count, peeked[0].full), (151, true));
    let shared = Bucket::Shared(Shared::AdminAuth);
    let admin = Ask {
        exempt: true,
        ..Ask::new(shared, &[Operation::AdminAuthenticate])
    };
    assert_eq!(admitted(&limiter, START, v4(1), &admin, 20), 10);
}

#[test]
fn observe_counts_and_reports_and_refuses_nothing() {
    let mut limits = stated("items", &[(Operation::Get, &[policy(2, 1_000)])]);
    limits.operations.get_mut(&Operation::Get).unwrap().mode = zonai_limit::Mode::Observe;
    limits.mode = zonai_limit::Mode::Observe;
    let limiter = limiter(vec![of_table(limits)]);
    let items = bucket(&limiter, "items");
    assert_eq!(
        admitted(
            &limiter,
            START,
            v4(1),
            &Ask::new(items, &[Operation::Get]),
            5
        ),
        5
    );
    assert_eq!(
        admitted(
            &limiter,
            START,
            v4(1),
            &Ask::new(items, &[Operation::List]),
            150
        ),
        150
    );
    assert_eq!(
        run(limiter.peek(START, v4(1), &Ask::new(items, &[Operation::Get])))[0].count,
        5
    );
}

#[test]
fn an_operation_that_the_bucket_does_not_have_is_counted_with_the_unknown() {
    let limiter = limiter_with(
        Vec::new(),
        vec![(Operation::Unknown, limit(&[policy(3, 1_000)]))],
    );
    let ask = Ask::new(bucket(&limiter, "items"), &[Operation::Admin]);
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 10), 3);
    let refusal = refusal(run(limiter.check(START, v4(1), &ask)));
    assert_eq!(
        (&*refusal.collection, refusal.operation.name()),
        ("__unknown__", "unknown")
    );
}

#[test]
fn durable_operations_tell_which_counters_to_commit() {
    let limiter = limiter(Vec::new());
    let ask = Ask::new(
        bucket(&limiter, "users"),
        &[Operation::SignUp, Operation::SignIn],
    );
    let Verdict::Admitted(admitted) = run(limiter.check(START, v4(1), &ask)) else {
        panic!()
    };
    let names: Vec<_> = admitted
        .durable()
        .iter()
        .map(|key| limiter.slot_name(key.slot).unwrap().operation.name())
        .collect();
    assert_eq!(names, ["signUp", "signIn"]);
    let ask = Ask::new(bucket(&limiter, "users"), &[Operation::Get]);
    let Verdict::Admitted(admitted) = run(limiter.check(START, v4(1), &ask)) else {
        panic!()
    };
    assert!(admitted.durable().is_empty());
}
