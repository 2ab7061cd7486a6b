//! Policy files in Dart: the declarative part that such files use, read with a grammar and not run.
//!
//! One class that extends `TableRateLimits` or `AuthTableRateLimits`, its table from `super(…)`, a `main()`
//! that returns it, and methods that return constants. Must never guess: anything else is a fault
//! that names the construct.

mod class;
mod header;
mod method;
mod policy;
mod switch;
mod syntax;

use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use crate::file::Stated;
use crate::tables::Tables;
use crate::{Diagnostic, Faults, Source, Span};
use syntax::Dart;

/// The most bytes one Dart file may have: 16 KiB, five times what people write. Recovering from broken
/// syntax takes far more than linear time.
pub const MAX_BYTES: usize = 16 << 10;

/// How many brackets may be open at once; a good file needs about eight.
const MAX_OPEN: usize = 64;

/// How often the parser may report progress before the file counts as too tangled, apart from
/// [`BYTES_PER_REPORT`]: a report is a hundred steps, and a good file needs one for every hundred bytes.
const FREE_REPORTS: usize = 50;
/// For so many bytes there is one more report. Broken text can need far more, each slower than the last.
const BYTES_PER_REPORT: usize = 64;

/// Reads one policy file in Dart. Where there are faults, the registrations are not to be used.
#[must_use]
pub fn read_dart(source: &Source, tables: &Tables) -> (Vec<Stated>, Vec<Diagnostic>) {
    let mut faults = Faults::new(source);
    if source.text().len() > MAX_BYTES {
        faults.at(
            Span::START,
            format!("is larger than {MAX_BYTES} bytes, the most a Dart file may have"),
        );
        return (Vec::new(), faults.into_list());
    }
    if let Some(at) = too_deep(source.text()) {
        faults.at(
            source.span_of_byte(at),
            format!("more than {MAX_OPEN} brackets are open here"),
        );
        return (Vec::new(), faults.into_list());
    }
    let mut stated = Vec::new();
    match parse(source.text()) {
        None => faults.at(Span::START, "the file is too tangled to be read as Dart"),
        Some(tree) => {
            let root = tree.root_node();
            if root.has_error() {
                syntax::broken(root, &mut faults);
            } else {
                stated.extend(class::file(
                    root,
                    tables,
                    &mut Dart {
                        faults: &mut faults,
                    },
                ));
            }
        }
    }
    if stated.is_empty() && faults.is_empty() {
        faults.at(Span::START, "the file is not understood as a policy file");
    }
    (stated, faults.into_list())
}

/// Where too many brackets are open. Strings are not looked into for what they are: a policy needs none
/// with brackets in it. Line comments are left out.
fn too_deep(text: &str) -> Option<usize> {
    let (mut open, mut start) = (0_usize, 0);
    for line in text.split_inclusive('\n') {
        let code = line.split("//").next().unwrap_or(line);
        let mut before = 0;
        for (at, byte) in code.bytes().enumerate() {
            match byte {
                b'>' if before == b'=' => {}
                b'(' | b'[' | b'{' | b'<' => open += 1,
                b')' | b']' | b'}' | b'>' => open = open.saturating_sub(1),
                _ => {}
            }
            before = byte;
            if open > MAX_OPEN {
                return Some(start + at);
            }
        }
        start += line.len();
    }
    None
}

fn parse(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser
        .set_language(&tree_sitter_dart::LANGUAGE.into())
        .ok()?;
    let mut reports_left = FREE_REPORTS + text.len() / BYTES_PER_REPORT;
    let mut progress = |_: &ParseState| {
        reports_left = reports_left.saturating_sub(1);
        if reports_left == 0 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = text.as_bytes();
    let mut read = |at: usize, _| bytes.get(at..).unwrap_or(&[]);
    parser.parse_with_options(&mut read, None, Some(options))
}
