//! Closed windows go a few at a time, open ones never (promise 7.5).

use zonai_limit::{CounterKey, Counters};

use crate::common::{START, admits, charge, v4};

#[test]
fn closed_windows_are_reclaimed_as_new_ones_come() {
    let counters = Counters::new(1_000_000);
    let charges = [charge(0, 5, 1_000)];
    for number in 0..20_000 {
        assert!(admits(counters.decide(START, v4(number), &charges, false)));
    }
    let later = START.plus(1_000);
    for number in 100_000..200_000 {
        assert!(admits(counters.decide(later, v4(number), &charges, false)));
    }
    assert_eq!(
        counters.len(),
        100_000,
        "those of the first window are gone"
    );
}

#[test]
fn a_tick_frees_them_when_nobody_comes_and_leaves_open_ones() {
    let counters = Counters::new(1_000_000);
    let (short, long) = (charge(0, 5, 1_000), charge(1, 5, 3_600_000));
    for number in 0..5_000 {
        assert!(admits(counters.decide(START, v4(number), &[short], false)));
        if number % 10 == 0 {
            assert!(admits(counters.decide(START, v4(number), &[long], false)));
        }
    }
    assert_eq!(counters.reclaim(START.plus(999), 1_000_000), 0);
    // Bounded: an empty segment costs a tick a thousandth of a budget of a million, and there are 4,096.
    for _ in 0..10 {
        counters.reclaim(START.plus(1_000), 1_000_000);
    }
    assert_eq!(counters.len(), 500);
    for number in (0..5_000).step_by(10) {
        let key = CounterKey {
            client: v4(number),
            slot: long.slot,
            account: 0,
        };
        assert_eq!(counters.get(key).unwrap().count, 1);
    }
    assert_eq!(
        counters.changed(),
        500,
        "what is gone is not waiting to be stored"
    );
}

#[test]
fn counters_of_a_slot_that_is_not_limited_any_more_go() {
    let counters = Counters::new(1_000);
    let charge = charge(0, 5, 3_600_000);
    assert!(admits(counters.decide(START, v4(1), &[charge], false)));
    counters.set_window(charge.slot, None);
    for _ in 0..10 {
        counters.reclaim(START, 1_000_000);
    }
    assert!(counters.is_empty());
}

/// What counters that came and went leave behind in the tables is bounded too.
#[test]
fn many_generations_of_clients_leave_nothing() {
    let counters = Counters::new(2_000);
    let charges = [charge(0, 5, 1_000)];
    for generation in 0..200_u64 {
        let now = START.plus(generation * 1_000);
        for number in 0..500 {
            let client = v4(generation as u32 * 500 + number);
            assert!(admits(counters.decide(now, client, &charges, false)));
        }
        assert!(counters.len() <= 2_000);
    }
    assert_eq!(counters.crowded(), 0);
}
