//! What the tests need from Debian (`.ci/packages`, one a line) and from npm (`crates/zonai/tests/browser`).
//!
//! As root on Debian what is missing is installed; elsewhere it is named and the tests go on, so that a person sees
//! what fails for want of it. Must never install anything that is not on the list.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::tree;

const LIST: &str = ".ci/packages";
/// Where npm's list and its lock file stand.
const NPM: &str = "crates/zonai/tests/browser";

/// Installs what is missing, or says what is.
pub(super) fn run() -> Result<(), tree::Error> {
    debian()?;
    npm()
}

fn debian() -> Result<(), tree::Error> {
    let list = fs::read_to_string(tree::root().join(LIST))?;
    let missing: Vec<&str> = packages(&list).filter(|name| !is_installed(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !is_debian() || !is_root() {
        println!(
            "not installed: {}\nsome tests need them: apt-get install {}",
            missing.join(" "),
            missing.join(" ")
        );
        return Ok(());
    }
    println!("==> install: {}", missing.join(" "));
    apt(&["update", "-q"])?;
    apt(&[
        &["install", "-qy", "--no-install-recommends"],
        missing.as_slice(),
    ]
    .concat())
}

fn packages(list: &str) -> impl Iterator<Item = &str> {
    list.lines()
        .map(|line| line.split('#').next().unwrap_or("").trim())
        .filter(|name| !name.is_empty())
}

/// A program of that name will do, wherever it came from: Node's own packages bring `npm` along, Debian's do not.
fn is_installed(package: &str) -> bool {
    if on_path(package) {
        return true;
    }
    let asked = Command::new("dpkg-query")
        .args(["--show", "--showformat=${db:Status-Status}", package])
        .stderr(Stdio::null())
        .output();
    asked.is_ok_and(|answer| answer.stdout == b"installed")
}

fn on_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Installs exactly what the lock file says into `npm` in the target folder; nothing of it runs while it is installed.
fn npm() -> Result<(), tree::Error> {
    let from = tree::root().join(NPM);
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    let to = tree::root().join(target).join("npm");
    let lock = fs::read(from.join("package-lock.json"))?;
    // npm writes the second file when everything else is in place.
    let is_done = fs::read(to.join("package-lock.json")).is_ok_and(|found| found == lock)
        && to.join("node_modules/.package-lock.json").is_file();
    if is_done {
        return Ok(());
    }
    if !on_path("npm") {
        println!("not installed: npm\nsome tests need it and skip without");
        return Ok(());
    }
    println!("==> install: npm packages of {NPM}");
    fs::create_dir_all(&to)?;
    for name in ["package.json", "package-lock.json"] {
        fs::copy(from.join(name), to.join(name))?;
    }
    let status = Command::new("npm")
        .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(&to)
        .status()?;
    if !status.success() {
        println!("npm ci failed: the tests that need its packages skip, or fail where CI=true");
    }
    Ok(())
}

fn is_debian() -> bool {
    std::path::Path::new("/etc/debian_version").exists()
}

fn is_root() -> bool {
    let asked = Command::new("id").arg("-u").output();
    asked.is_ok_and(|answer| answer.stdout.trim_ascii() == b"0")
}

fn apt(arguments: &[&str]) -> Result<(), tree::Error> {
    let status = Command::new("apt-get")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .status()?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("apt-get {} failed", arguments.join(" ")).into())
    }
}

#[cfg(test)]
mod tests {
    use super::packages;

    #[test]
    fn the_list_has_comments_and_blank_lines() {
        let found: Vec<_> = packages("# why\nnginx   # a real proxy\n\nhaproxy\n").collect();
        assert_eq!(found, ["nginx", "haproxy"]);
    }
}
