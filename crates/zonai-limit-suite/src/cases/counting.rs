//! Counting: the window, all or none, threads, the cap.

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use zonai_limit::{Client, Ipv6Prefix, Verdict};

use crate::scene::{Scene, WINDOW_MS, client};
use crate::{Home, Store};

/// Promise 2.1.
pub fn window_opens_at_the_first_request<H: Home>(home: &H) {
    let scene = Scene::new(home, 10);
    scene.hand.advance_ms(12_345);
    for _ in 0..10 {
        assert_eq!(scene.creates(client(1), 1), 1);
        scene.hand.advance_ms(5_000);
    }
    assert_eq!(scene.creates(client(1), 1), 0, "50 s after the first");
    scene.hand.advance_ms(WINDOW_MS - 50_000 - 1);
    assert_eq!(
        scene.creates(client(1), 1),
        0,
        "a millisecond before the close"
    );
    scene.hand.advance_ms(1);
    assert_eq!(scene.creates(client(1), 20), 10, "at the close");
}

/// Promises 2.2 and 7.3.
pub fn a_refusal_counts_nothing_and_names_one_reset<H: Home>(home: &H) {
    let scene = Scene::new(home, 3);
    let start = scene.clock.now();
    assert_eq!(scene.creates(client(1), 3), 3);
    scene.store().commit_all();
    for _ in 0..59 {
        scene.hand.advance_ms(1_000);
        assert_eq!(scene.refusal(client(1)).reset, start.plus(WINDOW_MS));
    }
    assert_eq!(
        scene.limiter.counters().changed(),
        0,
        "a refusal writes nothing"
    );
    scene.hand.advance_ms(1_000);
    assert_eq!(scene.creates(client(1), 5), 3);
}

/// Promise 2.4: `signIn` is limited to 5, `authenticate`, which counts beside it, to 100.
pub fn all_of_a_request_or_none<H: Home>(home: &H) {
    let scene = Scene::new(home, 5);
    assert_eq!(scene.sign_ins(client(1), 20), 5);
    let mut counts = Vec::new();
    scene
        .limiter
        .counters()
        .for_each(&mut |_, state| counts.push(state.count));
    assert_eq!(counts, [5, 5]);
}

fn race<H: Home>(scene: &Scene<'_, H>, client: Client, threads: usize) -> u32 {
    let limiter = &scene.limiter;
    let items = limiter.table("items").expect("the table");
    let ask = zonai_limit::Ask::new(
        zonai_limit::Bucket::Table(items),
        &[zonai_limit::Operation::Create],
    );
    let (now, admitted, barrier) = (scene.clock.now(), AtomicU32::new(0), Barrier::new(threads));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                barrier.wait();
                while let Some(Verdict::Admitted(_)) = limiter.check_now(now, client, &ask) {
                    admitted.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    admitted.into_inner()
}

/// Promise 2.3.
pub fn exact_under_threads<H: Home>(home: &H) {
    let scene = Scene::new(home, 100);
    for threads in [2, 4, 8, 16] {
        for round in 0..5 {
            let client = client(threads as u32 * 1_000 + round);
            assert_eq!(
                race(&scene, client, threads),
                100,
                "{threads} threads, round {round}"
            );
        }
    }
}

/// Ends the loop beside it, also when the case fails.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The same while everything is stored again and again.
pub fn exact_while_it_is_stored<H: Home>(home: &H) {
    let scene = Scene::new(home, 100);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                scene.store().commit_all();
            }
        });
        let _ends = SetOnDrop(&done);
        for round in 0..20 {
            assert_eq!(race(&scene, client(round), 2), 100, "round {round}");
        }
    });
    scene.store().commit_all();
    assert_eq!(scene.limiter.counters().changed(), 0);
    assert!(scene.store().stored().is_none_or(|stored| stored == 20));
}

/// Promise 7.5.
pub fn the_cap_holds_and_blocked_stays_blocked<H: Home>(home: &H) {
    const ROOM: usize = 800;
    let scene = Scene::with_room(home, 5, ROOM);
    let blocked = Client::parse("203.0.113.7", Ipv6Prefix::DEFAULT).expect("a client");
    assert_eq!(scene.creates(blocked, 9), 5);
    for number in 0..5_000 {
        let _ = scene.creates(client(number), 1);
        assert!(scene.limiter.counters().len() <= ROOM);
    }
    scene.store().commit_all();
    assert_eq!(scene.creates(blocked, 5), 0, "blocked stays blocked");
    let other = Client::parse("2001:db8::1", Ipv6Prefix::DEFAULT).expect("a client");
    assert_eq!(scene.creates(other, 5), 5, "another network is served");
    assert!(
        scene.limiter.counters().crowded() > 0,
        "and it is said that it is crowded"
    );
}
