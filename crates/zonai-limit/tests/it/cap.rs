//! Past the cap (promise 7.5).

use zonai_limit::{Client, CounterKey, Counters, Outcome};

use crate::common::{START, admits, charge, client, v4};

fn tries(counters: &Counters, client: Client, charges: &[zonai_limit::Charge], tries: u32) -> u32 {
    (0..tries)
        .filter(|_| admits(counters.decide(START, client, charges, false)))
        .count() as u32
}

#[test]
fn s7_5_a_flood_never_exceeds_the_cap_and_blocked_stays_blocked() {
    let counters = Counters::new(1_600);
    let charges = [charge(0, 5, 60_000)];
    let blocked = client("203.0.113.7");
    assert_eq!(tries(&counters, blocked, &charges, 10), 5);
    for number in 0..20_000 {
        let _ = counters.decide(START, v4(number), &charges, false);
        assert!(counters.len() <= 1_600);
    }
    assert!(counters.crowded() > 0);
    assert_eq!(
        tries(&counters, blocked, &charges, 10),
        0,
        "blocked stays blocked"
    );
    assert_eq!(
        tries(&counters, client("198.51.100.1"), &charges, 5),
        5,
        "another network is served"
    );
    assert_eq!(
        tries(&counters, client("2001:db8::1"), &charges, 5),
        5,
        "and one of the other family"
    );
}

#[test]
fn s7_5_the_groups_are_24_16_and_everyone_each_with_8_times_the_limit() {
    // Room for nothing but wider counters: 1 of 16, of which half may be near ones.
    let counters = Counters::new(16);
    let charges = [charge(0, 1, 60_000)];
    for number in 0..15 {
        assert_eq!(tries(&counters, v4(number), &charges, 2), 1);
    }
    let counted = |group: &str| {
        let key = CounterKey {
            client: client(group),
            slot: charges[0].slot,
            account: 0,
        };
        counters.get(key).map(|state| state.count)
    };
    let newcomer = client("198.51.100.1");
    let admitted = tries(&counters, newcomer, &charges, 10_000);
    let by_group = [8, 64, 512];
    assert!(by_group.contains(&admitted), "{admitted}");
    let groups = [
        counted("198.51.100.0/24"),
        counted("198.51.0.0/16"),
        counted("everyone"),
    ];
    assert_eq!(
        groups.iter().flatten().copied().collect::<Vec<_>>(),
        [admitted]
    );
}

#[test]
fn s7_5_clients_of_one_network_share_and_ipv6_widens_to_48() {
    let counters = Counters::new(160);
    let charges = [charge(0, 2, 60_000)];
    for number in 0..150 {
        let _ = counters.decide(START, v4(number), &charges, false);
    }
    assert_eq!(counters.len(), 150);
    let together: u32 = (0..100_u32)
        .map(|subnet| {
            tries(
                &counters,
                client(&format!("2001:db8:1:{subnet:x}::1")),
                &charges,
                1,
            )
        })
        .sum();
    assert_eq!(together, 16, "8 times the limit for the /48");
    let key = CounterKey {
        client: client("2001:db8:1::/48"),
        slot: charges[0].slot,
        account: 0,
    };
    assert_eq!(counters.get(key).unwrap().count, 16);
    assert_eq!(
        tries(&counters, client("2001:db8:2::1"), &charges, 2),
        2,
        "the next /48 is served"
    );
}

#[test]
fn s7_5_clients_without_a_group_fall_to_everyone() {
    let counters = Counters::new(0);
    let charges = [charge(0, 1, 60_000)];
    assert_eq!(tries(&counters, Client::Local, &charges, 100), 8);
    assert_eq!(counters.len(), 0);
}

#[test]
fn s7_5_there_is_room_again_once_windows_have_closed() {
    let counters = Counters::new(160);
    let charges = [charge(0, 2, 1_000)];
    for number in 0..1_000 {
        let _ = counters.decide(START, v4(number), &charges, false);
    }
    let crowded = counters.crowded();
    let later = START.plus(1_000);
    for number in 10_000..10_100_u32 {
        assert!(admits(counters.decide(
            later,
            v4(number << 8),
            &charges,
            false
        )));
    }
    assert!(
        counters.crowded() - crowded < 20,
        "{}",
        counters.crowded() - crowded
    );
}

#[test]
fn s7_5_a_multiplied_limit_saturates() {
    let counters = Counters::new(0);
    let charges = [charge(0, u32::MAX, 60_000)];
    assert!(admits(counters.decide(START, v4(1), &charges, false)));
}

#[test]
fn a_limit_of_0_is_0_for_a_network_too() {
    let counters = Counters::new(0);
    let charges = [charge(0, 0, 60_000)];
    for ms in [0, 10] {
        let outcome = counters.decide(START.plus(ms), v4(1), &charges, false);
        let Outcome::Refused(hit) = outcome else {
            panic!()
        };
        assert_eq!(hit.reset, START.plus(60_000));
    }
}

#[test]
fn all_charges_of_a_request_are_counted_past_the_cap_or_none() {
    let counters = Counters::new(0);
    let charges = [charge(0, 1, 60_000), charge(1, 2, 60_000)];
    assert_eq!(tries(&counters, v4(1), &charges, 10_000), 512);
    let count = |slot: u32| {
        let slot = zonai_limit::Slot::new(slot).unwrap();
        counters
            .get(CounterKey {
                client: Client::Everyone,
                slot,
                account: 0,
            })
            .unwrap()
            .count
    };
    assert_eq!((count(0), count(1)), (512, 512));
}
