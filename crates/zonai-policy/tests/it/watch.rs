//! The watched folder: every way in which it changes is seen, and nothing starves.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

use zonai_policy::{Fingerprint, Pace, Watch, read_folder};

use crate::support::tables;

const LONG: Duration = Duration::from_secs(20);

fn fast() -> Pace {
    Pace {
        look: Duration::from_millis(4),
        settle: Duration::from_millis(2),
        ..Pace::default()
    }
}

/// Watches, and sends what stands in the folder after each change: `tasks=10/1m`.
fn watched(dir: &Path) -> (Watch, Receiver<String>) {
    let (send, receive) = sync_channel(1_000);
    let folder = dir.to_owned();
    let seen = Fingerprint::of(dir);
    let watch = Watch::start(dir, seen, fast(), move || {
        let reading = read_folder(&folder, &tables());
        let shown: Vec<String> = reading
            .registrations
            .iter()
            .map(|stated| {
                format!(
                    "{}={}",
                    stated.limits.table,
                    crate::support::shape(stated).3["create"]
                )
            })
            .collect();
        let _ = send.send(if reading.faults.is_empty() {
            shown.join(" ")
        } else {
            "faults".to_owned()
        });
    });
    (watch.unwrap(), receive)
}

fn wait_for(receive: &Receiver<String>, wanted: &str) {
    let mut told = Vec::new();
    loop {
        match receive.recv_timeout(LONG) {
            Ok(state) if state == wanted => return,
            Ok(state) => told.push(state),
            Err(_) => panic!("never {wanted:?}, but {told:?}"),
        }
    }
}

fn policy(table: &str, limit: &str) -> String {
    format!("table: {table}\nlimits: {{create: {limit}}}\n")
}

#[test]
fn a_folder_that_appears_changes_and_goes_is_seen() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("lib/src/rate_limit");
    let (watch, receive) = watched(&dir);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("a.yaml"), policy("tasks", "1/1m")).unwrap();
    wait_for(&receive, "tasks=1/1m");
    fs::write(dir.join("a.yaml"), policy("tasks", "2/1m")).unwrap();
    wait_for(&receive, "tasks=2/1m");
    // As editors do it.
    fs::write(dir.join(".a.yaml.tmp"), policy("tasks", "3/1m")).unwrap();
    fs::rename(dir.join(".a.yaml.tmp"), dir.join("a.yaml")).unwrap();
    wait_for(&receive, "tasks=3/1m");
    fs::write(dir.join("b.yml"), policy("notes", "4/1m")).unwrap();
    wait_for(&receive, "tasks=3/1m notes=4/1m");
    fs::write(dir.join("b.yml"), "broken: [").unwrap();
    wait_for(&receive, "faults");
    fs::remove_dir_all(&dir).unwrap();
    wait_for(&receive, "");
    watch.stop();
}

#[test]
fn a_swapped_symlink_is_seen_wherever_on_the_path_it_stands() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    for (folder, limit) in [("v1", "1/1m"), ("v2", "2/1m")] {
        fs::create_dir_all(path(folder).join("rate_limit")).unwrap();
        fs::write(
            path(folder).join("rate_limit/a.yaml"),
            policy("tasks", limit),
        )
        .unwrap();
    }
    symlink("v1", path("data")).unwrap();
    // The folder is a real one, its files lead through a link that is swapped, as mounted configuration does.
    fs::create_dir(path("mounted")).unwrap();
    symlink("../data/rate_limit/a.yaml", path("mounted/a.yaml")).unwrap();
    let (through_parent, of_parent) = watched(&path("data/rate_limit"));
    let (through_file, of_file) = watched(&path("mounted"));
    symlink("v2", path("data.tmp")).unwrap();
    fs::rename(path("data.tmp"), path("data")).unwrap();
    wait_for(&of_parent, "tasks=2/1m");
    wait_for(&of_file, "tasks=2/1m");
    drop((through_parent, through_file));
}

#[test]
fn what_changed_between_reading_and_watching_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.yaml"), policy("tasks", "1/1m")).unwrap();
    let seen = read_folder(dir.path(), &tables()).fingerprint;
    assert_eq!(seen, Fingerprint::of(dir.path()));
    fs::write(dir.path().join("a.yaml"), policy("tasks", "2/1m")).unwrap();
    let (send, receive) = sync_channel(1_000);
    let watch = Watch::start(dir.path(), seen, fast(), move || send.send(()).unwrap()).unwrap();
    receive.recv_timeout(LONG).unwrap();
    watch.stop();
}

#[test]
fn a_write_that_looks_the_same_from_outside_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.yaml");
    // Of one size, and as fast as the file system's clock can hardly tell apart.
    let (watch, receive) = watched(dir.path());
    for round in 0..50 {
        let limit = format!("{}/1m", 10 + round);
        fs::write(&file, policy("tasks", "99/1m")).unwrap();
        fs::write(&file, policy("tasks", &limit)).unwrap();
        wait_for(&receive, &format!("tasks={limit}"));
    }
    watch.stop();
}

#[test]
fn changes_that_never_end_starve_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.yaml");
    let (watch, receive) = watched(dir.path());
    let done = Arc::new(AtomicBool::new(false));
    let writer = std::thread::Builder::new()
        .spawn({
            let done = Arc::clone(&done);
            move || {
                let mut round = 0_u32;
                while !done.load(Ordering::Relaxed) {
                    round += 1;
                    fs::write(
                        file.with_extension("tmp"),
                        policy("tasks", &format!("{round}/1m")),
                    )
                    .unwrap();
                    fs::rename(file.with_extension("tmp"), &file).unwrap();
                }
            }
        })
        .unwrap();
    for _ in 0..10 {
        let state = receive.recv_timeout(LONG).unwrap();
        assert!(state.starts_with("tasks="), "{state}");
    }
    done.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    watch.stop();
}

#[test]
fn a_nudge_reads_again_and_a_panic_ends_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (send, receive) = sync_channel(1_000);
    let mut calls = 0;
    let pace = Pace {
        look: Duration::from_secs(3_600),
        ..fast()
    };
    let watch = Watch::start(dir.path(), Fingerprint::of(dir.path()), pace, move || {
        calls += 1;
        send.send(calls).unwrap();
        assert!(calls != 1, "the first reading fails");
    })
    .unwrap();
    for call in 1..=3 {
        watch.nudge();
        assert_eq!(receive.recv_timeout(LONG), Ok(call));
    }
    // Stopping does not wait for the hour to pass.
    watch.stop();
    assert!(receive.recv_timeout(LONG).is_err());
}
