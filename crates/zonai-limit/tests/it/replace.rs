//! Changing policies while running (promise 8.2) and the names of slots.

use zonai_limit::{Ask, Operation};

use crate::common::{
    START, admitted, bucket, limiter, of_get, of_table, policy, refusal, run, stated, v4,
};

#[test]
fn s8_2_counts_are_kept_lowered_binds_raised_admits() {
    let limiter = limiter(of_get(&[policy(10, 60_000)]));
    let ask = Ask::new(bucket(&limiter, "items"), &[Operation::Get]);
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 6), 6);
    limiter
        .replace(START, of_get(&[policy(5, 60_000)]), Vec::new())
        .unwrap();
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 6), 0);
    limiter
        .replace(START, of_get(&[policy(8, 60_000)]), Vec::new())
        .unwrap();
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 6), 2);
}

#[test]
fn s8_2_the_reset_is_the_start_plus_the_window_now_in_force() {
    let limiter = limiter(of_get(&[policy(3, 60_000)]));
    let ask = Ask::new(bucket(&limiter, "items"), &[Operation::Get]);
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 5), 3);
    let changes = limiter
        .replace(START, of_get(&[policy(3, 90_000)]), Vec::new())
        .unwrap();
    assert_eq!(
        refusal(run(limiter.check(START.plus(70_000), v4(1), &ask))).reset,
        START.plus(90_000)
    );
    let [(slot, from, to)] = changes.renamed.as_slice() else {
        panic!("{changes:?}")
    };
    assert_eq!((from.window_ms, to.window_ms), (60_000, 90_000));
    assert_eq!(limiter.slot_name(*slot).unwrap(), *to);
    limiter
        .replace(START, of_get(&[policy(3, 10_000)]), Vec::new())
        .unwrap();
    assert_eq!(admitted(&limiter, START.plus(10_000), v4(1), &ask, 1), 1);
}

#[test]
fn s8_2_from_none_to_a_limit_counting_starts_then() {
    let limiter = limiter(of_get(&[policy(3, 60_000)]));
    let ask = Ask::new(bucket(&limiter, "items"), &[Operation::Get]);
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 5), 3);
    let changes = limiter.replace(START, of_get(&[]), Vec::new()).unwrap();
    assert_eq!(changes.retired.len(), 1);
    assert!(limiter.counters().is_empty(), "its counters are gone");
    assert_eq!(limiter.slot_name(changes.retired[0].0), None);
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 5), 5);
    limiter
        .replace(START, of_get(&[policy(3, 60_000)]), Vec::new())
        .unwrap();
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 5), 3);
}

#[test]
fn s8_2_windows_of_equal_length_keep_their_counts_among_several() {
    let limiter = limiter(of_get(&[policy(5, 1_000), policy(9, 60_000)]));
    let ask = Ask::new(bucket(&limiter, "items"), &[Operation::Get]);
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 5), 5);
    assert_eq!(admitted(&limiter, START.plus(1_000), v4(1), &ask, 2), 2);
    limiter
        .replace(
            START,
            of_get(&[policy(9, 60_000), policy(5, 1_000)]),
            Vec::new(),
        )
        .unwrap();
    let counts: Vec<u32> = run(limiter.peek(START.plus(1_000), v4(1), &ask))
        .iter()
        .map(|one| one.count)
        .collect();
    assert_eq!(counts, [7, 2]);
}

#[test]
fn an_unrelated_change_touches_nothing() {
    let limiter = limiter(of_get(&[policy(3, 60_000)]));
    let ask = Ask::new(bucket(&limiter, "items"), &[Operation::Get]);
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 2), 2);
    let mut both = of_get(&[policy(3, 60_000)]);
    both.push(of_table(stated(
        "notes",
        &[(Operation::Get, &[policy(1, 1_000)])],
    )));
    let changes = limiter.replace(START, both, Vec::new()).unwrap();
    assert!(changes.retired.is_empty());
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 5), 1);
}

#[test]
fn every_slot_is_found_by_its_name() {
    let limiter = limiter(of_get(&[policy(5, 1_000), policy(9, 60_000)]));
    let mut seen = std::collections::HashSet::new();
    for number in 0..200 {
        let slot = zonai_limit::Slot::new(number).unwrap();
        let Some(name) = limiter.slot_name(slot) else {
            continue;
        };
        let found = limiter.slot_for(
            &name.collection,
            name.operation,
            name.custom.as_deref(),
            name.window_ms,
        );
        assert_eq!(found, Some(slot), "{name:?}");
        assert!(
            seen.insert((name.stored_table(), name.operation, name.window_ms)),
            "{name:?}"
        );
    }
    // Four tables of 15 operations, one of which has two windows, two custom ones, seven shared ones.
    assert_eq!(seen.len(), 4 * 15 + 1 + 2 + 7);
    assert_eq!(limiter.slot_for("items", Operation::Get, None, 5), None);
    assert_eq!(limiter.slot_for("gone", Operation::Get, None, 60_000), None);
    let another_window = limiter.slot_for("notes", Operation::Get, None, 5).unwrap();
    assert_eq!(limiter.slot_name(another_window).unwrap().window_ms, 60_000);
    let fill = limiter
        .slot_for("items", Operation::Custom, Some("fill"), 60_000)
        .unwrap();
    assert_eq!(
        &*limiter.slot_name(fill).unwrap().stored_table(),
        "items:fill"
    );
}

#[test]
fn s8_2_a_closed_window_is_not_opened_again_by_a_longer_one() {
    let limiter = limiter(of_get(&[policy(3, 10_000)]));
    let ask = Ask::new(bucket(&limiter, "items"), &[Operation::Get]);
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 5), 3);
    let later = START.plus(20_000);
    limiter
        .replace(later, of_get(&[policy(3, 60_000)]), Vec::new())
        .unwrap();
    assert_eq!(admitted(&limiter, later, v4(1), &ask, 5), 3);
}
