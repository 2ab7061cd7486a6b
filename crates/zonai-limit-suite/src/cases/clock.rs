//! The wall clock steps, the machine restarts (promise 2.5).

use zonai_clock::Hand;

use crate::scene::{Scene, WINDOW_MS, client};
use crate::{Home, Store};

const YEAR_MS: i64 = 365 * 86_400_000;

/// While the server runs.
pub fn the_wall_clock_neither_locks_out_nor_refills<H: Home>(home: &H) {
    let scene = Scene::new(home, 5);
    assert_eq!(scene.creates(client(1), 9), 5);
    for wall_ms in [Hand::WALL_MS - YEAR_MS, Hand::WALL_MS + YEAR_MS, 0] {
        scene.hand.set_wall_ms(wall_ms);
        scene.store().commit_all();
        assert_eq!(scene.creates(client(1), 1), 0, "not refilled");
    }
    scene.hand.advance_ms(WINDOW_MS);
    assert_eq!(scene.creates(client(1), 9), 5, "not locked out");
}

/// Within one boot a stored window is exact, whatever the wall says.
pub fn the_wall_clock_may_step_between_two_starts<H: Home>(home: &H) {
    if !H::SURVIVES {
        return;
    }
    for step_ms in [-YEAR_MS, YEAR_MS, -500, 30_000] {
        let mut scene = Scene::new(home, 5);
        let start = scene.clock.now();
        // A home keeps what it has: another client each time.
        let client = client(step_ms.unsigned_abs() as u32);
        assert_eq!(scene.creates(client, 9), 5);
        scene.restart_after(|hand| {
            hand.advance_ms(20_000);
            hand.set_wall_ms(Hand::WALL_MS + 20_000 + step_ms);
        });
        assert_eq!(
            scene.refusal(client).reset,
            start.plus(WINDOW_MS),
            "step of {step_ms} ms"
        );
        scene.hand.advance_ms(40_000);
        assert_eq!(scene.creates(client, 9), 5, "step of {step_ms} ms");
        scene.store().free(client);
        scene.restart();
    }
}

/// After a reboot only the wall clock knows what has passed; it is believed within the window.
pub fn a_reboot_measures_by_the_wall_within_the_window<H: Home>(home: &H) {
    if !H::SURVIVES {
        return;
    }
    let mut scene = Scene::new(home, 5);
    assert_eq!(scene.creates(client(1), 9), 5);
    scene.restart_after(|hand| {
        hand.advance_ms(20_000);
        hand.reboot();
    });
    let left = scene.refusal(client(1)).reset.since(scene.clock.now());
    assert_eq!(
        left,
        WINDOW_MS - 20_000,
        "the wall tells that 20 s have passed"
    );
    // The wall was set back by a year: the window began now at the latest.
    scene.restart_after(|hand| {
        hand.reboot();
        hand.set_wall_ms(Hand::WALL_MS - YEAR_MS);
    });
    let left = scene.refusal(client(1)).reset.since(scene.clock.now());
    assert_eq!(left, WINDOW_MS, "never locked out for longer than a window");
    scene.hand.advance_ms(WINDOW_MS);
    assert_eq!(scene.creates(client(1), 9), 5);
    // It was set ahead by a year: the window is over.
    scene.restart_after(|hand| {
        hand.reboot();
        hand.set_wall_ms(Hand::WALL_MS + YEAR_MS);
    });
    assert_eq!(scene.creates(client(1), 9), 5);
}
