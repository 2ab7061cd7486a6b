//! A small file system under the data folder, which can be filled. It needs root; without it nothing is filled, and it says so.
//!
//! Must never leave a mount behind.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

pub(super) struct Disk(PathBuf);

impl Disk {
    pub(super) fn mount(at: &Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=64m", "tmpfs"])
            .arg(at)
            .output();
        if mounted.is_ok_and(|output| output.status.success()) {
            return Some(Self(at.to_owned()));
        }
        println!(
            "skipped: no disk is filled, as no small file system can be mounted here (needs root)"
        );
        None
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }

    /// Leaves no byte.
    pub(super) fn fill(&self) {
        let mut ballast = File::create(self.ballast()).unwrap();
        let mut size = 1 << 20;
        while size > 0 {
            if ballast.write_all(&vec![1; size]).is_err() {
                size /= 4;
            }
        }
    }

    pub(super) fn make_room(&self) {
        let _ = fs::remove_file(self.ballast());
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Every database of the data folder is whole; no server may be running.
pub(super) fn check_databases(data: &Path) -> Result<(), String> {
    for name in ["zonai.sqlite", "zonai_rate_limit.sqlite"] {
        let path = data.join(name);
        if !path.exists() {
            continue;
        }
        let told = |error: rusqlite::Error| format!("{name}: {error}");
        let conn = rusqlite::Connection::open(&path).map_err(told)?;
        let said: String = conn
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .map_err(told)?;
        if said != "ok" {
            return Err(format!("{name} is damaged: {said}"));
        }
    }
    Ok(())
}
