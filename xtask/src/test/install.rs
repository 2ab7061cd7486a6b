//! What the tests need from Debian: `.ci/packages`, one a line.
//!
//! As root on Debian what is missing is installed; elsewhere it is named and the tests go on, so that a person sees
//! what fails for want of it. Must never install anything that is not on the list.

use std::process::{Command, Stdio};

use crate::tree;

const LIST: &str = ".ci/packages";

/// Installs what is missing, or says what is.
pub(super) fn run() -> Result<(), tree::Error> {
    let list = std::fs::read_to_string(tree::root().join(LIST))?;
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

fn is_installed(package: &str) -> bool {
    let asked = Command::new("dpkg-query")
        .args(["--show", "--showformat=${db:Status-Status}", package])
        .stderr(Stdio::null())
        .output();
    asked.is_ok_and(|answer| answer.stdout == b"installed")
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
