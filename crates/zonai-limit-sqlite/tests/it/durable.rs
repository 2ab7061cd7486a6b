//! Durable operations: committed before they go on, many with one commit, and never waiting for long.

use std::sync::Arc;
use std::time::Duration;

use zonai_limit_sqlite::{CommitOutcome, Fault, Health};

use crate::support::*;

#[test]
fn a_committed_count_is_on_the_file_when_the_request_goes_on() {
    let world = World::new();
    let store = world.open();
    for count in 1..=20 {
        assert!(world.hit(client(1), SIGN_IN, 100));
        assert_eq!(
            block(store.commit(&[key(client(1), SIGN_IN)])),
            CommitOutcome::Committed
        );
        assert_eq!(world.stored(client(1)), Some(count));
    }
    assert_eq!(store.metrics().commit_timeouts, 0);
}

#[test]
fn a_durable_count_does_not_wait_behind_the_ordinary_ones() {
    let mut world = World::new();
    world.options.slice = 10;
    let store = world.open();
    for n in 0..20 {
        for ordinary in 0..500 {
            assert!(world.hit(client(1_000 + ordinary), CREATE, u32::MAX));
        }
        assert!(world.hit(client(n), SIGN_IN, 100));
        assert_eq!(
            block(store.commit(&[key(client(n), SIGN_IN)])),
            CommitOutcome::Committed
        );
        assert_eq!(world.stored(client(n)), Some(1), "client {n}");
    }
}

#[test]
fn one_commit_serves_all_that_wait() {
    let world = World::new();
    let store = Arc::new(world.open());
    let before = store.metrics().slices;
    let blocker = world.second();
    // While somebody else writes, requests come; the writer's lock wait is long enough to see them all queue.
    let outcome = block(async {
        let local = tokio::task::LocalSet::new();
        local
            .run_until(async {
                blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
                let tasks: Vec<_> = (0..500)
                    .map(|n| {
                        assert!(world.hit(client(n), SIGN_IN, 100));
                        let store = Arc::clone(&store);
                        let key = key(client(n), SIGN_IN);
                        tokio::task::spawn_local(async move { store.commit(&[key]).await })
                    })
                    .collect();
                tokio::task::yield_now().await;
                blocker.execute_batch("COMMIT").unwrap();
                let mut committed = 0;
                for task in tasks {
                    committed += usize::from(task.await.unwrap() == CommitOutcome::Committed);
                }
                committed
            })
            .await
    });
    until_ok(&store);
    until_written(&store);
    println!(
        "committed {outcome} of 500 in {} slices",
        store.metrics().slices - before
    );
    assert_eq!(world.rows().len(), 500);
    assert!(
        store.metrics().slices - before < 250,
        "one commit serves many"
    );
}

#[test]
fn a_commit_that_takes_too_long_is_not_waited_for_and_those_behind_do_not_wait_at_all() {
    let mut world = World::new();
    world.options.commit_timeout = Duration::from_millis(10);
    world.options.busy_timeout = Duration::from_secs(20);
    let store = world.open();
    let blocker = world.second();
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(world.hit(client(1), SIGN_IN, 100));
    let keys = [key(client(1), SIGN_IN)];
    assert_eq!(
        block(store.commit(&keys)),
        CommitOutcome::InMemory(Fault::Slow)
    );
    assert!(matches!(
        store.health(),
        Health::Degraded {
            fault: Fault::Slow,
            ..
        }
    ));
    assert_eq!(store.metrics().commit_timeouts, 1);
    assert_eq!(
        block(store.commit(&keys)),
        CommitOutcome::InMemory(Fault::Slow)
    );
    assert_eq!(
        store.metrics().commit_timeouts,
        1,
        "the second did not wait"
    );
    blocker.execute_batch("COMMIT").unwrap();
    until_ok(&store);
    until_written(&store);
    assert_eq!(world.stored(client(1)), Some(1));
}

#[test]
fn commits_are_brought_to_the_disk_within_a_second_while_anything_is_written_and_not_after() {
    let world = World::new();
    let store = world.open();
    assert!(world.hit(client(1), SIGN_IN, 100));
    assert_eq!(
        block(store.commit(&[key(client(1), SIGN_IN)])),
        CommitOutcome::Committed
    );
    world.hand.advance_ms(world.options.sync_ms - 1);
    assert_eq!(block(store.delete_closed(world.clock.now())), Ok(0));
    assert_eq!(store.metrics().syncs, 0);
    world.hand.advance_ms(1);
    until("it is synced", || store.metrics().syncs == 1);
    world.hand.advance_ms(5_000);
    assert_eq!(block(store.delete_closed(world.clock.now())), Ok(0));
    assert_eq!(store.metrics().syncs, 1, "one before the sweep's own");
}

#[test]
fn the_queue_is_bounded() {
    let mut world = World::new();
    world.options.max_waiting = 0;
    let store = world.open();
    assert!(world.hit(client(1), SIGN_IN, 100));
    let outcome = block(store.commit(&[key(client(1), SIGN_IN)]));
    assert_eq!(outcome, CommitOutcome::InMemory(Fault::Crowded));
    until_written(&store);
    assert_eq!(
        world.stored(client(1)),
        Some(1),
        "it is written all the same"
    );
}

#[test]
fn a_closed_store_answers_at_once() {
    let world = World::new();
    let store = world.open();
    let _ = store.close();
    let outcome = block(store.commit(&[key(client(1), SIGN_IN)]));
    assert_eq!(outcome, CommitOutcome::InMemory(Fault::Closed));
    assert_eq!(store.close().unwritten, 0, "a second close does nothing");
}
