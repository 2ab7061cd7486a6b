//! One server for one data folder.

use std::fs;

use zonai::lock::{DataLock, LockError};

use crate::run::Folder;

#[test]
fn a_second_lock_is_refused_and_names_the_process() {
    let folder = Folder::empty();
    let data = folder.path().join("data");
    let first = DataLock::acquire(&data).unwrap();
    let error = DataLock::acquire(&data).unwrap_err();
    let LockError::Held { pid, .. } = &error else {
        panic!("{error}")
    };
    assert_eq!(*pid, Some(std::process::id()));
    assert!(
        error
            .to_string()
            .contains(&format!("process {}", std::process::id()))
    );
    assert_eq!(
        DataLock::holder(&data).unwrap().unwrap().pid,
        Some(std::process::id())
    );
    drop(first);
    assert_eq!(DataLock::holder(&data).unwrap(), None);
    drop(DataLock::acquire(&data).unwrap());
}

#[test]
fn what_a_killed_server_left_behind_does_not_lock() {
    let folder = Folder::empty();
    fs::write(folder.path().join(".serve.lock"), "1\n").unwrap();
    drop(DataLock::acquire(folder.path()).unwrap());
}

#[test]
fn a_folder_nobody_served_has_no_holder() {
    let folder = Folder::empty();
    assert_eq!(DataLock::holder(&folder.path().join("none")).unwrap(), None);
}
