//! Failed sign-ins (promise 3.5).

use std::sync::Arc;

use zonai_limit::{
    Admitted, Ask, Bucket, Client, Counters, Limiter, Mode, Moment, NotTaken, Operation, Place,
    TableId, Verdict,
};

use crate::common::{START, client, known, limiter, of_auth, policy, run, stated, v4};

fn take(limiter: &Limiter, client: Client, account: u64) -> Result<Place, NotTaken> {
    run(limiter.take_failed_sign_in(START, client, users(limiter), account))
}

fn users(limiter: &Limiter) -> TableId {
    limiter.table("users").unwrap()
}

fn failures(limiter: &Limiter, client: Client, account: u64, tries: u32) -> u32 {
    (0..tries)
        .filter(|_| take(limiter, client, account).is_ok())
        .count() as u32
}

#[test]
fn s3_5_ten_failures_in_a_quarter_of_an_hour_per_client_and_account() {
    let limiter = limiter(Vec::new());
    assert_eq!(failures(&limiter, v4(1), 7, 20), 10);
    assert_eq!(failures(&limiter, v4(1), 8, 20), 10, "another account");
    assert_eq!(
        failures(&limiter, v4(2), 7, 20),
        10,
        "the owner elsewhere is not locked out"
    );
    let Err(NotTaken::Refused(refusal)) = take(&limiter, v4(1), 7) else {
        panic!()
    };
    assert_eq!(
        (&*refusal.collection, refusal.operation),
        ("users", Operation::FailedSignIn)
    );
    assert_eq!(refusal.reset, START.plus(15 * 60_000));
}

#[test]
fn s3_5_a_success_gives_its_place_back_and_an_office_is_not_counted() {
    let limiter = limiter(Vec::new());
    for _ in 0..1_000 {
        take(&limiter, v4(1), 7).unwrap().give_back();
    }
    assert_eq!(failures(&limiter, v4(1), 7, 9), 9);
    take(&limiter, v4(1), 7).unwrap().give_back();
    assert_eq!(failures(&limiter, v4(1), 7, 9), 1);
}

#[test]
fn s3_5_a_place_of_an_earlier_window_is_not_given_back_to_a_later_one() {
    let limiter = limiter(Vec::new());
    let early = take(&limiter, v4(1), 7).unwrap();
    let later = START.plus(15 * 60_000);
    let table = users(&limiter);
    for _ in 0..10 {
        assert!(run(limiter.take_failed_sign_in(later, v4(1), table, 7)).is_ok());
    }
    early.give_back();
    assert!(run(limiter.take_failed_sign_in(later, v4(1), table, 7)).is_err());
}

#[test]
fn s3_5_the_place_is_known_to_the_store_before_the_hash() {
    let limiter = limiter(Vec::new());
    let place = take(&limiter, v4(1), 0xbeef).unwrap();
    let [key] = place.durable() else {
        panic!("{place:?}")
    };
    assert_eq!((key.client, key.account), (v4(1), 0xbeef));
    assert_eq!(limiter.counters().take(*key).unwrap().count, 1);
    let key = *key;
    place.give_back();
    assert_eq!(limiter.counters().changed(), 1, "and so is its return");
    assert_eq!(limiter.counters().take(key).unwrap().count, 0);
}

/// A sign-up through `POST /auth` at `now`: three counters.
fn admit(limiter: &Limiter, now: Moment) -> Admitted {
    let operations = [
        Operation::SignUp,
        Operation::SignIn,
        Operation::Authenticate,
    ];
    let ask = Ask::new(Bucket::Table(users(limiter)), &operations);
    match run(limiter.check(now, v4(1), &ask)) {
        Verdict::Admitted(admitted) => admitted,
        other => panic!("not admitted: {other:?}"),
    }
}

#[test]
fn s2_2_what_has_no_place_among_the_failed_is_taken_back_from_every_counter() {
    let limiter = limiter(Vec::new());
    let first = admit(&limiter, START);
    let refused = admit(&limiter, START.plus(7));
    assert_eq!(first.durable().len(), 3);
    limiter.counters().take_changed(10, &mut Vec::new());
    limiter.give_back(&refused);
    assert_eq!(limiter.counters().changed(), 3, "the store is told");
    for key in first.durable() {
        let state = limiter.counters().get(*key).unwrap();
        assert_eq!((state.window_start, state.count), (START, 1), "{key:?}");
    }
}

#[test]
fn s2_2_nothing_is_taken_back_from_a_later_window() {
    let limiter = limiter(Vec::new());
    let early = admit(&limiter, START);
    let later = START.plus(60_000);
    let late = admit(&limiter, later);
    limiter.give_back(&early);
    for key in late.durable() {
        let state = limiter.counters().get(*key).unwrap();
        assert_eq!((state.window_start, state.count), (later, 1), "{key:?}");
    }
}

#[test]
fn s3_5_observe_does_not_switch_it_off() {
    let mut limits = stated("users", &[(Operation::FailedSignIn, &[policy(3, 60_000)])]);
    limits.mode = Mode::Observe;
    limits
        .operations
        .get_mut(&Operation::FailedSignIn)
        .unwrap()
        .mode = Mode::Observe;
    let limiter = limiter(vec![of_auth(limits)]);
    assert_eq!(failures(&limiter, v4(1), 7, 20), 3);
}

#[test]
fn s3_5_past_their_own_cap_they_are_counted_per_client() {
    let counters = Arc::new(Counters::new(10_000).with_account_cap(50));
    let (limiter, _) = Limiter::new(counters, known(), Vec::new(), Vec::new()).unwrap();
    let blocked = client("203.0.113.7");
    assert_eq!(failures(&limiter, blocked, 1, 20), 10);
    assert_eq!(failures(&limiter, v4(1), 99, 1), 1);
    for account in 100..148 {
        assert_eq!(failures(&limiter, v4(1), account, 1), 1);
    }
    let together: u32 = (1_000..1_100)
        .map(|account| failures(&limiter, v4(1), account, 1))
        .sum();
    assert_eq!(together, 10, "new accounts share one counter of the client");
    assert_eq!(failures(&limiter, v4(2), 5, 20), 10, "each client its own");
    assert_eq!(
        failures(&limiter, blocked, 1, 20),
        0,
        "blocked stays blocked"
    );
    assert_eq!(
        failures(&limiter, v4(1), 99, 20),
        9,
        "and what was counted goes on"
    );
    assert_eq!(limiter.counters().len(), 2);
}

#[test]
fn s3_5_places_that_were_given_back_and_stored_leave_room() {
    let counters = Arc::new(Counters::new(10_000).with_account_cap(50));
    let (limiter, _) = Limiter::new(counters, known(), Vec::new(), Vec::new()).unwrap();
    for account in 1..5_000 {
        take(&limiter, v4(1), account).unwrap().give_back();
        limiter.counters().take_changed(10, &mut Vec::new());
    }
    assert_eq!(limiter.counters().crowded(), 0);
}

#[test]
fn s3_5_a_limit_of_0_names_one_reset_however_often_it_refuses() {
    let users = stated("users", &[(Operation::FailedSignIn, &[policy(0, 60_000)])]);
    let limiter = limiter(vec![of_auth(users)]);
    let table = limiter.table("users").unwrap();
    for ms in [0, 100, 40_000] {
        let now = START.plus(ms);
        let taken = run(limiter.take_failed_sign_in(now, v4(1), table, 7));
        let Err(NotTaken::Refused(refusal)) = taken else {
            panic!("{taken:?}")
        };
        assert_eq!(refusal.reset, START.plus(60_000), "after {ms} ms");
        limiter.counters().reclaim(now, 100_000);
    }
}

#[test]
fn s3_5_an_account_hash_of_0_is_an_account_too() {
    let limiter = limiter(Vec::new());
    assert_eq!(failures(&limiter, v4(1), 0, 20), 10);
    assert_eq!(limiter.counters().len(), 0);
}
