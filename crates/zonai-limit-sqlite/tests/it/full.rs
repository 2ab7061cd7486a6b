//! No space, and a file system that is read-only. A small file system needs root; without it these tests say so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use zonai_limit_sqlite::{Fault, Health, SqliteStore};

use crate::support::*;

/// A small file system of its own, gone with the value.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path) -> Option<Self> {
        fs::create_dir(at).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=512k", "tmpfs"])
            .arg(at)
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self(at.to_owned())),
            _ => {
                println!("skipped: no small file system can be mounted here (needs root)");
                None
            }
        }
    }

    fn remount(&self, how: &str) {
        let how = format!("remount,{how}");
        assert!(
            Command::new("mount")
                .args(["-o", &how])
                .arg(&self.0)
                .status()
                .unwrap()
                .success()
        );
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

fn fault(store: &SqliteStore) -> Option<Fault> {
    match store.health() {
        Health::Degraded { fault, .. } => Some(fault),
        _ => None,
    }
}

#[test]
fn a_full_file_takes_counters_again_when_closed_ones_are_swept() {
    let mut world = World::new();
    world.options.max_pages = Some(24);
    let store = world.open();
    for n in 0..2_000 {
        assert!(world.hit(client(n), CREATE, 1));
    }
    until("the file is full", || fault(&store) == Some(Fault::Full));
    for n in 0..2_000 {
        assert!(!world.hit(client(n), CREATE, 1), "deciding goes on");
    }
    assert!(store.metrics().backlog > 0);
    let freed = block(store.free(of("10.0.0.0/8"))).unwrap();
    assert_eq!((freed.counters, freed.on_file), (2_000, false));
    until_ok(&store);
    assert!(world.hit(client(1), CREATE, 1));
    until_written(&store);
    until("only the new one is stored", || world.rows().len() == 1);
}

#[test]
fn a_full_disk_is_written_to_when_there_is_room_again() {
    let mut world = World::new();
    let Some(small) = Small::mount(&world.dir.path().join("small")) else {
        return;
    };
    world.path = small.0.join(zonai_limit_sqlite::FILE_NAME);
    let store = world.open();
    assert!(world.hit(client(1), CREATE, 1));
    until_written(&store);
    let ballast = small.0.join("ballast");
    let _ = fs::write(&ballast, vec![1_u8; 1_000_000]);
    for n in 2..1_000 {
        assert!(world.hit(client(n), CREATE, 1));
    }
    until("the disk is full", || fault(&store).is_some());
    println!("fault: {:?}", fault(&store));
    for n in 1..1_000 {
        assert!(!world.hit(client(n), CREATE, 1), "deciding goes on");
    }
    fs::remove_file(&ballast).unwrap();
    until_ok(&store);
    until_written(&store);
    assert_eq!(world.rows().len(), 999);
    drop(store);
    drop(small);
}

#[test]
fn a_read_only_folder_is_read_from_and_written_to_later() {
    let mut world = World::new();
    let Some(small) = Small::mount(&world.dir.path().join("small")) else {
        return;
    };
    world.path = small.0.join(zonai_limit_sqlite::FILE_NAME);
    let store = world.open();
    assert!(world.hit(client(1), CREATE, 1));
    drop(store);
    small.remount("ro");
    let store = world.restart();
    assert!(fault(&store).is_some());
    println!(
        "fault: {:?}, restored {}",
        fault(&store),
        store.metrics().restored
    );
    assert!(!world.hit(client(1), CREATE, 1), "blocked stays blocked");
    assert!(world.hit(client(2), CREATE, 1));
    small.remount("rw");
    until_ok(&store);
    until_written(&store);
    assert_eq!(world.rows().len(), 2);
    drop(store);
    drop(small);
}
