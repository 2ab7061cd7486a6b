//! What a page in a real browser sees, against the real server: the scripts in `tests/browser`, in headless Chromium.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::clients::{has_package, modules, output, script, there};
use crate::run::Folder;
use crate::serve::Served;

/// How long the window of `list` is, in seconds: long enough to be used up in it, short enough to wait for.
const WINDOW: &str = "3";

/// Debian's name, and where others put it.
fn chromium() -> Option<PathBuf> {
    let given = std::env::var_os("CHROMIUM").map(PathBuf::from);
    let usual = [
        "/usr/bin/chromium",
        "/usr/bin/chromium-browser",
        "/usr/bin/google-chrome",
    ]
    .map(PathBuf::from);
    given.into_iter().chain(usual).find(|path| path.is_file())
}

/// The shop of the examples with a policy for `items` that a test meets soon.
fn shop(policy: &str) -> Folder {
    let folder = Folder::empty();
    let example = example();
    for name in [
        "zonai.yaml",
        "lib/src/schemas/001_shop.sql",
        "lib/src/rules/items.yaml",
        "lib/src/rules/orders.yaml",
        "lib/src/rules/users.yaml",
        "lib/src/operations/items.yaml",
        "lib/src/rate_limit/orders.yaml",
        "lib/src/rate_limit/users.yaml",
    ] {
        folder.write(
            name,
            &std::fs::read_to_string(example.join(name)).expect(name),
        );
    }
    folder.write("lib/src/rate_limit/items.yaml", policy);
    folder
}

fn example() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/shop")
}

/// Runs a script in the browser against the shop.
fn in_browser(name: &str, policy: &str, words: &[&str]) {
    let chromium = chromium();
    there("chromium", chromium.is_some());
    let Some(chromium) = chromium else { return };
    if !has_package("playwright-core") {
        return;
    }
    let folder = shop(policy);
    let served = Served::start(&folder, &[]);
    let mut node = Command::new("node");
    node.arg(script(name))
        .arg(format!("http://{}", served.address()))
        .args(words)
        .env("MODULES", modules())
        .env("CHROMIUM", chromium);
    assert_eq!(output(&mut node).0, "ok\n");
}

#[test]
fn the_shop_is_in_order() {
    let folder =
        shop(&std::fs::read_to_string(example().join("lib/src/rate_limit/items.yaml")).unwrap());
    let outcome = folder.zonai(&["check"]);
    assert_eq!(outcome.code, 0, "{}{}", outcome.out, outcome.err);
}

#[test]
fn a_live_page_follows_changes_and_comes_back_after_a_refusal() {
    let page = example().join("page/index.html");
    let policy = format!("table: items\nlimits:\n  list: 4/{WINDOW}s\n");
    in_browser("page.mjs", &policy, &[page.to_str().unwrap(), WINDOW]);
}

#[test]
fn a_page_of_another_origin_reads_a_refusal() {
    in_browser(
        "refused.mjs",
        "table: items\nlimits:\n  count: 1/1h\n  delete: 0/1h\n",
        &[],
    );
}
