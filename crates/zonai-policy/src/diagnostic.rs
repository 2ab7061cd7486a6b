//! What is wrong with a file, where, and what was probably meant.
//!
//! Every reader of the project's files reports in this form. Must never print: who asked decides
//! between one line a fault (`Display`), the line with a mark ([`Diagnostic::render`]) and JSON (`Serialize`).

mod render;

use std::fmt;

use serde::Serialize;

use crate::{Source, Span};

/// One fault of one file.
///
/// `Display` is exactly one line: `path:line:column: message`, with the help after a semicolon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Diagnostic {
    /// The file as it is shown.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// How many characters from there on are meant; 0 where there is only a point.
    pub length: u32,
    /// What is wrong, in one line.
    pub message: String,
    /// What was probably meant, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The line itself; empty where the fault is the file's as a whole.
    #[serde(rename = "source")]
    pub source_line: String,
}

impl Diagnostic {
    /// A fault at a place of a source.
    #[must_use]
    pub fn new(source: &Source, span: Span, message: impl Into<String>) -> Self {
        Self {
            path: source.path().to_string(),
            line: span.line,
            column: span.column,
            length: span.length,
            message: one_line(&message.into()),
            help: None,
            source_line: one_line(source.line(span.line)),
        }
    }

    /// A fault of a file as a whole (it cannot be read): shown at 1:1.
    #[must_use]
    pub fn whole_file(path: &str, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line: 1,
            column: 1,
            length: 0,
            message: one_line(&message.into()),
            help: None,
            source_line: String::new(),
        }
    }

    /// The same with a help text.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(one_line(&help.into()));
        self
    }

    /// The same with the nearest of `known` as help, or all of them where none is near and they are few.
    #[must_use]
    pub fn with_nearest<'a>(self, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        let known: Vec<&str> = known.into_iter().collect();
        match nearest(name, known.iter().copied()) {
            Some(near) => self.with_help(format!("did you mean `{near}`?")),
            None if known.is_empty() || known.len() > 12 => self,
            None => self.with_help(format!("known: {}", known.join(", "))),
        }
    }

    /// Several lines for people: the message, the place, the line with a mark under it, the help.
    #[must_use]
    pub fn render(&self, color: bool) -> String {
        render::render(self, color)
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}:{}: {}",
            one_line(&self.path),
            self.line,
            self.column,
            self.message
        )?;
        if let Some(help) = &self.help {
            write!(f, "; {help}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostic {}

/// Collects the faults of one source, so that all of them are told and not only the first.
#[derive(Debug)]
pub struct Faults<'s> {
    source: &'s Source,
    list: Vec<Diagnostic>,
    left_out: bool,
}

/// The most faults that are told of one file; past them only that there are more.
pub const MAX_FAULTS_PER_FILE: usize = 200;

impl<'s> Faults<'s> {
    /// No fault yet.
    #[must_use]
    pub fn new(source: &'s Source) -> Self {
        Self {
            source,
            list: Vec::new(),
            left_out: false,
        }
    }

    /// The file that is read.
    #[must_use]
    pub fn source(&self) -> &'s Source {
        self.source
    }

    /// Adds a fault at a place.
    pub fn at(&mut self, span: Span, message: impl Into<String>) {
        self.push(self.source.fault(span, message));
    }

    /// Adds a fault at a place, with a help text.
    pub fn at_with_help(
        &mut self,
        span: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(self.source.fault(span, message).with_help(help));
    }

    /// Adds a fault at a name that is not one of `known`, with the nearest of them.
    pub fn unknown<'a>(
        &mut self,
        span: Span,
        what: &str,
        name: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) {
        let message = format!("unknown {what} {}", quote(name));
        self.push(self.source.fault(span, message).with_nearest(name, known));
    }

    /// Adds a fault.
    pub fn push(&mut self, fault: Diagnostic) {
        if self.list.len() < MAX_FAULTS_PER_FILE {
            self.list.push(fault);
        } else if !self.left_out {
            self.left_out = true;
            self.list.push(Diagnostic {
                message: "more faults are left out".to_owned(),
                help: None,
                ..fault
            });
        }
    }

    /// Whether there is none so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// How many there are so far.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// The faults, in the order of their places.
    #[must_use]
    pub fn into_list(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|fault| (fault.line, fault.column));
        self.list
    }
}

/// The one of `known` that `name` was probably meant to be: equal but for case, `_` and `-`, or a few
/// letters away, or the one containing the other.
#[must_use]
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |text: &str| -> String {
        let letters = text.chars().filter(|c| !matches!(c, '_' | '-' | ' '));
        letters.take(64).flat_map(char::to_lowercase).collect()
    };
    let name = plain(name);
    if name.is_empty() {
        return None;
    }
    let length = name.chars().count();
    let mut best: Option<(usize, &str)> = None;
    for candidate in known {
        let other = plain(candidate);
        let mut distance = strsim::damerau_levenshtein(&name, &other);
        let longer = length.max(other.chars().count());
        let shorter = length.min(other.chars().count());
        if shorter >= 3 && (name.contains(&other) || other.contains(&name)) {
            distance = distance.min((longer / 3).max(1));
        }
        if distance <= (longer / 3).max(1)
            && distance < longer
            && best.is_none_or(|(least, _)| distance < least)
        {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Text from a file between backquotes, on one line and at most 60 characters of it.
#[must_use]
pub fn quote(text: &str) -> String {
    let mut short: String = one_line(text).chars().take(60).collect();
    if text.chars().nth(60).is_some() {
        short.push('…');
    }
    format!("`{short}`")
}

/// Control characters (line ends and terminal escapes among them) as `\u{fffd}`; a tab as one space.
fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\t' | '\n' => ' ',
            '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                '\u{fffd}'
            }
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "tests"
    )]
    use super::*;

    #[test]
    fn the_nearest_name_is_the_one_that_was_meant() {
        let keys = ["maxRequests", "window", "mode", "limit"];
        assert_eq!(nearest("windowMS", keys), Some("window"));
        assert_eq!(nearest("max_requests", keys), Some("maxRequests"));
        assert_eq!(nearest("requests", keys), Some("maxRequests"));
        assert_eq!(nearest("mod", keys), Some("mode"));
        assert_eq!(nearest("zzzz", keys), None);
        assert_eq!(nearest("", keys), None);
        assert_eq!(nearest("creat", ["get", "create"]), Some("create"));
    }

    #[test]
    fn one_fault_is_one_line_without_control_characters() {
        let source = Source::new("a.yaml", "x: 1\ty\u{1b}[31m\n");
        let fault = source
            .fault(Span::point(1, 4), "bad\nnews\u{1b}[0m")
            .with_help("try\rthis");
        let shown = fault.to_string();
        assert_eq!(shown, "a.yaml:1:4: bad news\u{fffd}[0m; try\u{fffd}this");
        assert_eq!(fault.source_line, "x: 1 y\u{fffd}[31m");
    }
}
