//! Changes from outside: clients are freed, policies change.

use crate::scene::{Scene, WINDOW_MS, client, policy};
use crate::{Home, Store};

/// Promise 7.6.
pub fn freed_is_served_and_does_not_come_back<H: Home>(home: &H) {
    let mut scene = Scene::new(home, 4);
    assert_eq!(scene.creates(client(1), 9), 4);
    scene.store().commit_all();
    scene.store().free(client(1));
    assert_eq!(
        scene.creates(client(1), 1),
        1,
        "the decision follows at once"
    );
    scene.store().free(client(1));
    scene.store().commit_all();
    if H::SURVIVES {
        scene.restart();
        assert_eq!(scene.creates(client(1), 9), 4, "it does not come back");
    }
}

/// Promise 7.6.
pub fn freeing_one_leaves_the_others<H: Home>(home: &H) {
    let mut scene = Scene::new(home, 4);
    for number in 0..20 {
        assert_eq!(scene.creates(client(number), 9), 4);
    }
    let reset = scene.refusal(client(2)).reset;
    scene.store().free(client(1));
    for number in (0..20).filter(|&number| number != 1) {
        assert_eq!(scene.refusal(client(number)).reset, reset);
    }
    if H::SURVIVES {
        scene.restart();
        for number in (0..20).filter(|&number| number != 1) {
            assert_eq!(scene.refusal(client(number)).reset, reset);
        }
    }
}

/// Promise 8.2.
pub fn a_change_of_policy_keeps_counts<H: Home>(home: &H) {
    let mut scene = Scene::new(home, 10);
    let start = scene.clock.now();
    assert_eq!(scene.creates(client(1), 6), 6);
    scene.store().commit_all();
    scene.set_policy(Some(policy(5, WINDOW_MS)));
    assert_eq!(
        scene.creates(client(1), 1),
        0,
        "a lowered limit refuses at once"
    );
    scene.set_policy(Some(policy(8, 2 * WINDOW_MS)));
    assert_eq!(
        scene.creates(client(1), 5),
        2,
        "a raised one admits at once"
    );
    assert_eq!(scene.refusal(client(1)).reset, start.plus(2 * WINDOW_MS));
    scene.store().commit_all();
    if H::SURVIVES {
        scene.restart();
        assert_eq!(scene.refusal(client(1)).reset, start.plus(2 * WINDOW_MS));
    }
}

/// Promise 8.2.
pub fn from_none_to_a_limit_counting_starts<H: Home>(home: &H) {
    let mut scene = Scene::new(home, 3);
    assert_eq!(scene.creates(client(1), 9), 3);
    scene.store().commit_all();
    scene.set_policy(None);
    assert_eq!(scene.creates(client(1), 500), 500);
    assert!(scene.limiter.counters().is_empty(), "nothing is counted");
    scene.set_policy(Some(policy(3, WINDOW_MS)));
    assert_eq!(scene.creates(client(1), 9), 3);
}

/// The policy was changed while the server was down.
pub fn a_change_of_window_is_followed_over_a_restart<H: Home>(home: &H) {
    if !H::SURVIVES {
        return;
    }
    let mut scene = Scene::new(home, 10);
    let start = scene.clock.now();
    assert_eq!(scene.creates(client(1), 10), 10);
    scene.next_policy(policy(10, 10 * WINDOW_MS));
    scene.restart();
    scene.hand.advance_ms(2 * WINDOW_MS);
    assert_eq!(scene.refusal(client(1)).reset, start.plus(10 * WINDOW_MS));
}
