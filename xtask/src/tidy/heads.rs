//! Every module opens by saying what it is for, and is found where its name says.
//!
//! Must never judge the words; a person does that.

use crate::report::Report;
use crate::source::Source;

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
        if source.path.ends_with("/mod.rs") {
            report.fault(&source.path, "a module `name` is `name.rs` beside `name/`");
        }
    }
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
}
