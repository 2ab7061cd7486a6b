//! How long files and functions may be.
//!
//! A file over 600 lines needs its reason, a line `//! Size: …` at the top. Must never count a crate by itself: the
//! budget is the project's, so that a small crate cannot hide a large file.

use crate::report::Report;
use crate::source::Source;

const FILE_MOST: usize = 600;
const FILE_USUAL: usize = 400;
const FILE_MEDIAN: usize = 150;
const MAIN: usize = 40;
const FUNCTION: usize = 60;
const FUNCTION_MOST: usize = 100;
/// A crate is split before it passes this.
const CRATE: usize = 5_000;

pub(super) fn check(sources: &[Source], report: &mut Report) {
    let mut lengths = Vec::new();
    for source in sources {
        let lines = source.text.lines().count();
        lengths.push(lines);
        let reasoned = source
            .text
            .lines()
            .take(30)
            .any(|line| line.starts_with("//! Size: "));
        if lines > FILE_MOST && !reasoned {
            report.fault(
                &source.path,
                format_args!("{lines} lines, over {FILE_MOST}: split it, or say why in a line `//! Size: …` at the top"),
            );
        }
        if source.path.ends_with("src/main.rs")
            && !source.path.starts_with("bench/")
            && lines > MAIN
        {
            report.fault(
                &source.path,
                format_args!("{lines} lines; a main parses, dispatches and exits in {MAIN}"),
            );
        }
        functions(source, report);
    }
    distribution(lengths, report);
    crates(sources, report);
}

fn functions(source: &Source, report: &mut Report) {
    for function in source.functions() {
        let place = format!("{}:{}", source.path, function.line);
        let name = &function.name;
        let lines = function.lines;
        if lines > FUNCTION_MOST && !source.is_test_line(function.line) {
            report.fault(
                place,
                format_args!("`{name}` has {lines} lines, over {FUNCTION_MOST}"),
            );
        } else if lines > FUNCTION {
            report.warn(
                place,
                format_args!("`{name}` has {lines} lines, over {FUNCTION}"),
            );
        }
    }
}

fn distribution(mut lengths: Vec<usize>, report: &mut Report) {
    lengths.sort_unstable();
    let Some(&median) = lengths.get(lengths.len() / 2) else {
        return;
    };
    let usual = lengths.iter().filter(|lines| **lines <= FILE_USUAL).count();
    if usual * 10 < lengths.len() * 9 {
        let share = usual * 100 / lengths.len();
        report.fault(
            "files",
            format_args!("{share} in 100 have at most {FILE_USUAL} lines; 90 must"),
        );
    }
    if median > FILE_MEDIAN {
        report.fault(
            "files",
            format_args!("the median is {median} lines, over {FILE_MEDIAN}"),
        );
    }
}

/// The size of each crate without its tests, comments and blank lines.
fn crates(sources: &[Source], report: &mut Report) {
    let mut sizes = std::collections::BTreeMap::<&str, usize>::new();
    for source in sources
        .iter()
        .filter(|source| source.path.starts_with("crates/"))
    {
        *sizes.entry(source.package()).or_default() += source
            .shipped()
            .filter(|(_, line)| !line.trim().is_empty())
            .count();
    }
    for (package, lines) in sizes.into_iter().filter(|(_, lines)| *lines > CRATE) {
        report.warn(
            package,
            format_args!(
                "{lines} lines of code without tests: a crate is split before it passes {CRATE}"
            ),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::report::Report;
    use crate::source::Source;

    fn faults(path: &str, text: &str) -> Report {
        let mut report = Report::default();
        check(&[Source::new(path, text)], &mut report);
        report
    }

    #[test]
    fn a_long_file_needs_its_reason() {
        let long = "// x\n".repeat(601);
        assert!(faults("crates/a/src/b.rs", &long).faults[0].contains("601 lines"));
        let reasoned = format!("//! Head.\n//! Size: one table.\n{long}");
        let found = faults("crates/a/src/b.rs", &reasoned).faults;
        assert!(
            found.iter().all(|fault| fault.starts_with("files:")),
            "{found:?}"
        );
    }

    #[test]
    fn a_main_is_short() {
        assert_eq!(
            faults("crates/a/src/main.rs", &"\n".repeat(41))
                .faults
                .len(),
            1
        );
        assert!(
            faults("crates/a/src/main.rs", &"\n".repeat(40))
                .faults
                .is_empty()
        );
    }

    #[test]
    fn a_long_function_is_a_warning_and_a_very_long_one_a_fault() {
        let function = |lines: usize| format!("fn a() {{\n{}}}\n", "    b();\n".repeat(lines - 2));
        assert!(
            faults("crates/a/src/b.rs", &function(60))
                .warnings
                .is_empty()
        );
        assert_eq!(faults("crates/a/src/b.rs", &function(61)).warnings.len(), 1);
        assert_eq!(faults("crates/a/src/b.rs", &function(101)).faults.len(), 1);
    }

    #[test]
    fn nine_in_ten_files_are_of_the_usual_size() {
        let mut sources: Vec<_> = (0..8)
            .map(|n| Source::new(&format!("crates/a/src/{n}.rs"), ""))
            .collect();
        sources.push(Source::new("crates/a/src/long.rs", &"\n".repeat(401)));
        let mut report = Report::default();
        check(&sources, &mut report);
        assert_eq!(report.faults.len(), 1, "{report:?}");
    }
}
