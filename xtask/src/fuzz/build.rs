//! Builds the fuzz targets with the stable compiler, and says where each program is.
//!
//! The flags are what libFuzzer needs to see which ways an input takes. Must always name the machine's own target:
//! cargo then leaves build scripts and macros without these flags.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::target::Target;
use crate::tree;

const MANIFEST: &str = "fuzz/Cargo.toml";
/// One codegen unit a crate: places in the code keep their numbers, so that a seed means the same in the next build.
const FLAGS: [&str; 9] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cllvm-args=-simplifycfg-branch-fold-threshold=0",
    "-Ccodegen-units=1",
    "--cfg",
    "fuzzing",
];

/// All targets, in name order.
pub(super) fn run() -> Result<Vec<Target>, tree::Error> {
    let host = host()?;
    let built = tree::cargo()
        .args(["build", "--release", "--locked", "--bins"])
        .args(["--manifest-path", MANIFEST, "--target", &host])
        .arg("--message-format=json-render-diagnostics")
        .env("CARGO_ENCODED_RUSTFLAGS", FLAGS.join("\u{1f}"))
        .current_dir(tree::root())
        .stderr(Stdio::inherit())
        .output()?;
    if !built.status.success() {
        return Err("the fuzz targets do not build".into());
    }
    let mut targets: Vec<Target> = String::from_utf8_lossy(&built.stdout)
        .lines()
        .filter_map(program)
        .collect();
    targets.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(targets)
}

/// The program that a message of cargo tells of.
fn program(message: &str) -> Option<Target> {
    let message: Value = serde_json::from_str(message).ok()?;
    let path = PathBuf::from(message.get("executable")?.as_str()?);
    let name = message.get("target")?.get("name")?.as_str()?.to_owned();
    Some(Target { name, path })
}

/// The target that this compiler builds for by itself.
fn host() -> Result<String, tree::Error> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = tree::output(Command::new(rustc).arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc does not say its host")?.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::program;

    #[test]
    fn only_programs_are_taken_from_the_messages() {
        let built = r#"{"reason":"compiler-artifact","target":{"name":"a"},"executable":"t/a"}"#;
        let found = program(built).unwrap();
        assert_eq!(
            (found.name.as_str(), found.path.to_str()),
            ("a", Some("t/a"))
        );
        let library = r#"{"reason":"compiler-artifact","target":{"name":"a"},"executable":null}"#;
        assert!(program(library).is_none());
        assert!(program("Compiling a").is_none());
    }
}
