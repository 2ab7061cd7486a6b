//! Expressions inside YAML: where a place of the expression is in the file.
//!
//! Must never be relied on for more than a message: where a text is written with escapes the place may be near by.

use zonai_data::ExprFault;
use zonai_policy::yaml::Node;
use zonai_policy::{Diagnostic, Faults, Source, Span};

/// Adds the fault of an expression that stands in a scalar.
pub(crate) fn tell(faults: &mut Faults<'_>, node: &Node, text: &str, fault: &ExprFault) {
    let mut span = find(faults.source(), node.span, text, fault);
    span.length = fault.length;
    let diagnostic = Diagnostic::new(faults.source(), span, &fault.message);
    faults.push(match &fault.help {
        Some(help) => diagnostic.with_help(help),
        None => diagnostic,
    });
}

/// Quotes, indentation and folded lines stand between the two; everything else of the expression stands in the file in
/// order. So both are walked side by side, and what only the file has is skipped.
fn find(source: &Source, start: Span, text: &str, fault: &ExprFault) -> Span {
    let before = before(text, fault.line, fault.column);
    let mut wanted = text.chars().filter(|c| !c.is_whitespace());
    let mut next = wanted.next();
    let mut passed = 0;
    let mut last = start;
    for (line, line_text) in (start.line..).zip(
        source
            .text()
            .lines()
            .skip(start.line.saturating_sub(1) as usize),
    ) {
        let skip = if line == start.line {
            start.column.saturating_sub(1)
        } else {
            0
        };
        for (column, found) in (1..).zip(line_text.chars()).skip(skip as usize) {
            let Some(expected) = next else { return last };
            if found != expected {
                continue;
            }
            if passed == before {
                return Span::point(line, column);
            }
            passed += 1;
            last = Span::point(line, column + 1);
            next = wanted.next();
        }
        if next.is_none() {
            break;
        }
    }
    last
}

/// How many characters that are no space stand before a place.
fn before(text: &str, line: u32, column: u32) -> usize {
    let whole = text
        .lines()
        .take(line.saturating_sub(1) as usize)
        .map(count)
        .sum::<usize>();
    let rest = text
        .lines()
        .nth(line.saturating_sub(1) as usize)
        .unwrap_or_default();
    whole
        + count(
            &rest
                .chars()
                .take(column.saturating_sub(1) as usize)
                .collect::<String>(),
        )
}

fn count(text: &str) -> usize {
    text.chars().filter(|c| !c.is_whitespace()).count()
}
