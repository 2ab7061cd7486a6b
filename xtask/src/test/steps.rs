//! The steps, each one command.
//!
//! Must never hold logic of its own: what a step checks is in the tool it calls.

use std::fmt;
use std::process::{Command, Stdio};

use crate::tree;

/// One command that must succeed.
pub(super) struct Step {
    pub(super) name: &'static str,
    program: &'static str,
    arguments: Vec<&'static str>,
    environment: Vec<(&'static str, &'static str)>,
    /// `cargo NAME` that must be installed; without it the step is skipped, with what to do.
    needs: Option<(&'static str, &'static str)>,
}

/// How a step ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Failed,
    Skipped(&'static str),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => f.write_str("passed"),
            Self::Failed => f.write_str("FAILED"),
            Self::Skipped(why) => write!(f, "skipped ({why})"),
        }
    }
}

/// All of them. The tests come last, so that their count is the last word.
pub(super) fn all() -> Vec<Step> {
    let tests = if has("nextest") {
        "nextest run --workspace --locked --no-fail-fast"
    } else {
        "test --workspace --locked --lib --bins --tests --no-fail-fast"
    };
    vec![
        step("format", "fmt --all --check"),
        step("tidy", "xtask tidy"),
        step("deny", "deny check bans licenses sources").needing(
            "deny",
            "cargo-deny is not installed: cargo install --locked cargo-deny",
        ),
        step(
            "clippy",
            "clippy --workspace --all-targets --locked -- -D warnings",
        ),
        step(
            "docs",
            "doc --workspace --no-deps --locked --document-private-items",
        )
        .with("RUSTDOCFLAGS", "-D warnings"),
        Step {
            program: "python3",
            ..step("bench", "bench/tests/test_harness.py")
        },
        step(
            "threads",
            "test --locked -p zonai-limit --features shuttle --test shuttle",
        ),
        Step {
            program: "python3",
            ..step("instructions", "bench/instructions")
        },
        step("fuzz", "xtask fuzz"),
        step("doc-tests", "test --workspace --doc --locked"),
        step("tests", tests).with("INSTA_UPDATE", "no"),
    ]
}

fn step(name: &'static str, command: &'static str) -> Step {
    Step {
        name,
        program: "cargo",
        arguments: command.split_whitespace().collect(),
        environment: Vec::new(),
        needs: None,
    }
}

/// Whether `cargo NAME` is installed.
fn has(name: &str) -> bool {
    let mut command = Command::new(format!("cargo-{name}"));
    let asked = command
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    asked.is_ok_and(|status| status.success())
}

impl Step {
    fn needing(mut self, name: &'static str, otherwise: &'static str) -> Self {
        self.needs = Some((name, otherwise));
        self
    }

    fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    /// The command as a person would type it.
    pub(super) fn shown(&self) -> String {
        let environment = self
            .environment
            .iter()
            .map(|(name, value)| format!("{name}='{value}' "))
            .collect::<String>();
        format!("{environment}{} {}", self.program, self.arguments.join(" "))
    }

    pub(super) fn run(&self) -> Outcome {
        if let Some((_, otherwise)) = self.needs.filter(|(name, _)| !has(name)) {
            return Outcome::Skipped(otherwise);
        }
        let (mut command, arguments) = match self.arguments.split_first() {
            // This program itself: cargo would wait for the folder that whoever calls us may hold.
            Some((&"xtask", rest)) => (
                Command::new(std::env::current_exe().unwrap_or_default()),
                rest,
            ),
            _ if self.program == "cargo" => (tree::cargo(), self.arguments.as_slice()),
            _ => (Command::new(self.program), self.arguments.as_slice()),
        };
        command
            .args(arguments)
            .envs(self.environment.iter().copied())
            .current_dir(tree::root());
        match command.stdin(Stdio::null()).status() {
            Ok(status) if status.success() => Outcome::Passed,
            Ok(_) => Outcome::Failed,
            Err(error) => {
                println!("{}: {error}", self.program);
                Outcome::Failed
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Outcome, Step, all, step};

    #[test]
    fn a_step_is_shown_as_it_would_be_typed() {
        let shown = step("docs", "doc --no-deps")
            .with("RUSTDOCFLAGS", "-D warnings")
            .shown();
        assert_eq!(shown, "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
    }

    #[test]
    fn a_step_that_cannot_run_says_why() {
        let step = step("a", "version").needing("no-such-subcommand-of-cargo", "install it");
        assert_eq!(step.run(), Outcome::Skipped("install it"));
    }

    #[test]
    fn a_step_fails_with_its_command() {
        assert_eq!(
            step("a", "no-such-subcommand-of-cargo").run(),
            Outcome::Failed
        );
        let missing = Step {
            program: "no-such-program-anywhere",
            ..step("a", "")
        };
        assert_eq!(missing.run(), Outcome::Failed);
    }

    #[test]
    fn the_tests_are_the_last_step() {
        assert_eq!(all().last().map(|step| step.name), Some("tests"));
    }
}
