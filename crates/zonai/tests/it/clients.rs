//! Clients that honour `Retry-After` as they come, against the real server: each is served after one wait.
//!
//! They come from `.ci/packages` and `tests/browser/package.json`; `cargo xtask test` installs both. Where one is missing
//! its test is skipped and says so, but with `CI=true` it fails.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::Folder;
use crate::serve::Served;

const SCHEMA: &str = "CREATE TABLE items (id TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT;";
/// `Retry-After` of a refusal is then 1 or 2.
const POLICY: &str = "table: items\nlimits:\n  list: 1/2s\n";
const LIST: &str = "/db/list?body=%7B%22table%22%3A%22items%22%7D";
const SERVED: &str = r#"{"data":{"items":[],"total":0}}"#;

/// Whether a test can run. What is missing is an error in CI and a printed reason elsewhere.
pub(crate) fn there(what: &str, found: bool) -> bool {
    let ci = std::env::var("CI").is_ok_and(|value| value == "true" || value == "1");
    assert!(
        found || !ci,
        "{what} is missing: `cargo xtask test` installs it"
    );
    if !found {
        eprintln!("skipped: {what} is missing; `cargo xtask test` installs it");
    }
    found
}

/// Whether a program runs with these words.
pub(crate) fn runs(program: &str, words: &[&str]) -> bool {
    let output = Command::new(program).args(words).output();
    output.is_ok_and(|output| output.status.success())
}

/// Where `npm ci` puts its packages: `npm` in the target folder.
pub(crate) fn modules() -> PathBuf {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tmp.parent().unwrap_or(tmp).join("npm")
}

/// Whether Node and a package of it are there.
pub(crate) fn has_package(name: &str) -> bool {
    let found = modules().join("node_modules").join(name).is_dir();
    there(&format!("the npm package {name}"), found) && there("node", runs("node", &["--version"]))
}

/// A script beside the browser's.
pub(crate) fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/browser")
        .join(name)
}

/// What a command printed, and that it succeeded.
pub(crate) fn output(command: &mut Command) -> (String, String) {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}{err}");
    (out, err)
}

/// A server that has just admitted the one request of its window. The next is refused, unless it comes two seconds
/// later: so a client that was served at once only shows that the machine is slow, and is asked again.
fn refused_once(ask: impl Fn(&str) -> (usize, String)) {
    let folder = Folder::with("");
    folder.write("lib/src/schemas/001.sql", SCHEMA);
    folder.write("lib/src/rules/items.yaml", "list: true\n");
    folder.write("lib/src/rate_limit/items.yaml", POLICY);
    let served = Served::start(&folder, &[]);
    let url = format!("http://{}{LIST}", served.address());
    for _ in 0..10 {
        served.get(LIST);
        let (retries, answer) = ask(&url);
        assert_eq!(answer.trim(), SERVED);
        assert!(retries <= 1, "{retries} waits");
        if retries == 1 {
            return;
        }
    }
    panic!("never refused");
}

/// A script's `<retries> <answer>`.
fn split(printed: &str) -> (usize, String) {
    let (retries, answer) = printed.split_once(' ').expect(printed);
    (retries.parse().expect(printed), answer.to_owned())
}

#[test]
fn curl_retries_after_one_wait() {
    if !there("curl", runs("curl", &["--version"])) {
        return;
    }
    refused_once(|url| {
        let words = [
            "--fail",
            "--no-progress-meter",
            "--globoff",
            "--retry",
            "3",
            "--max-time",
            "30",
        ];
        let (out, err) = output(Command::new("curl").args(words).arg(url));
        (err.matches("Will retry in").count(), out)
    });
}

#[test]
fn urllib3_retries_after_one_wait() {
    // The system's Python has Debian's package, another one may stand before it.
    let found = ["python3", "/usr/bin/python3"]
        .into_iter()
        .find(|python| runs(python, &["-c", "import urllib3"]));
    there("urllib3 for python3", found.is_some());
    let Some(python) = found else { return };
    refused_once(|url| split(&output(Command::new(python).arg(script("retry.py")).arg(url)).0));
}

#[test]
fn got_retries_after_one_wait() {
    node_client("got");
}

#[test]
fn ky_retries_after_one_wait() {
    node_client("ky");
}

fn node_client(name: &str) {
    if !has_package(name) {
        return;
    }
    refused_once(|url| {
        let mut node = Command::new("node");
        node.arg(script("retry.mjs"))
            .args([name, url])
            .env("MODULES", modules());
        split(&output(&mut node).0)
    });
}
