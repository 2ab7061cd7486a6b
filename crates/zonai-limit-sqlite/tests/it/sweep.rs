//! The job that deletes closed counters.

use zonai_limit::CounterState;
use zonai_limit_sqlite::offline;

use crate::support::*;

#[test]
fn only_closed_windows_are_deleted_however_long_the_open_ones_are() {
    let world = World::new();
    let store = world.open();
    for n in 0..5_000 {
        assert!(world.hit(client(n), CREATE, 5));
    }
    assert!(world.hit(client(1), LONG, 5));
    world.hand.advance_ms(MINUTE - 1);
    assert!(world.hit(client(6_000), CREATE, 5));
    until_written(&store);
    assert_eq!(block(store.delete_closed(world.clock.now())), Ok(0));
    world.hand.advance_ms(1);
    assert_eq!(block(store.delete_closed(world.clock.now())), Ok(5_000));
    assert_eq!(world.rows().len(), 2);
    world.hand.advance_ms(29 * DAY);
    assert_eq!(block(store.delete_closed(world.clock.now())), Ok(1));
    assert_eq!(world.rows().len(), 1);
    world.hand.advance_ms(DAY);
    assert_eq!(block(store.delete_closed(world.clock.now())), Ok(1));
}

#[test]
fn a_row_that_is_older_than_the_memory_is_not_deleted() {
    let world = World::new();
    let store = world.open();
    assert!(world.hit(client(1), CREATE, 5));
    until_written(&store);
    world.hand.advance_ms(MINUTE);
    // The memory has a new window that nobody marked as changed: only the row is old.
    let state = CounterState {
        window_start: world.clock.now(),
        count: 4,
    };
    world.counters.restore(key(client(1), CREATE), state);
    assert_eq!(block(store.delete_closed(world.clock.now())), Ok(0));
    assert_eq!(world.rows().len(), 1);
}

#[test]
fn closed_counters_can_be_deleted_without_a_server() {
    let world = World::new();
    assert_eq!(
        offline::delete_closed(&world.path, &world.clock),
        Ok(0),
        "no file is no fault"
    );
    assert!(!world.path.exists());
    let store = world.open();
    for n in 0..2_500 {
        assert!(world.hit(client(n), CREATE, 5));
    }
    assert!(world.hit(client(1), LONG, 5));
    drop(store);
    world.hand.advance_ms(MINUTE);
    assert_eq!(offline::delete_closed(&world.path, &world.clock), Ok(2_500));
    assert_eq!(world.rows().len(), 1);
}
