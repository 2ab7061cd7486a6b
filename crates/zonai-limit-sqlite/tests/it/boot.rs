//! The clock: steps of the wall, another boot, a wall that went back meanwhile.

use zonai_clock::Hand;

use crate::support::*;

#[test]
fn setting_the_wall_clock_between_stop_and_start_changes_no_window() {
    for wall in [0, Hand::WALL_MS - 3_600_000, Hand::WALL_MS + 86_400_000] {
        let mut world = World::new();
        let store = world.open();
        assert!(world.hit(client(1), CREATE, 1));
        let before = world.get(client(1), CREATE);
        drop(store);
        world.hand.advance_ms(30_000);
        world.hand.set_wall_ms(wall);
        let _store = world.restart();
        assert_eq!(world.get(client(1), CREATE), before);
        world.hand.advance_ms(29_999);
        assert!(!world.hit(client(1), CREATE, 1));
        world.hand.advance_ms(1);
        assert!(world.hit(client(1), CREATE, 1));
    }
}

#[test]
fn after_a_reboot_a_window_goes_on_by_the_wall_clock() {
    let mut world = World::new();
    let store = world.open();
    assert!(world.hit(client(1), SIGN_IN, 1));
    drop(store);
    world.hand.advance_ms(500);
    world.hand.reboot();
    let _store = world.restart();
    assert!(!world.hit(client(1), SIGN_IN, 1));
    world.hand.advance_ms(15 * MINUTE - 501);
    assert!(
        !world.hit(client(1), SIGN_IN, 1),
        "half a second passed before the reboot"
    );
    world.hand.advance_ms(1);
    assert!(world.hit(client(1), SIGN_IN, 1));
}

#[test]
fn after_a_reboot_a_start_in_the_future_is_now_and_nobody_is_locked_out_for_longer() {
    let mut world = World::new();
    let store = world.open();
    assert!(world.hit(client(1), SIGN_IN, 1));
    drop(store);
    world.hand.reboot();
    world.hand.set_wall_ms(0);
    let store = world.restart();
    assert!(!world.hit(client(1), SIGN_IN, 1), "blocked stays blocked");
    world.hand.advance_ms(15 * MINUTE);
    assert!(world.hit(client(1), SIGN_IN, 1));
    drop(store);
}

#[test]
fn what_was_closed_before_a_reboot_does_not_open_again_when_the_wall_went_back() {
    let mut world = World::new();
    let store = world.open();
    assert!(world.hit(client(1), CREATE, 1));
    until_written(&store);
    world.hand.advance_ms(MINUTE);
    // A later write shows the file that time has passed.
    assert!(world.hit(client(2), CREATE, 1));
    drop(store);
    world.hand.reboot();
    world.hand.set_wall_ms(0);
    let store = world.restart();
    assert_eq!(store.metrics().restored, 1);
    assert!(world.hit(client(1), CREATE, 1));
    assert!(!world.hit(client(2), CREATE, 1));
}

#[test]
fn a_step_of_the_wall_while_running_is_known_after_a_reboot() {
    let mut world = World::new();
    let store = world.open();
    assert!(world.hit(client(1), CREATE, 1));
    until_written(&store);
    world.hand.set_wall_ms(Hand::WALL_MS + 7 * 86_400_000);
    assert!(world.hit(client(2), CREATE, 1));
    drop(store);
    world.hand.reboot();
    let _store = world.restart();
    assert!(
        !world.hit(client(1), CREATE, 1),
        "the step did not refill it"
    );
}
