//! What a `customPolicy` answers: one constant, or a `switch` over the operation's name, as expression or statement.
//!
//! Must never lose a case: one that is not understood, or never reached, is a fault.

use tree_sitter::Node;
use zonai_limit::RateLimitPolicy;

use super::method::{is_generator, returned, returned_by};
use super::policy::policy;
use super::syntax::{Dart, children, has_token, only_child, plain_string};
use crate::Span;
use crate::diagnostic::quote;

/// What a `customPolicy` answers, by name.
pub(super) struct Choice {
    pub(super) named: Vec<(String, Span, Option<RateLimitPolicy>)>,
    pub(super) null: Option<(Option<RateLimitPolicy>, Span)>,
    pub(super) other: (Option<RateLimitPolicy>, Span),
}

/// The cases of a `switch` while it is read.
#[derive(Default)]
struct Cases {
    named: Vec<(String, Span, Option<RateLimitPolicy>)>,
    null: Option<(Option<RateLimitPolicy>, Span)>,
    other: Option<(Option<RateLimitPolicy>, Span)>,
}

/// What one case is for.
enum Label {
    Name(String),
    Null,
    Other,
}

pub(super) fn choice(body: Node<'_>, parameter: &str, dart: &mut Dart<'_, '_>) -> Option<Choice> {
    let inner = only_child(body);
    let statements = inner
        .filter(|inner| inner.kind() == "block")
        .map(children)
        .unwrap_or_default();
    let before = dart.faults.len();
    if is_generator(body, dart) {
        return None;
    }
    let cases = match (statements.as_slice(), inner) {
        ([switch], _) if switch.kind() == "switch_statement" => {
            statement_cases(*switch, parameter, dart)
        }
        ([switch, last], _)
            if switch.kind() == "switch_statement" && last.kind() == "return_statement" =>
        {
            let mut cases = statement_cases(*switch, parameter, dart);
            if cases.other.is_some() {
                dart.faults.at(
                    dart.span(*last),
                    "nothing comes here after a `switch` with a `default`",
                );
            } else if let Some(value) = only_child(*last) {
                cases.other = policy(value, dart).map(|windows| (windows, dart.span(value)));
            }
            cases
        }
        _ => {
            let value = returned(body, dart)?;
            if value.kind() == "switch_expression" {
                expression_cases(value, parameter, dart)
            } else {
                let windows = policy(value, dart)?;
                Cases {
                    other: Some((windows, Span::START)),
                    ..Cases::default()
                }
            }
        }
    };
    if dart.faults.len() > before {
        return None;
    }
    let Some(other) = cases.other else {
        let help = "add `_ => .defaultPolicy` (or `default: return …;`) for all other names";
        dart.faults.at_with_help(
            dart.span(body),
            "the `switch` leaves other names open",
            help,
        );
        return None;
    };
    Some(Choice {
        named: cases.named,
        null: cases.null,
        other,
    })
}

fn expression_cases(switch: Node<'_>, parameter: &str, dart: &mut Dart<'_, '_>) -> Cases {
    let mut cases = Cases::default();
    check_subject(switch, parameter, dart);
    for case in children(switch)
        .into_iter()
        .filter(|node| node.kind() == "switch_expression_case")
    {
        let mut parts = children(case);
        let Some(value) = parts.pop() else { continue };
        let labels = labels(case, &parts, dart);
        if let Some(windows) = policy(value, dart) {
            add(&mut cases, labels, windows, dart);
        }
    }
    cases
}

fn statement_cases(switch: Node<'_>, parameter: &str, dart: &mut Dart<'_, '_>) -> Cases {
    let mut cases = Cases::default();
    check_subject(switch, parameter, dart);
    let block = switch
        .child_by_field_name("body")
        .map(children)
        .unwrap_or_default();
    // Cases without a body fall through to the next that has one.
    let mut waiting: Vec<(Label, Span)> = Vec::new();
    for case in block {
        let parts = children(case);
        let is_statement =
            |node: &&Node<'_>| node.kind().ends_with("_statement") || node.kind() == "block";
        let at = parts
            .iter()
            .position(|node| is_statement(&node))
            .unwrap_or(parts.len());
        let (patterns, statements) = parts.split_at(at);
        if case.kind() == "switch_statement_default" {
            waiting.push((Label::Other, dart.span(case)));
        } else {
            waiting.extend(labels(case, patterns, dart));
        }
        let value = match statements {
            [] => continue,
            [block] if block.kind() == "block" => returned_by(*block, dart),
            [only] if only.kind() == "return_statement" && only_child(*only).is_some() => {
                only_child(*only)
            }
            [first, ..] => {
                let odd = if first.kind() == "return_statement" {
                    statements.get(1).unwrap_or(first)
                } else {
                    first
                };
                dart.refuse(*odd, "each case only returns a constant");
                None
            }
        };
        let labels = std::mem::take(&mut waiting);
        if let Some(windows) = value.and_then(|value| policy(value, dart)) {
            add(&mut cases, labels, windows, dart);
        }
    }
    if let Some((_, span)) = waiting.first() {
        dart.faults.at(*span, "the last case returns nothing");
    }
    cases
}

/// The `switch` must be over the parameter itself.
fn check_subject(switch: Node<'_>, parameter: &str, dart: &mut Dart<'_, '_>) {
    let Some(condition) = switch.child_by_field_name("condition") else {
        return;
    };
    let subject = only_child(condition).unwrap_or(condition);
    if subject.kind() != "identifier" || dart.text(subject) != parameter {
        dart.refuse(
            subject,
            &format!("the `switch` is over {}", quote(parameter)),
        );
    }
}

/// `'fill'`, `'fill' || 'archive'`, `null`, `_`.
fn labels(case: Node<'_>, patterns: &[Node<'_>], dart: &mut Dart<'_, '_>) -> Vec<(Label, Span)> {
    let mut labels = Vec::new();
    if has_token(case, "when") || has_token(case, "&&") {
        let help = "a case is one name, several with `||`, `null` or `_`";
        dart.faults.at_with_help(
            dart.span(case),
            "a condition beside a case is not understood here",
            help,
        );
        return labels;
    }
    for pattern in patterns {
        let inner = if pattern.kind() == "constant_pattern" {
            only_child(*pattern)
        } else {
            None
        };
        let label = match inner {
            Some(inner) if inner.kind() == "null_literal" => Some(Label::Null),
            Some(inner) if inner.kind() == "identifier" && dart.text(inner) == "_" => {
                Some(Label::Other)
            }
            Some(inner) => plain_string(dart, inner).map(Label::Name),
            None => None,
        };
        match label {
            Some(label) => labels.push((label, dart.span(*pattern))),
            None => dart.refuse(
                inner.unwrap_or(*pattern),
                "a case is a plain string, `null` or `_`",
            ),
        }
    }
    labels
}

fn add(
    cases: &mut Cases,
    labels: Vec<(Label, Span)>,
    windows: Option<RateLimitPolicy>,
    dart: &mut Dart<'_, '_>,
) {
    for (label, span) in labels {
        let twice = match label {
            // What comes after `_` is never reached.
            _ if cases.other.is_some() => true,
            Label::Name(name) => {
                let twice = cases.named.iter().any(|(other, ..)| *other == name);
                cases.named.push((name, span, windows));
                twice
            }
            Label::Null => cases.null.replace((windows, span)).is_some(),
            Label::Other => cases.other.replace((windows, span)).is_some(),
        };
        if twice {
            dart.faults.at(
                span,
                "this case is never reached: an earlier one takes what it takes",
            );
        }
    }
}
