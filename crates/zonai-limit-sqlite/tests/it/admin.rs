//! Counters in an administrator's hands: listed from memory, freed for good.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use zonai_limit::{CounterKey, CounterState, Operation};
use zonai_limit_sqlite::{Filter, Order, offline};

use crate::support::*;

#[test]
fn a_list_has_the_same_shape_from_memory_and_from_the_file() {
    let world = World::new();
    let store = world.open();
    for n in 0..5 {
        world.hand.advance_ms(10);
        for _ in 0..=n {
            assert!(world.hit(client(n), CREATE, 100));
        }
    }
    assert!(world.hit(named("2001:db8::/64"), ARCHIVE, 5));
    let online = store.list(&Filter::default(), Order::Newest, 0, usize::MAX);
    assert_eq!(online.total, 6);
    until_written(&store);
    drop(store);
    let mut from_file = offline::list(&world.path, &world.clock, &Filter::default()).unwrap();
    let mut from_memory = online.rows;
    from_file.sort_by(|a, b| a.id.cmp(&b.id));
    from_memory.sort_by(|a, b| a.id.cmp(&b.id));
    assert_eq!(from_memory, from_file);
    let row = from_memory
        .iter()
        .find(|row| row.client_ip == "10.0.0.4")
        .unwrap();
    assert_eq!(
        (row.count, row.window_start),
        (5, zonai_clock::Hand::WALL_MS + 50)
    );
}

#[test]
fn a_list_is_ordered_cut_and_without_closed_windows() {
    let world = World::new();
    let store = world.open();
    assert!(world.hit(client(9), CREATE, 100));
    world.hand.advance_ms(MINUTE);
    for n in 0..5 {
        for _ in 0..=n {
            assert!(world.hit(client(n), CREATE, 100));
        }
    }
    let top = store.list(&Filter::default(), Order::Count, 1, 2);
    assert_eq!(top.total, 5);
    assert_eq!(
        top.rows.iter().map(|row| row.count).collect::<Vec<_>>(),
        [4, 3]
    );
    let one = store.list(&of("10.0.0.2"), Order::Newest, 0, 10);
    assert_eq!(one.rows.len(), 1);
}

#[test]
fn a_freed_client_counts_from_nothing_in_memory_and_after_a_restart() {
    let mut world = World::new();
    let store = world.open();
    for n in [1, 2] {
        assert!(world.hit(client(n), CREATE, 1));
        assert!(world.hit(client(n), SIGN_IN, 1));
    }
    let failed = CounterKey {
        client: client(1),
        slot: slot(FAILED),
        account: 5,
    };
    let state = CounterState {
        window_start: world.clock.now(),
        count: 10,
    };
    world.counters.restore(failed, state);
    world.counters.mark_changed(failed);
    until_written(&store);
    let freed = block(store.free(of("10.0.0.1"))).unwrap();
    assert_eq!((freed.counters, freed.on_file), (3, true));
    assert_eq!(world.rows().len(), 2, "the other client's counters stay");
    assert_eq!(world.counters.get(failed), None);
    drop(store);
    let _store = world.restart();
    assert!(world.hit(client(1), CREATE, 1));
    assert!(!world.hit(client(2), CREATE, 1));
}

#[test]
fn a_table_an_operation_or_listed_rows_can_be_freed() {
    let world = World::new();
    let store = world.open();
    for number in [CREATE, ARCHIVE, LONG, SIGN_IN] {
        assert!(world.hit(client(1), number, 1));
    }
    let filter = Filter {
        operation: Some(Operation::Delete),
        ..of("10.0.0.1")
    };
    assert_eq!(block(store.free(filter)).unwrap().counters, 1);
    let rows = store.list(&Filter::default(), Order::Newest, 0, 10).rows;
    let archive: Vec<_> = rows
        .into_iter()
        .filter(|row| row.table == "items:archive")
        .collect();
    assert_eq!(block(store.free_rows(&archive)).unwrap().counters, 1);
    let filter = Filter {
        table: Some("items".into()),
        ..Filter::default()
    };
    assert_eq!(block(store.free(filter)).unwrap().counters, 1);
    until_written(&store);
    assert_eq!(world.rows().len(), 1);
    assert_eq!(world.rows().first().unwrap().1, "users");
}

#[test]
fn freeing_a_client_names_the_wider_counters_and_a_network_frees_its_clients() {
    let world = World::new();
    let store = world.open();
    let wide = key(named("10.0.0.0/24"), CREATE);
    let state = CounterState {
        window_start: world.clock.now(),
        count: 7,
    };
    world.counters.restore(wide, state);
    for n in [1, 2] {
        assert!(world.hit(client(n), CREATE, 1));
    }
    let freed = block(store.free(of("10.0.0.1"))).unwrap();
    assert_eq!(freed.counters, 1);
    assert_eq!(
        freed
            .wider
            .iter()
            .map(|row| &*row.client_ip)
            .collect::<Vec<_>>(),
        ["10.0.0.0/24"]
    );
    let freed = block(store.free(of("10.0.0.0/24"))).unwrap();
    assert_eq!(freed.counters, 2);
    until("the file follows", || world.rows().is_empty());
}

#[test]
fn clients_can_be_freed_without_a_server() {
    let mut world = World::new();
    let store = world.open();
    for n in [1, 2] {
        assert!(world.hit(client(n), CREATE, 1));
    }
    drop(store);
    assert_eq!(
        offline::free(&world.path, &world.clock, &of("10.0.0.1")),
        Ok(1)
    );
    let _store = world.restart();
    assert!(world.hit(client(1), CREATE, 1));
    assert!(!world.hit(client(2), CREATE, 1));
}

#[test]
fn a_freed_counter_never_comes_back_under_load() {
    let mut world = World::new();
    let store = Arc::new(world.open());
    let mut seeded = Seeded::new(7);
    let stop = AtomicBool::new(false);
    // Clients 0 to 9 are freed at random; the last time while nobody counts them any more.
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (world, stop) = (&world, &stop);
            scope.spawn(move || {
                let mut n = 0_u32;
                while !stop.load(Ordering::Relaxed) {
                    n += 1;
                    let _ = world.hit(client(1_000 + 50 * thread + n % 50), CREATE, u32::MAX);
                }
            });
        }
        for round in 0..8 {
            for n in 0..10 {
                for _ in 0..=seeded.below(3) {
                    let _ = world.hit(client(n), CREATE, u32::MAX);
                }
                if seeded.below(2) == 0 {
                    let _ = block(store.commit(&[key(client(n), CREATE)]));
                }
                let freed = block(store.free(Filter::client(client(n)))).unwrap();
                assert!(freed.on_file, "round {round}");
                assert_eq!(world.get(client(n), CREATE), None);
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    until_written(&store);
    for n in 0..10 {
        assert_eq!(world.stored(client(n)), None);
    }
    let rows = world.rows();
    for n in 1_000..1_100 {
        let count = world.get(client(n), CREATE).map(|state| state.count);
        let client = client(n).to_string();
        assert_eq!(
            rows.iter().find(|row| row.0 == client).map(|row| row.3),
            count
        );
    }
    let _ = store.close();
    let _store = world.restart();
    for n in 0..10 {
        assert_eq!(world.get(client(n), CREATE), None);
    }
}

#[test]
fn a_durable_count_made_while_its_client_is_freed_is_not_lost() {
    let world = World::new();
    let store = Arc::new(world.open());
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        for _ in 0..200 {
            let freeing = {
                let store = Arc::clone(&store);
                tokio::spawn(async move { store.free(Filter::client(client(1))).await })
            };
            assert!(world.hit(client(1), SIGN_IN, 1_000));
            let _ = store.commit(&[key(client(1), SIGN_IN)]).await;
            freeing.await.unwrap().unwrap();
            let memory = world.get(client(1), SIGN_IN).map(|state| state.count);
            assert_eq!(world.stored(client(1)), memory);
        }
    });
}
