//! Faults of the file: deciding never waits, never refuses everything and never lets everything pass, and the file
//! follows again as soon as it can.

use std::fs;

use zonai_limit_sqlite::{CommitOutcome, Fault, Health, SqliteStore};

use crate::support::*;

/// A limit holds exactly, whatever the file does.
fn assert_decides(world: &World, n: u32) {
    for _ in 0..5 {
        assert!(world.hit(client(n), CREATE, 5));
    }
    assert!(!world.hit(client(n), CREATE, 5));
}

fn until_fault(store: &SqliteStore, is: impl Fn(&Fault) -> bool) {
    until("the fault is seen", || match store.health() {
        Health::Degraded { fault, .. } => is(&fault),
        _ => false,
    });
}

#[test]
fn a_locked_file_is_written_to_when_the_lock_goes() {
    let world = World::new();
    let store = world.open();
    let blocker = world.second();
    blocker.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_decides(&world, 1);
    until_fault(&store, |fault| *fault == Fault::Locked);
    let outcome = block(store.commit(&[key(client(1), CREATE)]));
    assert_eq!(outcome, CommitOutcome::InMemory(Fault::Locked));
    assert!(store.metrics().backlog >= 1);
    let freed = block(store.free(of("10.0.0.1"))).unwrap();
    assert_eq!((freed.counters, freed.on_file), (1, false));
    assert_decides(&world, 2);
    assert!(block(store.delete_closed(world.clock.now())).is_err());
    blocker.execute_batch("COMMIT").unwrap();
    until_ok(&store);
    until_written(&store);
    assert_eq!(world.rows().len(), 1);
    assert_eq!(world.stored(client(2)), Some(5));
    assert_eq!(store.metrics().faults, 1);
}

#[test]
fn a_file_that_is_locked_at_the_start_is_read_all_the_same() {
    let mut world = World::new();
    let store = world.open();
    assert_decides(&world, 1);
    drop(store);
    let blocker = world.second();
    blocker.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let store = world.restart();
    assert!(matches!(
        store.health(),
        Health::Degraded {
            fault: Fault::Locked,
            ..
        }
    ));
    assert!(!world.hit(client(1), CREATE, 5), "blocked stays blocked");
    assert_decides(&world, 2);
    blocker.execute_batch("COMMIT").unwrap();
    until_ok(&store);
    until_written(&store);
    assert_eq!(world.rows().len(), 2);
}

#[test]
fn garbage_at_the_start_is_moved_aside_and_a_new_file_is_made() {
    let world = World::new();
    for number in 1..=2 {
        fs::write(&world.path, vec![0xa5_u8; 8_192]).unwrap();
        let store = world.open();
        assert_eq!(block(store.free(of("10.0.0.1"))).unwrap().wider, []);
        assert_decides(&world, 1);
        until_ok(&store);
        until_written(&store);
        assert_eq!(world.stored(client(1)), Some(5));
        let aside = world
            .dir
            .path()
            .join(format!("zonai_rate_limit.sqlite.corrupt-{number}"));
        assert_eq!(
            fs::read(aside).unwrap(),
            vec![0xa5_u8; 8_192],
            "nothing is deleted"
        );
    }
}

#[test]
fn a_foreign_table_of_our_name_is_moved_aside() {
    let world = World::new();
    world
        .second()
        .execute_batch("CREATE TABLE _rate_limit (something TEXT)")
        .unwrap();
    let store = world.open();
    assert_decides(&world, 1);
    until_ok(&store);
    until_written(&store);
    assert_eq!(world.stored(client(1)), Some(5));
}

#[test]
fn garbage_written_into_the_file_while_it_is_in_use_loses_nothing() {
    let mut world = World::new();
    let store = world.open();
    for n in 0..2_000 {
        assert!(world.hit(client(n), CREATE, 5));
    }
    until_written(&store);
    // The counters are in the file itself, not in its log.
    world
        .second()
        .pragma_update_and_check(None, "wal_checkpoint", "TRUNCATE", |_| Ok(()))
        .unwrap();
    until("the writer has seen it", || store.metrics().backlog == 0);
    fs::write(&world.path, vec![0x5a_u8; 100_000]).unwrap();
    assert_decides(&world, 5_000);
    until("a new file is made", || {
        world
            .dir
            .path()
            .join("zonai_rate_limit.sqlite.corrupt-1")
            .exists()
    });
    until_ok(&store);
    until_written(&store);
    assert_eq!(world.rows().len(), 2_001);
    drop(store);
    let store = world.restart();
    assert_eq!(store.metrics().restored, 2_001);
}

#[test]
fn a_file_deleted_or_replaced_while_it_is_in_use_is_written_again() {
    for replaced in [false, true] {
        let world = World::new();
        let store = world.open();
        for n in 0..1_500 {
            assert!(world.hit(client(n), CREATE, 5));
        }
        until_written(&store);
        if replaced {
            let other = World::new();
            let from = other.open();
            assert!(other.hit(named("192.0.2.1"), CREATE, 5));
            drop(from);
            fs::rename(&other.path, &world.path).unwrap();
        } else {
            fs::remove_file(&world.path).unwrap();
        }
        assert_decides(&world, 5_000);
        until("a new file has everything", || {
            world.path.exists()
                && store.metrics().backlog == 0
                && store.health() == Health::Ok
                && store.metrics().faults > 0
        });
        until("and nothing else", || world.rows().len() == 1_501);
    }
}

#[test]
fn a_log_deleted_while_it_is_in_use_loses_nothing() {
    let mut world = World::new();
    let store = world.open();
    for n in 0..100 {
        assert!(world.hit(client(n), CREATE, 5));
    }
    until_written(&store);
    fs::remove_file(world.dir.path().join("zonai_rate_limit.sqlite-wal")).unwrap();
    assert_decides(&world, 500);
    until("it is noticed", || store.metrics().faults > 0);
    until_ok(&store);
    until_written(&store);
    drop(store);
    let store = world.restart();
    assert_eq!(store.metrics().restored, 101);
}

#[test]
fn a_folder_that_comes_later_is_used_when_it_comes() {
    let mut world = World::new();
    // Below a plain file nobody can make anything, not even root.
    let blocked = world.dir.path().join("data");
    fs::write(&blocked, "").unwrap();
    world.path = blocked.join(zonai_limit_sqlite::FILE_NAME);
    let store = world.open();
    assert!(matches!(store.health(), Health::Degraded { .. }));
    assert_decides(&world, 1);
    let outcome = block(store.commit(&[key(client(1), CREATE)]));
    assert!(matches!(outcome, CommitOutcome::InMemory(_)));
    fs::remove_file(&blocked).unwrap();
    fs::create_dir(&blocked).unwrap();
    until_ok(&store);
    until_written(&store);
    assert_eq!(world.stored(client(1)), Some(5));
}

#[test]
fn stored_counters_that_come_late_are_loaded_but_not_the_freed_ones() {
    let mut world = World::new();
    let store = world.open();
    for n in [1, 2, 3] {
        assert_decides(&world, n);
    }
    drop(store);
    let hidden = world.dir.path().join("hidden");
    fs::rename(&world.path, &hidden).unwrap();
    // A link to a folder: the file can take its place in one step, with no moment in which there is nothing.
    let folder = world.dir.path().join("folder");
    fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(&folder, &world.path).unwrap();
    let store = world.restart();
    assert!(matches!(store.health(), Health::Degraded { .. }));
    let freed = block(store.free(of("10.0.0.1"))).unwrap();
    assert_eq!((freed.counters, freed.on_file), (0, false));
    fs::rename(&hidden, &world.path).unwrap();
    until_ok(&store);
    until("the freed client's row goes", || world.rows().len() == 2);
    assert_eq!(world.get(client(1), CREATE), None);
    assert!(!world.hit(client(2), CREATE, 5));
}

#[test]
fn a_store_with_a_fault_closes_and_says_what_it_could_not_write() {
    let world = World::new();
    let store = world.open();
    let blocker = world.second();
    blocker.execute_batch("BEGIN EXCLUSIVE").unwrap();
    assert_decides(&world, 1);
    let report = store.close();
    assert_eq!(report.fault, Some(Fault::Locked));
    assert!(report.unwritten >= 1);
}
