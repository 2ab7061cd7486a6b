//! What a store of counters relies on (promises 7.2 and 7.6).

use std::collections::HashMap;

use zonai_limit::{Client, CounterKey, CounterState, Counters, Ipv6Prefix};

use crate::common::{START, admits, charge, client, v4};

fn key(client: Client, charge: &zonai_limit::Charge) -> CounterKey {
    CounterKey {
        client,
        slot: charge.slot,
        account: 0,
    }
}

#[test]
fn every_change_is_taken_once_and_in_slices() {
    let counters = Counters::new(100_000);
    let charges = [charge(0, 50, 60_000)];
    for number in 0..3_000 {
        assert!(admits(counters.decide(START, v4(number), &charges, false)));
        assert!(admits(counters.decide(START, v4(number), &charges, false)));
    }
    assert_eq!(counters.changed(), 3_000);
    let mut all = HashMap::new();
    while counters.changed() > 0 {
        let mut taken = Vec::new();
        counters.take_changed(700, &mut taken);
        assert!(!taken.is_empty() && taken.len() <= 700);
        for (key, state) in taken {
            assert_eq!(
                state,
                CounterState {
                    window_start: START,
                    count: 2
                }
            );
            assert!(all.insert(key, state).is_none());
        }
    }
    assert_eq!(all.len(), 3_000);
    assert!(admits(counters.decide(START, v4(7), &charges, false)));
    assert_eq!(counters.changed(), 1);
    assert_eq!(counters.take(key(v4(7), &charges[0])).unwrap().count, 3);
    assert_eq!(counters.changed(), 0);
    counters.mark_changed(key(v4(7), &charges[0]));
    assert_eq!(counters.changed(), 1);
}

#[test]
fn what_waits_longest_is_not_passed_over() {
    let counters = Counters::new(100_000);
    let charges = [charge(0, 1_000, 60_000)];
    for number in 0..2_000 {
        assert!(admits(counters.decide(START, v4(number), &charges, false)));
    }
    let mut seen = std::collections::HashSet::new();
    for _ in 0..40 {
        let mut taken = Vec::new();
        counters.take_changed(100, &mut taken);
        for (key, _) in taken {
            seen.insert(key);
            // It changes again at once.
            assert!(admits(counters.decide(START, key.client, &charges, false)));
        }
    }
    assert_eq!(seen.len(), 2_000);
}

#[test]
fn restored_counters_go_on_where_they_were() {
    let counters = Counters::new(1_000);
    let charges = [charge(0, 5, 60_000)];
    counters.set_window(charges[0].slot, Some(charges[0].policy.window()));
    let state = CounterState {
        window_start: START.minus(30_000),
        count: 4,
    };
    counters.restore(key(v4(1), &charges[0]), state);
    assert_eq!(counters.changed(), 0);
    assert!(admits(counters.decide(START, v4(1), &charges, false)));
    assert!(!admits(counters.decide(START, v4(1), &charges, false)));
    counters.restore(key(v4(1), &charges[0]), state);
    assert!(
        !admits(counters.decide(START, v4(1), &charges, false)),
        "the later count stays"
    );
    let full = Counters::new(0);
    full.restore(key(v4(1), &charges[0]), state);
    assert_eq!(
        full.get(key(Client::Everyone, &charges[0])),
        Some(state),
        "past the cap it is not forgotten"
    );
}

#[test]
fn every_kind_of_client_is_listed_as_it_was_counted_and_can_be_freed() {
    for bits in [48, 64, 128] {
        let prefix = Ipv6Prefix::new(bits).unwrap();
        let counters = Counters::with_prefix(1_000, prefix);
        let charges = [charge(3, 1, 60_000)];
        let clients: Vec<Client> = ["203.0.113.7", "2001:db8:1:2:3:4:5:6", "local"]
            .into_iter()
            .map(|text| Client::parse(text, prefix).unwrap())
            .collect();
        for &client in &clients {
            assert!(admits(counters.decide(START, client, &charges, false)));
        }
        let mut listed = Vec::new();
        counters.for_each(&mut |key, state| listed.push((key.client, key.slot, state.count)));
        assert_eq!(listed.len(), 3);
        for &client in &clients {
            assert!(listed.contains(&(client, charges[0].slot, 1)), "{client}");
            assert!(!admits(counters.decide(START, client, &charges, false)));
            assert_eq!(
                counters.free(&mut |key| key.client == client),
                [key(client, &charges[0])]
            );
            assert!(
                admits(counters.decide(START, client, &charges, false)),
                "freed, and the decision follows"
            );
        }
        assert_eq!(counters.len(), 3);
    }
}

#[test]
fn freeing_one_client_leaves_the_others() {
    let counters = Counters::new(1_000);
    let charges = [charge(0, 1, 60_000)];
    for number in 0..100 {
        assert!(admits(counters.decide(START, v4(number), &charges, false)));
    }
    counters.free(&mut |key| key.client == v4(42));
    for number in 0..100 {
        assert_eq!(
            admits(counters.decide(START, v4(number), &charges, false)),
            number == 42
        );
    }
    assert_eq!(counters.changed(), 100);
    assert_eq!(client("10.0.0.42"), v4(42));
}

#[test]
fn without_tracking_nothing_waits_to_be_stored() {
    let counters = Counters::new(1_000).untracked();
    let charges = [charge(0, 1, 60_000)];
    assert!(admits(counters.decide(START, v4(1), &charges, false)));
    counters.mark_changed(key(v4(1), &charges[0]));
    assert_eq!(counters.changed(), 0);
}
