//! Every module opens by saying what it is for and what it must never do, and is found where its name says.
//!
//! Must never judge the words; a person does that.

use crate::report::Report;
use crate::source::Source;

/// From this length on a module that ships says what it must never do; of a shorter one the name says enough.
const SAYS_NEVER: usize = 100;

pub(super) fn check(sources: &[Source], report: &mut Report) {
    for source in sources {
        let first = source
            .text
            .lines()
            .find(|line| !line.trim().is_empty() && !line.starts_with("#!"));
        if !first.is_some_and(|line| line.starts_with("//! ") || line == "//!") {
            report.fault(&source.path, "opens without `//!` saying what it is for");
        }
        if source.text.starts_with("//! placeholder") {
            report.warn(&source.path, "says nothing yet");
        }
        if source.text.lines().count() >= SAYS_NEVER
            && source.path.starts_with("crates/")
            && !source.is_test_file()
            && !says_never(&source.text)
        {
            report.warn(&source.path, "does not say what it must never do");
        }
        if source.path.ends_with("/mod.rs") {
            report.fault(&source.path, "a module `name` is `name.rs` beside `name/`");
        }
    }
}

/// Whether the head of a module sets a bound, in whatever words.
fn says_never(text: &str) -> bool {
    let head: Vec<&str> = text
        .lines()
        .skip_while(|line| line.trim().is_empty() || line.starts_with("#!"))
        .map_while(|line| line.strip_prefix("//!"))
        .flat_map(|line| line.split(|c: char| !c.is_alphabetic()))
        .filter(|word| !word.is_empty())
        .collect();
    head.windows(2).any(|pair| pair == ["must", "not"])
        || head
            .iter()
            .any(|word| word.eq_ignore_ascii_case("never") || word.eq_ignore_ascii_case("nothing"))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::report::Report;
    use crate::source::Source;

    #[test]
    fn a_module_without_its_head_is_named() {
        let mut report = Report::default();
        let files = [
            Source::new("crates/a/src/good.rs", "#![no_main]\n//! For something.\n"),
            Source::new("crates/a/src/bad.rs", "// For something.\nuse std::fmt;\n"),
            Source::new("crates/a/src/b/mod.rs", "//! For something.\n"),
        ];
        check(&files, &mut report);
        let places: Vec<_> = report
            .faults
            .iter()
            .filter_map(|f| f.split(':').next())
            .collect();
        assert_eq!(places, ["crates/a/src/bad.rs", "crates/a/src/b/mod.rs"]);
    }

    #[test]
    fn a_long_module_says_what_it_must_never_do() {
        let warnings = |path: &str, head: &str, lines: usize| {
            let text = format!("{head}\n{}", "// Never mind.\n".repeat(lines - 1));
            let mut report = Report::default();
            check(&[Source::new(path, &text)], &mut report);
            report.warnings.len()
        };
        let path = "crates/a/src/b.rs";
        assert_eq!(warnings(path, "//! For something.", 100), 1);
        assert_eq!(warnings(path, "//! For something.", 99), 0);
        assert_eq!(
            warnings(path, "//! For something. Must never wait.", 100),
            0
        );
        assert_eq!(
            warnings("crates/a/tests/it/b.rs", "//! For something.", 100),
            0
        );
    }
}
