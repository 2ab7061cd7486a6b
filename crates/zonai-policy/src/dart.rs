//! Policy files in Dart: the declarative part that such files use, read with a grammar and not run.
//!
//! One class that extends `TableRateLimits` or `AuthTableRateLimits`, its table from `super(…)`, a `main()`
//! that returns it, and methods that return constants. Must never guess: anything else is a fault
//! that names the construct.

mod class;
mod method;
mod policy;
mod syntax;

use std::ops::ControlFlow;

use tree_sitter::{ParseOptions, ParseState, Parser, Tree};

use crate::file::Stated;
use crate::tables::Tables;
use crate::{Diagnostic, Faults, Source, Span};
use syntax::Dart;

/// How often the parser may report progress before the file counts as too tangled: a report is about
/// a hundred steps, and the largest file that people write needs a few thousand reports.
const MAX_REPORTS: usize = 100_000;

/// Reads one policy file in Dart. Where there are faults, the registrations are not to be used.
#[must_use]
pub fn read_dart(source: &Source, tables: &Tables) -> (Vec<Stated>, Vec<Diagnostic>) {
    let mut faults = Faults::new(source);
    let mut stated = Vec::new();
    match parse(source.text()) {
        None => faults.at(Span::START, "the file is too tangled to be read as Dart"),
        Some(tree) => {
            let root = tree.root_node();
            if root.has_error() {
                syntax::broken(root, &mut faults);
            } else {
                stated.extend(class::file(root, tables, &mut Dart { faults: &mut faults }));
            }
        }
    }
    if stated.is_empty() && faults.is_empty() {
        faults.at(Span::START, "the file is not understood as a policy file");
    }
    (stated, faults.into_list())
}

fn parse(text: &str) -> Option<Tree> {
    let mut parser = Parser::new();
    parser.set_language(&tree_sitter_dart::LANGUAGE.into()).ok()?;
    let mut reports = 0;
    let mut progress = |_: &ParseState| {
        reports += 1;
        if reports > MAX_REPORTS { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let bytes = text.as_bytes();
    let mut read = |at: usize, _| bytes.get(at..).unwrap_or(&[]);
    parser.parse_with_options(&mut read, None, Some(options))
}
