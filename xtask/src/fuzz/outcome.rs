//! What a run of a target says: how many inputs, or the one that breaks something and how to run it again.
//!
//! Must never hide a run that ended early: whatever is not a clean end is broken.

use std::fmt;
use std::path::PathBuf;

use super::target::Target;

/// The most lines of the log that are shown.
const SHOWN: usize = 40;

/// How a run ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed {
        name: String,
        /// Inputs that were run.
        inputs: u64,
        /// Ways through the code that were seen.
        features: u64,
    },
    Broken {
        name: String,
        program: PathBuf,
        /// The input, where one was saved.
        input: Option<String>,
        /// What was printed about it.
        said: String,
    },
}

impl Outcome {
    pub(super) fn is_broken(&self) -> bool {
        matches!(self, Self::Broken { .. })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed {
                name,
                inputs,
                features,
            } => write!(
                f,
                "{name}: {inputs} inputs, {features} ways, nothing broken"
            ),
            Self::Broken {
                name,
                program,
                input,
                said,
            } => {
                writeln!(f, "{said}")?;
                write!(f, "{name}: BROKEN")?;
                match input {
                    Some(input) => write!(
                        f,
                        "\n  the input is {input}\n  again: {} {input}",
                        program.display()
                    ),
                    None => write!(f, ", and no input was saved"),
                }
            }
        }
    }
}

/// Reads the log of a run.
pub(super) fn read(target: &Target, ended_well: bool, log: &str) -> Outcome {
    let stat = |name: &str| {
        let lines = log.lines().rev();
        let mut found = lines.filter_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        found.next()
    };
    if let (true, Some(inputs)) = (ended_well, stat("stat::number_of_executed_units:")) {
        return Outcome::Passed {
            name: target.name.clone(),
            inputs,
            features: features(log).unwrap_or(0),
        };
    }
    let saved = log
        .lines()
        .rev()
        .find_map(|line| line.split_once("Test unit written to "));
    Outcome::Broken {
        name: target.name.clone(),
        program: target.path.clone(),
        input: saved.map(|(_, path)| path.trim().to_owned()),
        said: told(log),
    }
}

/// `#4711 DONE cov: 200 ft: 300 …`: the last one.
fn features(log: &str) -> Option<u64> {
    let line = log.lines().rev().find(|line| line.contains(" ft: "))?;
    line.split_once(" ft: ")?
        .1
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

/// The log without what libFuzzer says of its progress; not the bytes of the input, which are in a file.
fn told(log: &str) -> String {
    let progress = |line: &str| line.starts_with('#') && line.contains(" cov: ");
    let lines: Vec<&str> = log
        .lines()
        .filter(|line| !progress(line) && !line.starts_with("stat::"))
        .filter(|line| !line.starts_with("INFO: ") && !line.starts_with("0x"))
        .collect();
    let start = lines
        .iter()
        .position(|line| line.contains("panicked at") || line.contains("ERROR: "))
        .unwrap_or(lines.len().saturating_sub(SHOWN));
    let shown = lines.iter().skip(start).take(SHOWN).copied();
    shown.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{Outcome, read};
    use crate::fuzz::target::Target;

    fn target() -> Target {
        Target {
            name: "a".to_owned(),
            path: "bin/a".into(),
        }
    }

    const CLEAN: &str = "INFO: Seed: 7\n#2\tINITED cov: 3 ft: 3 corp: 1/1b\n#900\tDONE   cov: 20 ft: 31 corp: 4/9b\n\
        stat::number_of_executed_units: 900\nstat::peak_rss_mb: 30\n";
    const CRASH: &str = "INFO: Seed: 7\n#2\tINITED cov: 3 ft: 3\n\nthread '<unnamed>' panicked at x.rs:1:2:\nleft\n\
        ==1== ERROR: libFuzzer: deadly signal\n0x31,0x32,\n\
        artifact_prefix='f/'; Test unit written to f/crash-da39\n";

    #[test]
    fn a_run_that_ends_well_tells_its_figures() {
        let shown = read(&target(), true, CLEAN).to_string();
        assert_eq!(shown, "a: 900 inputs, 31 ways, nothing broken");
    }

    #[test]
    fn a_crash_tells_the_panic_the_input_and_how_to_run_it_again() {
        let outcome = read(&target(), false, CRASH);
        assert!(outcome.is_broken());
        let shown = outcome.to_string();
        assert!(shown.starts_with("thread '<unnamed>' panicked at x.rs:1:2:\nleft\n"));
        assert!(
            shown.ends_with("a: BROKEN\n  the input is f/crash-da39\n  again: bin/a f/crash-da39")
        );
        assert!(
            !shown.contains("0x31") && !shown.contains("INITED"),
            "{shown}"
        );
    }

    #[test]
    fn a_run_that_ends_without_its_figures_is_broken() {
        for (well, log) in [(true, ""), (false, CLEAN)] {
            let outcome = read(&target(), well, log);
            assert!(
                matches!(outcome, Outcome::Broken { input: None, .. }),
                "{outcome}"
            );
        }
    }
}
