//! What a stop and a start keep.

use zonai_limit::{CounterKey, CounterState};

use crate::support::*;

#[test]
fn a_clean_stop_loses_nothing() {
    let mut world = World::new();
    let store = world.open();
    let mut expected = Vec::new();
    for n in 0..3_000 {
        for _ in 0..=(n % 3) {
            assert!(world.hit(client(n), CREATE, 100));
        }
        expected.push((client(n), world.get(client(n), CREATE)));
    }
    assert_eq!(store.close().unwritten, 0);
    assert!(
        !world
            .dir
            .path()
            .join("zonai_rate_limit.sqlite-wal")
            .exists(),
        "one file is left"
    );
    let store = world.restart();
    assert_eq!(store.metrics().restored, 3_000);
    for (client, state) in expected {
        assert_eq!(world.get(client, CREATE), state);
    }
}

#[test]
fn what_was_refused_is_refused_after_a_restart_with_the_same_reset() {
    let mut world = World::new();
    let store = world.open();
    for _ in 0..10 {
        assert!(world.hit(client(1), SIGN_IN, 10));
    }
    drop(store);
    world.hand.advance_ms(5 * MINUTE);
    let _store = world.restart();
    assert!(!world.hit(client(1), SIGN_IN, 10));
    world.hand.advance_ms(10 * MINUTE - 1);
    assert!(!world.hit(client(1), SIGN_IN, 10));
    world.hand.advance_ms(1);
    assert!(world.hit(client(1), SIGN_IN, 10));
}

#[test]
fn ordinary_counts_are_written_without_being_asked_for_and_refusals_are_not() {
    let world = World::new();
    let store = world.open();
    for n in 0..50 {
        assert!(world.hit(client(n), CREATE, 1));
    }
    until_written(&store);
    assert_eq!(world.rows().len(), 50);
    let before = store.metrics().rows_written;
    for n in 0..50 {
        assert!(!world.hit(client(n), CREATE, 1));
    }
    // Another client's count shows that the writer has looked.
    assert!(world.hit(client(99), CREATE, 1));
    until("the new count is stored", || {
        world.stored(client(99)) == Some(1)
    });
    assert_eq!(store.metrics().rows_written, before + 1);
}

#[test]
fn the_table_has_the_promised_columns_and_its_unique_index() {
    let world = World::new();
    drop(world.open());
    let conn = world.second();
    let columns: Vec<(String, String, bool)> = conn
        .prepare("SELECT name, type, pk FROM pragma_table_info('_rate_limit')")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let expected = [
        ("id", "TEXT", true),
        ("client_ip", "TEXT", false),
        ("table", "TEXT", false),
        ("operation", "TEXT", false),
        ("window_start", "INTEGER", false),
        ("count", "INTEGER", false),
        ("window_ms", "INTEGER", false),
    ];
    assert_eq!(
        columns,
        expected.map(|(name, kind, key)| (name.into(), kind.into(), key))
    );
    let unique: Vec<String> = conn
        .prepare(
            "SELECT c.name FROM pragma_index_list('_rate_limit') AS i, pragma_index_info(i.name) AS c
             WHERE i.\"unique\" AND i.origin = 'c' ORDER BY c.seqno",
        )
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(unique, ["client_ip", "table", "operation", "window_ms"]);
    let mode: String = conn
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .unwrap();
    assert_eq!(mode, "wal");
}

#[test]
fn custom_operations_networks_and_accounts_are_stored_by_their_names() {
    let mut world = World::new();
    let store = world.open();
    assert!(world.hit(named("2001:db8::/64"), ARCHIVE, 5));
    let failed = CounterKey {
        client: client(7),
        slot: slot(FAILED),
        account: 0xfeed,
    };
    let state = CounterState {
        window_start: world.clock.now(),
        count: 3,
    };
    world.counters.restore(failed, state);
    world.counters.mark_changed(failed);
    until_written(&store);
    let row = |client: &str, table: &str, operation: &str, count, window| {
        (
            client.to_owned(),
            table.to_owned(),
            operation.to_owned(),
            count,
            window,
        )
    };
    assert_eq!(
        world.rows(),
        [
            row(
                "10.0.0.7",
                "users",
                "failedSignIn:000000000000feed",
                3,
                15 * MINUTE
            ),
            row("2001:db8::/64", "items:archive", "custom", 1, MINUTE),
        ]
    );
    drop(store);
    let _store = world.restart();
    assert_eq!(world.counters.get(failed), Some(state));
    assert_eq!(world.get(named("2001:db8::/64"), ARCHIVE).unwrap().count, 1);
}

#[test]
fn closed_windows_are_not_loaded() {
    let mut world = World::new();
    let store = world.open();
    assert!(world.hit(client(1), CREATE, 5));
    world.hand.advance_ms(1);
    assert!(world.hit(client(2), CREATE, 5));
    drop(store);
    world.hand.advance_ms(MINUTE - 1);
    let store = world.restart();
    assert_eq!(store.metrics().restored, 1);
    assert_eq!(world.get(client(1), CREATE), None);
    assert!(world.get(client(2), CREATE).is_some());
}

#[test]
fn a_changed_window_keeps_its_counts_over_a_restart_and_while_running() {
    let mut world = World::new();
    let store = world.open();
    assert!(world.hit(client(1), CREATE, 5));
    until_written(&store);
    world.names.set_window(CREATE, 5 * MINUTE);
    store.policies_changed(&zonai_limit::Changes::default());
    until("the row has the new window", || {
        let rows = world.rows();
        rows.len() == 1 && rows.iter().all(|row| row.4 == 5 * MINUTE)
    });
    drop(store);
    world.names.set_window(CREATE, 10 * MINUTE);
    world.hand.advance_ms(6 * MINUTE);
    let store = world.restart();
    assert_eq!(world.get(client(1), CREATE).unwrap().count, 1);
    until("the row has the window of the start", || {
        let rows = world.rows();
        rows.len() == 1 && rows.iter().all(|row| row.4 == 10 * MINUTE)
    });
    drop(store);
}

#[test]
fn counts_of_a_table_that_is_not_limited_now_wait_until_it_is_again() {
    let mut world = World::new();
    let store = world.open();
    assert!(world.hit(client(1), LONG, 5));
    drop(store);
    world.names.remove(LONG);
    let store = world.restart();
    assert_eq!(store.metrics().restored, 0);
    store.policies_changed(&zonai_limit::Changes::default());
    assert_eq!(block(store.delete_closed(world.clock.now())), Ok(0));
    drop(store);
    world.names = std::sync::Arc::new(Names::new());
    let _store = world.restart();
    assert_eq!(world.get(client(1), LONG).unwrap().count, 1);
}

#[test]
fn a_row_that_is_no_counter_does_not_stop_the_others() {
    let mut world = World::new();
    let store = world.open();
    assert!(world.hit(client(1), CREATE, 5));
    drop(store);
    world
        .second()
        .execute_batch(
            r#"INSERT INTO _rate_limit VALUES
               ('a', NULL, NULL, NULL, NULL, NULL, NULL),
               ('b', 'nobody', 'items', 'create', 0, 1, 60000),
               ('c', '10.0.0.9', 'items', 'create', 9e300, -5, 'x'),
               ('d', '10.0.0.9', 'items', 'nonsense', 9223372036854775807, 1, 9223372036854775807),
               ('e', '10.0.0.9', 'items', 'create', 9223372036854775807, 4294967296, 9223372036854775807)"#,
        )
        .unwrap();
    let store = world.restart();
    assert_eq!(store.metrics().restored, 1);
    assert_eq!(world.get(client(1), CREATE).unwrap().count, 1);
}

/// Run it in a release build: `cargo test --release -p zonai-limit-sqlite -- --ignored hundred_thousand --nocapture`.
/// On a machine that is busy with other things the thread's own time is what counts; both are printed.
#[test]
#[ignore = "a measurement, for a release build"]
fn a_hundred_thousand_rows_are_loaded_in_under_200_ms() {
    let mut world = World::new();
    world.counters = std::sync::Arc::new(zonai_limit::Counters::new(1_000_000));
    let store = world.open();
    for n in 0..100_000 {
        assert!(world.hit(client(n), CREATE, 5));
    }
    assert_eq!(store.close().unwritten, 0);
    let clock = zonai_clock::Clock::system();
    for _ in 0..5 {
        world.counters = std::sync::Arc::new(zonai_limit::Counters::new(1_000_000));
        let (begun, busy) = (clock.now(), busy_ms());
        let store = world.open();
        let took = clock.now().since(begun);
        let busy = busy_ms()
            .zip(busy)
            .map_or(took, |(after, before)| after - before);
        assert_eq!(store.metrics().restored, 100_000);
        println!("loaded 100,000 rows in {took} ms, {busy} ms of them this thread's");
        assert!(busy < 200);
    }
}

/// How long this thread has been on a processor, where the system says so.
fn busy_ms() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let ns: u64 = stat.split(' ').next()?.parse().ok()?;
    Some(ns / 1_000_000)
}
