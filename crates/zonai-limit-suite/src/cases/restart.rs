//! What a restart keeps, what a sweep deletes.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use crate::scene::{Scene, WINDOW_MS, client};
use crate::{Home, Store};

/// Promise 7.2.
pub fn a_clean_stop_loses_nothing<H: Home>(home: &H) {
    if !H::SURVIVES {
        return;
    }
    let mut scene = Scene::new(home, 10);
    let start = scene.clock.now();
    for number in 0..500 {
        assert_eq!(scene.creates(client(number), number % 11), number % 11);
    }
    scene.hand.advance_ms(20_000);
    scene.restart();
    for number in 0..500 {
        assert_eq!(
            scene.creates(client(number), 20),
            10 - number % 11 % 11,
            "client {number}"
        );
        if number % 11 > 0 {
            assert_eq!(
                scene.refusal(client(number)).reset,
                start.plus(WINDOW_MS),
                "client {number}"
            );
        }
    }
}

/// Promise 7.2.
pub fn a_kill_loses_nothing_that_was_committed<H: Home>(home: &H) {
    if !H::SURVIVES {
        return;
    }
    let mut scene = Scene::new(home, 5);
    assert_eq!(scene.sign_ins(client(1), 3), 3);
    assert_eq!(scene.creates(client(2), 4), 4);
    scene.store().commit_all();
    scene.kill();
    assert_eq!(scene.sign_ins(client(1), 9), 2);
    assert_eq!(scene.creates(client(2), 9), 1);
    scene.kill();
    assert_eq!(scene.sign_ins(client(1), 9), 0);
}

/// A window that closed while the server was down.
pub fn a_closed_window_is_not_put_back<H: Home>(home: &H) {
    if !H::SURVIVES {
        return;
    }
    let mut scene = Scene::new(home, 5);
    assert_eq!(scene.creates(client(1), 9), 5);
    scene.restart_after(|hand| hand.advance_ms(WINDOW_MS - 1));
    assert_eq!(scene.creates(client(1), 1), 0);
    scene.restart_after(|hand| hand.advance_ms(1));
    assert!(scene.limiter.counters().is_empty());
    assert_eq!(scene.creates(client(1), 9), 5);
}

/// Promise 7.4.
pub fn a_sweep_deletes_closed_windows_only<H: Home>(home: &H) {
    let mut scene = Scene::new(home, 5);
    for number in 0..50 {
        assert_eq!(scene.creates(client(number), 9), 5);
    }
    scene.hand.advance_ms(WINDOW_MS / 2);
    for number in 50..60 {
        assert_eq!(scene.creates(client(number), 9), 5);
    }
    scene.store().commit_all();
    scene.hand.advance_ms(WINDOW_MS / 2);
    scene.store().sweep(scene.clock.now());
    assert!(
        scene.store().stored().is_none_or(|stored| stored == 10),
        "{:?}",
        scene.store().stored()
    );
    for number in 50..60 {
        assert_eq!(scene.creates(client(number), 1), 0, "an open window stays");
    }
    if H::SURVIVES {
        scene.restart();
        for number in 50..60 {
            assert_eq!(scene.creates(client(number), 1), 0, "an open window stays");
        }
    }
}

/// Promise 3.5: 10 in a quarter of an hour.
pub fn failed_sign_ins_survive_and_places_are_given_back<H: Home>(home: &H) {
    const ACCOUNT: u64 = 0x0123_4567_89ab_cdef;
    let mut scene = Scene::new(home, 100);
    let fail = |scene: &Scene<'_, H>, succeeds: bool| {
        let table = scene.limiter.table("users").expect("the table");
        let place = ready(scene.limiter.take_failed_sign_in(
            scene.clock.now(),
            client(1),
            table,
            ACCOUNT,
        ));
        let Ok(place) = place else { return false };
        scene.store().commit(place.durable());
        if succeeds {
            place.give_back();
        }
        true
    };
    for _ in 0..4 {
        assert!(fail(&scene, false));
        assert!(fail(&scene, true));
    }
    scene.store().commit_all();
    if H::SURVIVES {
        scene.kill();
    }
    for _ in 0..6 {
        assert!(fail(&scene, false));
    }
    assert!(!fail(&scene, false), "ten have failed");
    if H::SURVIVES {
        scene.kill();
        assert!(!fail(&scene, false), "each was stored before it went on");
    }
}

fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a policy that never changes is ready at once"),
    }
}
