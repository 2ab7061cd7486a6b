//! Every page that a file names exists, so that a reader who follows a name arrives.
//!
//! A name counts from the root, or from any folder above the file that names it. Must never ask a page that is not
//! ours: what stands in an address of the web is left alone.

use std::collections::BTreeSet;

use crate::report::Report;
use crate::tree;

/// What people write and read; the rest is data.
const TEXTS: [&str; 9] = [
    ".rs", ".md", ".toml", ".yaml", ".yml", ".sh", ".py", ".mjs", ".sql",
];

pub(super) fn check(files: &[String], report: &mut Report) {
    let pages: BTreeSet<&str> = files
        .iter()
        .map(String::as_str)
        .filter(|path| path.ends_with(".md"))
        .collect();
    for path in files.iter().filter(|path| is_text(path)) {
        if let Ok(text) = std::fs::read_to_string(tree::root().join(path)) {
            faults(path, &text, &pages, report);
        }
    }
}

/// Programs have no extension here: `bench/run`.
fn is_text(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    !path.starts_with("fuzz/corpus/")
        && (!name.contains('.') || TEXTS.iter().any(|end| name.ends_with(end)))
}

fn faults(path: &str, text: &str, pages: &BTreeSet<&str>, report: &mut Report) {
    for (index, line) in text.lines().enumerate() {
        for page in named(line).filter(|page| !exists(path, page, pages)) {
            report.fault(
                format!("{path}:{}", index + 1),
                format_args!("names `{page}`, which does not exist"),
            );
        }
    }
}

/// What in `line` looks like the name of a page.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let part = |c: char| c.is_alphanumeric() || "._-/:{}*".contains(c);
    line.split(move |c| !part(c))
        .map(|word| word.trim_end_matches(['.', ':']))
        .filter(|word| {
            word.strip_suffix(".md")
                .is_some_and(|name| name.ends_with(|c: char| c.is_alphanumeric()))
                && !word.contains([':', '{', '*'])
        })
}

/// Whether `page`, as the file `path` names it, is one of `pages`.
fn exists(path: &str, page: &str, pages: &BTreeSet<&str>) -> bool {
    let mut folder: Vec<&str> = path.split('/').collect();
    while folder.pop().is_some() {
        let mut whole = folder.clone();
        for step in page.split('/') {
            match step {
                "." => {}
                ".." => drop(whole.pop()),
                name => whole.push(name),
            }
        }
        if pages.contains(whole.join("/").as_str()) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::faults;
    use crate::report::Report;

    fn check(path: &str, text: &str) -> Vec<String> {
        let pages = [page("docs/jobs"), page("docs/adr/0001-a")];
        let mut report = Report::default();
        let pages = pages.iter().map(String::as_str).collect();
        faults(path, text, &pages, &mut report);
        report.faults
    }

    /// In two parts, so that this file passes its own check.
    fn page(name: &str) -> String {
        format!("{name}.{}", "md")
    }

    #[test]
    fn a_page_that_does_not_exist_is_a_fault() {
        let gone = page("gone");
        assert_eq!(
            check("crates/a/src/b.rs", &format!("\n/// {gone} §7.2.")),
            [format!(
                "crates/a/src/b.rs:2: names `{gone}`, which does not exist"
            )]
        );
        assert_eq!(check("docs/a", &format!("[a]({gone}#part)")).len(), 1);
        assert_eq!(check("a.rs", &page("docs/adr/0002-b")).len(), 1);
    }

    #[test]
    fn a_page_is_found_from_the_root_and_from_the_folders_above() {
        let jobs = page("jobs");
        for (path, text) in [
            ("crates/a/src/b.rs", format!("see `docs/{jobs}`.")),
            ("docs/adr/0001-a", format!("[jobs](../{jobs}#history)")),
            ("docs/b", format!("{jobs}: all of it")),
            ("a/b/c.rs", format!("\"../../docs/{jobs}\"")),
        ] {
            assert!(check(path, &text).is_empty(), "{path}: {text}");
        }
    }

    #[test]
    fn addresses_and_endings_are_no_pages() {
        let away = page("https://example.org/gone");
        for text in [&away, "ends in `.md`", "`*.md`", "{name}.md"] {
            assert!(check("a.rs", text).is_empty(), "{text}");
        }
    }
}
