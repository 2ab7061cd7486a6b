//! One Rust file as the checks see it: its lines, its code without comments, which lines are tests, its functions.
//!
//! Must never read a file: the tree hands the text over.

use std::ops::Range;

use crate::lexer;

/// A Rust file of the project.
pub(crate) struct Source {
    /// From the root of the project, with `/`.
    pub(crate) path: String,
    /// As it is.
    pub(crate) text: String,
    /// Without comments and the insides of literals, line for line.
    pub(crate) code: String,
    /// String literals with their lines.
    pub(crate) strings: Vec<(usize, String)>,
    /// Lines (from 1) of `#[cfg(test)]` items.
    tests: Vec<Range<usize>>,
}

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// The line of `fn`, from 1.
    pub(crate) line: usize,
    /// From `fn` to the closing brace.
    pub(crate) lines: usize,
    /// Stands under `#[test]` or the like.
    pub(crate) is_test: bool,
    /// Stands under `#[ignore]`: runs by hand only.
    pub(crate) is_ignored: bool,
}

impl Source {
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let parts = lexer::split(text);
        let tests = test_items(&parts.code);
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
            code: parts.code,
            strings: parts.strings,
            tests,
        }
    }

    /// The folder of the crate: `crates/zonai-http`, `xtask`.
    pub(crate) fn package(&self) -> &str {
        let depth = if self.path.starts_with("crates/") || self.path.starts_with("bench/") {
            2
        } else {
            1
        };
        match self.path.match_indices('/').nth(depth - 1) {
            Some((end, _)) => &self.path[..end],
            None => &self.path,
        }
    }

    /// Whether the whole file serves tests or examples.
    pub(crate) fn is_test_file(&self) -> bool {
        let path = &self.path;
        ["/tests/", "/benches/", "/examples/"]
            .iter()
            .any(|part| path.contains(part))
            || path.ends_with("/tests.rs")
            || [
                "crates/zonai-test/",
                "crates/zonai-limit-suite/",
                "fuzz/",
                "bench/",
                "xtask/",
            ]
            .iter()
            .any(|start| path.starts_with(start))
    }

    /// Whether line `line` (from 1) serves tests.
    pub(crate) fn is_test_line(&self, line: usize) -> bool {
        self.is_test_file() || self.tests.iter().any(|range| range.contains(&line))
    }

    /// Lines of code that ship, with their numbers.
    pub(crate) fn shipped(&self) -> impl Iterator<Item = (usize, &str)> {
        self.code
            .lines()
            .enumerate()
            .map(|(index, line)| (index + 1, line))
            .filter(|(number, _)| !self.is_test_line(*number))
    }

    pub(crate) fn functions(&self) -> Vec<Function> {
        let lines: Vec<&str> = self.code.lines().collect();
        let mut found = Vec::new();
        for (at, name) in function_starts(&self.code) {
            let line = line_of(&self.code, at);
            if let Some(end) = body_end(&self.code, at) {
                found.push(Function {
                    name: name.to_owned(),
                    line,
                    lines: line_of(&self.code, end) - line + 1,
                    is_test: under_attribute(&lines, line, "test"),
                    is_ignored: under_attribute(&lines, line, "ignore"),
                });
            }
        }
        found
    }
}

/// Where the word `fn` stands before a name, and the name.
fn function_starts(code: &str) -> impl Iterator<Item = (usize, &str)> {
    code.match_indices("fn ").filter_map(move |(at, _)| {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
            return None;
        }
        let rest = code[at + 3..].trim_start();
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        (end > 0).then(|| (at, &rest[..end]))
    })
}

/// The closing brace of the item that begins at `at`; `None` where a `;` ends it before a body opens.
fn body_end(code: &str, at: usize) -> Option<usize> {
    let (mut depth, mut round) = (0_usize, 0_i32);
    for (offset, byte) in code[at..].bytes().enumerate() {
        match byte {
            b'(' | b'[' => round += 1,
            b')' | b']' => round -= 1,
            b';' if depth == 0 && round == 0 => return None,
            b'{' => depth += 1,
            b'}' if depth <= 1 => return Some(at + offset),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn line_of(code: &str, at: usize) -> usize {
    code[..at].bytes().filter(|byte| *byte == b'\n').count() + 1
}

/// Whether an attribute whose name ends in `last` (`#[test]`, `#[tokio::test(…)]`) stands right above line `line`.
fn under_attribute(lines: &[&str], line: usize, last: &str) -> bool {
    lines[..line - 1]
        .iter()
        .rev()
        .take_while(|above| {
            let above = above.trim();
            above.is_empty()
                || above.starts_with("#[")
                || above.ends_with(']')
                || above.ends_with(',')
        })
        .any(|above| {
            let name = above.trim().trim_start_matches("#[");
            let name = name.split(['(', ']', ' ']).next().unwrap_or("");
            above.trim().starts_with("#[") && name.rsplit("::").next() == Some(last)
        })
}

/// The lines of items under `#[cfg(test)]`.
fn test_items(code: &str) -> Vec<Range<usize>> {
    code.match_indices("#[cfg(test)]")
        .filter_map(|(at, _)| {
            let end = body_end(code, at + "#[cfg(test)]".len())?;
            Some(line_of(code, at)..line_of(code, end) + 1)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::Source;

    const FILE: &str = "\
//! Head.
fn first(a: [u8; 2]) -> u8 {
    a[0]
}
trait T { fn declared(&self); }
#[cfg(test)]
mod tests {
    #[test]
    fn holds() {
        assert!(true);
    }
    #[tokio::test(flavor = \"current_thread\")]
    async fn holds_too() {}
    #[test]
    #[ignore = \"takes a minute\"]
    fn holds_by_hand() {}
    fn helper() {}
}
";

    #[test]
    fn functions_are_measured_and_tests_told_apart() {
        let source = Source::new("crates/zonai-http/src/a.rs", FILE);
        let found: Vec<_> = source
            .functions()
            .into_iter()
            .map(|f| (f.name, f.line, f.lines, f.is_test, f.is_ignored))
            .collect();
        assert_eq!(
            found,
            [
                ("first".to_owned(), 2, 3, false, false),
                ("holds".to_owned(), 9, 3, true, false),
                ("holds_too".to_owned(), 13, 1, true, false),
                ("holds_by_hand".to_owned(), 16, 1, true, true),
                ("helper".to_owned(), 17, 1, false, false),
            ]
        );
    }

    #[test]
    fn lines_of_a_test_module_do_not_ship() {
        let source = Source::new("crates/zonai-http/src/a.rs", FILE);
        assert_eq!(source.shipped().map(|(line, _)| line).max(), Some(5));
        assert!(
            Source::new("crates/zonai-http/tests/it/a.rs", FILE)
                .shipped()
                .next()
                .is_none()
        );
    }

    #[test]
    fn a_file_belongs_to_its_package() {
        assert_eq!(
            Source::new("crates/zonai-http/src/a.rs", "").package(),
            "crates/zonai-http"
        );
        assert_eq!(Source::new("xtask/src/a.rs", "").package(), "xtask");
    }
}
