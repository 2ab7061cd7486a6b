//! `docs/design/promises.md` against the tests: no promise loses its test.
//!
//! A row is `| number | promise | tests |`. A test is `crate::name_of_the_function`, a script of the project its
//! path. What no run of all tests runs stands behind `by hand:`, and its command in `CONTRIBUTING.md`. A promise that
//! nothing holds yet says `missing` and stands under "Not yet". Must never run a test.

use std::collections::BTreeSet;
use std::process::ExitCode;

use crate::report::Report;
use crate::source::Source;
use crate::tree;

const PAGE: &str = "docs/design/promises.md";
/// Where the commands of what runs by hand stand.
const COMMANDS: &str = "CONTRIBUTING.md";
/// In front of what no run of all tests runs.
const BY_HAND: &str = "by hand:";
/// How many numbered promises each section of the limiter has; each must be on the page.
const SECTIONS: [usize; 9] = [6, 6, 8, 8, 7, 1, 7, 3, 3];

/// A row of the page.
#[derive(Debug, PartialEq, Eq)]
struct Promise {
    line: usize,
    number: String,
    text: String,
    tests: Vec<String>,
    by_hand: Vec<String>,
    missing: bool,
}

/// What the page is held against.
struct Project<F> {
    tests: BTreeSet<String>,
    /// Tests that are ignored unless somebody asks for them.
    ignored: BTreeSet<String>,
    commands: String,
    is_file: F,
}

/// `cargo xtask promises`.
pub(crate) fn run() -> Result<ExitCode, tree::Error> {
    let sources = tree::sources(&tree::files()?)?;
    let page = std::fs::read_to_string(tree::root().join(PAGE))?;
    for promise in rows(&page) {
        let held = if promise.missing {
            "missing".to_owned()
        } else {
            let all = [promise.tests, promise.by_hand].concat();
            all.join(", ")
        };
        println!("{:6} {}\n       {held}", promise.number, promise.text);
    }
    let mut report = Report::default();
    check(&sources, &mut report)?;
    Ok(report.close("promises"))
}

/// Adds what is wrong with the page to `report`.
pub(crate) fn check(sources: &[Source], report: &mut Report) -> Result<(), tree::Error> {
    let page = std::fs::read_to_string(tree::root().join(PAGE))?;
    let project = Project {
        tests: known_tests(sources, false),
        ignored: known_tests(sources, true),
        commands: std::fs::read_to_string(tree::root().join(COMMANDS))?,
        is_file: |path: &str| tree::root().join(path).is_file(),
    };
    faults(&page, &project, report);
    complete(&page, report);
    Ok(())
}

/// Every test of the project as `crate::name`: those that are `ignored`, or the others.
fn known_tests(sources: &[Source], ignored: bool) -> BTreeSet<String> {
    let mut known = BTreeSet::new();
    for source in sources {
        let package = source.package().rsplit('/').next().unwrap_or("").to_owned();
        for test in source
            .functions()
            .into_iter()
            .filter(|function| function.is_test && function.is_ignored == ignored)
        {
            known.insert(format!("{package}::{}", test.name));
        }
    }
    known
}

fn faults(page: &str, project: &Project<impl Fn(&str) -> bool>, report: &mut Report) {
    let waiting = not_yet(page);
    for promise in rows(page) {
        let Promise { line, number, .. } = &promise;
        let place = format!("{PAGE}:{line}");
        for name in &promise.tests {
            if let Some(why) = project.no_test(name) {
                report.fault(&place, format_args!("{number} names `{name}`, which {why}"));
            }
        }
        for name in &promise.by_hand {
            if let Some(why) = project.not_by_hand(name) {
                report.fault(&place, format_args!("{number} names `{name}`, which {why}"));
            }
        }
        let unheld = promise.tests.is_empty() && promise.by_hand.is_empty();
        match (unheld, waiting.contains(number)) {
            (true, false) => report.fault(
                &place,
                format_args!("{number} has no test and is not under \"Not yet\""),
            ),
            (true, true) => report.warn(&place, format_args!("{number} has no test yet")),
            (false, true) if !promise.missing => {
                report.fault(
                    &place,
                    format_args!("{number} has a test: take it off \"Not yet\""),
                );
            }
            (false, _) => {}
        }
        if promise.missing && !waiting.contains(number) {
            report.fault(
                &place,
                format_args!("{number} is partly missing and is not under \"Not yet\""),
            );
        }
    }
}

impl<F: Fn(&str) -> bool> Project<F> {
    /// Why a name is none that holds a promise in every run of the tests.
    fn no_test(&self, name: &str) -> Option<&'static str> {
        if self.ignored.contains(name) {
            return Some("is ignored: put it behind `by hand:`");
        }
        (!self.exists(name)).then_some("does not exist")
    }

    /// Why a name is none that holds a promise by hand.
    fn not_by_hand(&self, name: &str) -> Option<&'static str> {
        if self.tests.contains(name) {
            return Some("every run of the tests runs: take it in front of `by hand:`");
        }
        if !self.exists(name) {
            return Some("does not exist");
        }
        let function = name.rsplit("::").next().unwrap_or(name);
        (!self.commands.contains(function)).then_some("has no command in CONTRIBUTING")
    }

    fn exists(&self, name: &str) -> bool {
        if name.contains("::") {
            self.tests.contains(name) || self.ignored.contains(name)
        } else {
            (self.is_file)(name)
        }
    }
}

/// Every numbered promise of the limiter is on the page, whole (`4.2`) or in parts (`4.2a`).
fn complete(page: &str, report: &mut Report) {
    let numbers: BTreeSet<String> = rows(page)
        .into_iter()
        .map(|promise| {
            promise
                .number
                .trim_end_matches(|c: char| c.is_ascii_lowercase())
                .to_owned()
        })
        .collect();
    for (section, count) in (1..).zip(SECTIONS) {
        for number in (1..=count).map(|number| format!("{section}.{number}")) {
            if !numbers.contains(&number) {
                report.fault(
                    PAGE,
                    format_args!("promise {number} of the limiter is gone"),
                );
            }
        }
    }
}

fn rows(page: &str) -> Vec<Promise> {
    let cell = |text: &str| text.trim().to_owned();
    (1..)
        .zip(page.lines())
        .filter_map(|(line, text)| {
            let cells: Vec<String> = text
                .strip_prefix('|')?
                .strip_suffix('|')?
                .split('|')
                .map(cell)
                .collect();
            let [number, text, held] = <[String; 3]>::try_from(cells).ok()?;
            let (tests, by_hand) = held.split_once(BY_HAND).unwrap_or((&held, ""));
            number
                .contains(|c: char| c.is_ascii_digit())
                .then(|| Promise {
                    line,
                    number,
                    text,
                    tests: names(tests),
                    by_hand: names(by_hand),
                    missing: held
                        .split('`')
                        .step_by(2)
                        .any(|text| text.contains("missing")),
                })
        })
        .collect()
}

/// What stands between backticks.
fn names(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    quoted.map(str::to_owned).collect()
}

/// The numbers listed under "Not yet": `- 4.2: why`.
fn not_yet(page: &str) -> BTreeSet<String> {
    page.lines()
        .skip_while(|line| *line != "## Not yet")
        .filter_map(|line| Some(line.strip_prefix("- ")?.split_once(':')?.0.to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Project, complete, faults, known_tests, rows};
    use crate::report::Report;
    use crate::source::Source;

    fn check(page: &str) -> Report {
        let set = |name: &str| BTreeSet::from([name.to_owned()]);
        let project = Project {
            tests: set("zonai-limit::exact"),
            ignored: set("zonai-limit::slow"),
            commands: "cargo nextest run --run-ignored only slow\nbench/run".to_owned(),
            is_file: |path: &str| ["bench/run", "bench/soak"].contains(&path),
        };
        let mut report = Report::default();
        faults(page, &project, &mut report);
        report
    }

    #[test]
    fn an_ignored_test_holds_a_promise_by_hand_only() {
        let found = check("| 1.1 | Counts. | `zonai-limit::slow` |").faults;
        assert!(found[0].contains("is ignored"), "{found:?}");
        let by_hand =
            "| 1.1 | Counts. | `zonai-limit::exact`, by hand: `zonai-limit::slow`, `bench/run` |";
        assert!(check(by_hand).faults.is_empty());
        let found = check("| 1.1 | Counts. | by hand: `zonai-limit::exact` |").faults;
        assert!(found[0].contains("every run"), "{found:?}");
        let found = check("| 1.1 | Counts. | by hand: `bench/soak`, `bench/gone` |").faults;
        assert!(found[0].contains("no command"), "{found:?}");
        assert!(found[1].contains("does not exist"), "{found:?}");
    }

    #[test]
    fn a_test_that_does_not_exist_is_a_fault() {
        assert!(
            check("| 1.1 | Counts. | `zonai-limit::exact`, `bench/run` |")
                .faults
                .is_empty()
        );
        let found = check("| 1.1 | Counts. | `zonai-limit::gone` |").faults;
        assert_eq!(
            found,
            ["docs/design/promises.md:1: 1.1 names `zonai-limit::gone`, which does not exist"]
        );
        assert_eq!(check("| 1.1 | Counts. | `bench/gone` |").faults.len(), 1);
    }

    #[test]
    fn a_promise_without_a_test_must_be_owned_up_to() {
        assert_eq!(check("| 1.1 | Counts. | missing |").faults.len(), 2);
        assert!(
            check("| 1.1 | Counts. | missing |\n\n## Not yet\n- 1.1: soon\n")
                .faults
                .is_empty()
        );
        assert_eq!(check("| 1.1 | Counts. | |").faults.len(), 1);
        assert_eq!(
            check("| 1.1 | Counts. | `a::missing_is_fine` |")
                .faults
                .len(),
            1,
            "a name is no word"
        );
    }

    #[test]
    fn a_promise_with_a_test_leaves_the_list() {
        assert_eq!(
            check("| 1.1 | Counts. | `zonai-limit::exact` |\n\n## Not yet\n- 1.1: soon\n")
                .faults
                .len(),
            1
        );
        let partly =
            "| 1.1 | Counts. | `zonai-limit::exact`, missing |\n\n## Not yet\n- 1.1: soon\n";
        assert!(check(partly).faults.is_empty());
    }

    #[test]
    fn a_promise_cannot_be_dropped_from_the_page() {
        let mut report = Report::default();
        complete("| 1.1a | Counts. | `a::b` |", &mut report);
        let all: usize = super::SECTIONS.iter().sum();
        assert_eq!(report.faults.len(), all - 1);
    }

    #[test]
    fn tests_are_known_by_crate_and_name() {
        let source = Source::new(
            "crates/zonai-limit/tests/it/a.rs",
            "#[test]\nfn exact() {}\n#[test]\n#[ignore = \"minutes\"]\nfn slow() {}\nfn helper() {}\n",
        );
        assert_eq!(
            known_tests(std::slice::from_ref(&source), false),
            ["zonai-limit::exact".to_owned()].into()
        );
        assert_eq!(
            known_tests(&[source], true),
            ["zonai-limit::slow".to_owned()].into()
        );
    }

    #[test]
    fn heads_of_tables_are_no_promises() {
        assert!(rows("| number | promise | tests |\n|---|---|---|").is_empty());
    }
}
