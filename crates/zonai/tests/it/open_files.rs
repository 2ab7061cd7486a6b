//! A process may open only so many files, and every connection is one.

use std::net::TcpStream;
use std::process::Command;

use crate::run::Folder;
use crate::serve::{Served, project};

/// The program under the limits that this line of the shell sets.
fn served_under(folder: &Folder, limits: &str) -> Served {
    let mut command = Command::new("/bin/sh");
    let script = format!("{limits} && exec \"$@\"");
    let serve = ["serve", "--host", "127.0.0.1", "--port", "0"];
    command
        .env_clear()
        .args(["-c", &script, "sh", env!("CARGO_BIN_EXE_zonai")])
        .args(serve);
    Served::start_by(folder, command)
}

/// promises 7.7: as where all places are taken, whoever holds a connection without a request makes room.
#[test]
fn where_files_run_out_idle_connections_make_room() {
    let folder = project();
    let served = served_under(&folder, "ulimit -n 100");
    let idle: Vec<TcpStream> = (0..200)
        .map(|_| TcpStream::connect(served.address()).unwrap())
        .collect();
    for _ in 0..3 {
        assert_eq!(&served.get("/health")[9..12], "200");
    }
    assert_eq!(served.count("cannot accept"), 1);
    drop(idle);
}

#[test]
fn the_soft_limit_of_files_is_raised_to_the_hard_one() {
    let folder = project();
    let served = served_under(&folder, "ulimit -n 512 && ulimit -S -n 100");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", served.child.id())).unwrap();
    let line = limits
        .lines()
        .find(|line| line.starts_with("Max open files"));
    let words: Vec<&str> = line.unwrap().split_whitespace().collect();
    assert_eq!(words[3..5], ["512", "512"]);
}
