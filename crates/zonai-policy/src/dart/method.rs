//! One policy method: which operation it is for, and the constant or the `switch` that it returns.
//!
//! Must never take a body for simpler than it is: one `return`, or one `switch` over the operation's name.

use tree_sitter::Node;
use zonai_limit::{Kind, Limit, Mode, Operation, RateLimitPolicy, Shared, TableLimits};

use super::policy::{POLICY_FORM, constant, policy};
use super::syntax::{Dart, children, has_token, only_child, plain_string};
use crate::Span;
use crate::diagnostic::quote;
use crate::file::check_custom;
use crate::tables::{CustomNames, TableFacts};

pub(super) fn read(
    method: Node<'_>,
    kind: Kind,
    facts: Option<&TableFacts>,
    limits: &mut TableLimits,
    dart: &mut Dart<'_, '_>,
) -> Option<()> {
    let outer = method.child_by_field_name("signature")?;
    let signature = only_child(outer)?;
    let name = signature.child_by_field_name("name")?;
    if has_token(outer, "static") {
        dart.faults.at(dart.span(name), "a `static` method is never asked for a policy");
        return None;
    }
    let operation = operation(dart.text(name), kind, dart.span(name), dart)?;
    if limits.operations.contains_key(&operation) {
        dart.faults.at(dart.span(name), format!("the method {} stands twice", quote(dart.text(name))));
        return None;
    }
    let body = method.child_by_field_name("body")?;
    let parameters = signature.child_by_field_name("parameters").map(children).unwrap_or_default();
    let limit = |windows: Option<RateLimitPolicy>, span: Span, dart: &Dart<'_, '_>| Limit {
        windows: windows.into_iter().collect(),
        mode: Mode::Enforce,
        origin: dart.source().origin(span),
    };
    if operation != Operation::Custom {
        if let Some(parameter) = parameters.first() {
            dart.faults.at(dart.span(*parameter), format!("{} takes no parameters", quote(dart.text(name))));
            return None;
        }
        let value = returned(body, dart)?;
        let windows = policy(value, dart)?;
        limits.operations.insert(operation, limit(windows, dart.span(name), dart));
        return Some(());
    }
    let [parameter] = parameters.as_slice() else {
        let help = "write `customPolicy(String? operation)`";
        dart.faults.at_with_help(dart.span(name), "`customPolicy` takes one parameter, the operation's name", help);
        return None;
    };
    let Some(parameter) = parameter.child_by_field_name("name") else {
        dart.refuse(*parameter, "write `customPolicy(String? operation)`");
        return None;
    };
    let choice = choice(body, dart.text(parameter), dart)?;
    for (label, span, windows) in choice.named {
        let before = dart.faults.len();
        check_custom(&label, span, facts, dart.faults);
        if dart.faults.len() == before {
            limits.custom.insert(label, limit(windows, span, dart));
        }
    }
    // Where names cannot be validated, the method is only ever asked with null.
    let open = facts.is_some_and(|facts| facts.operations == CustomNames::Open);
    let other = if open { choice.null.unwrap_or(choice.other) } else { choice.other };
    let span = if other.1 == Span::START { dart.span(name) } else { other.1 };
    limits.operations.insert(operation, limit(other.0, span, dart));
    Some(())
}

/// The operation of a policy method, or a fault with the nearest.
fn operation(name: &str, kind: Kind, span: Span, dart: &mut Dart<'_, '_>) -> Option<Operation> {
    let (own, others): (&[Operation], &[Operation]) = match kind {
        Kind::Table => (&Operation::TABLE, &Operation::AUTH),
        Kind::Auth => (&Operation::AUTH, &Operation::TABLE),
    };
    let stem = name.strip_suffix("Policy").map(|stem| if stem == "limit" { "list" } else { stem });
    let found = stem.filter(|_| name != "listPolicy").and_then(Operation::from_name);
    match found {
        Some(operation) if own.contains(&operation) => return Some(operation),
        Some(operation) if others.contains(&operation) => {
            let class = if kind == Kind::Table { "AuthTableRateLimits" } else { "TableRateLimits" };
            dart.faults.at(span, format!("{} is a method of `{class}`", quote(name)));
        }
        Some(operation) if Shared::of(operation).is_some() => dart.faults.at_with_help(
            span,
            format!("{} is counted in a shared bucket and cannot be set for a table", quote(operation.name())),
            "set it under `rateLimit.shared` in zonai.yaml",
        ),
        _ => {
            let known: Vec<String> = own.iter().map(|operation| method_name(*operation)).collect();
            dart.faults.unknown(span, "method", name, known.iter().map(String::as_str));
        }
    }
    None
}

/// `createPolicy`; the method for `list` is `limitPolicy`.
fn method_name(operation: Operation) -> String {
    let stem = if operation == Operation::List { "limit" } else { operation.name() };
    format!("{stem}Policy")
}

/// The expression that a body returns: `=> x;` or `{ return x; }`, `async` or not.
pub(super) fn returned<'t>(body: Node<'t>, dart: &mut Dart<'_, '_>) -> Option<Node<'t>> {
    for generator in ["async*", "sync*"] {
        if has_token(body, generator) {
            dart.faults.at(dart.span(body), format!("a generator (`{generator}`) is not understood here"));
            return None;
        }
    }
    let Some(inner) = only_child(body) else {
        dart.refuse(body, POLICY_FORM);
        return None;
    };
    if inner.kind() == "block" { returned_by(inner, dart) } else { Some(constant(inner, dart)) }
}

/// The expression of a block that only returns.
fn returned_by<'t>(block: Node<'t>, dart: &mut Dart<'_, '_>) -> Option<Node<'t>> {
    let statements = children(block);
    let Some(first) = statements.first() else {
        dart.faults.at_with_help(dart.span(block), "an empty block returns nothing", "return `null` for no limit");
        return None;
    };
    let value = (first.kind() == "return_statement").then(|| only_child(*first)).flatten();
    match (value, statements.get(1)) {
        (Some(value), None) => Some(constant(value, dart)),
        (Some(_), Some(second)) => {
            dart.faults.at(dart.span(*second), "nothing may stand after `return`");
            None
        }
        (None, _) => {
            dart.refuse(*first, "the method only returns a constant");
            None
        }
    }
}

/// What a `customPolicy` answers, by name.
struct Choice {
    named: Vec<(String, Span, Option<RateLimitPolicy>)>,
    null: Option<(Option<RateLimitPolicy>, Span)>,
    other: (Option<RateLimitPolicy>, Span),
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

fn choice(body: Node<'_>, parameter: &str, dart: &mut Dart<'_, '_>) -> Option<Choice> {
    let inner = only_child(body);
    let statements = inner.filter(|inner| inner.kind() == "block").map(children).unwrap_or_default();
    let before = dart.faults.len();
    let cases = match (statements.as_slice(), inner) {
        ([switch], _) if switch.kind() == "switch_statement" => statement_cases(*switch, parameter, dart),
        ([switch, last], _) if switch.kind() == "switch_statement" && last.kind() == "return_statement" => {
            let mut cases = statement_cases(*switch, parameter, dart);
            if cases.other.is_some() {
                dart.faults.at(dart.span(*last), "nothing comes here after a `switch` with a `default`");
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
                Cases { other: Some((windows, Span::START)), ..Cases::default() }
            }
        }
    };
    if dart.faults.len() > before {
        return None;
    }
    let Some(other) = cases.other else {
        let help = "add `_ => .defaultPolicy` (or `default: return …;`) for all other names";
        dart.faults.at_with_help(dart.span(body), "the `switch` leaves other names open", help);
        return None;
    };
    Some(Choice { named: cases.named, null: cases.null, other })
}

fn expression_cases(switch: Node<'_>, parameter: &str, dart: &mut Dart<'_, '_>) -> Cases {
    let mut cases = Cases::default();
    check_subject(switch, parameter, dart);
    for case in children(switch).into_iter().filter(|node| node.kind() == "switch_expression_case") {
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
    let block = switch.child_by_field_name("body").map(children).unwrap_or_default();
    // Cases without a body fall through to the next that has one.
    let mut waiting: Vec<(Label, Span)> = Vec::new();
    for case in block {
        let parts = children(case);
        let is_statement = |node: &&Node<'_>| node.kind().ends_with("_statement") || node.kind() == "block";
        let at = parts.iter().position(|node| is_statement(&node)).unwrap_or(parts.len());
        let (patterns, statements) = parts.split_at(at);
        if case.kind() == "switch_statement_default" {
            waiting.push((Label::Other, dart.span(case)));
        } else {
            waiting.extend(labels(case, patterns, dart));
        }
        let value = match statements {
            [] => continue,
            [block] if block.kind() == "block" => returned_by(*block, dart),
            [only] if only.kind() == "return_statement" && only_child(*only).is_some() => only_child(*only),
            [first, ..] => {
                let odd = if first.kind() == "return_statement" { statements.get(1).unwrap_or(first) } else { first };
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
    let Some(condition) = switch.child_by_field_name("condition") else { return };
    let subject = only_child(condition).unwrap_or(condition);
    if subject.kind() != "identifier" || dart.text(subject) != parameter {
        dart.refuse(subject, &format!("the `switch` is over {}", quote(parameter)));
    }
}

/// `'fill'`, `'fill' || 'archive'`, `null`, `_`.
fn labels(case: Node<'_>, patterns: &[Node<'_>], dart: &mut Dart<'_, '_>) -> Vec<(Label, Span)> {
    let mut labels = Vec::new();
    if has_token(case, "when") || has_token(case, "&&") {
        let help = "a case is one name, several with `||`, `null` or `_`";
        dart.faults.at_with_help(dart.span(case), "a condition beside a case is not understood here", help);
        return labels;
    }
    for pattern in patterns {
        let inner = if pattern.kind() == "constant_pattern" { only_child(*pattern) } else { None };
        let label = match inner {
            Some(inner) if inner.kind() == "null_literal" => Some(Label::Null),
            Some(inner) if inner.kind() == "identifier" && dart.text(inner) == "_" => Some(Label::Other),
            Some(inner) => plain_string(dart, inner).map(Label::Name),
            None => None,
        };
        match label {
            Some(label) => labels.push((label, dart.span(*pattern))),
            None => dart.refuse(inner.unwrap_or(*pattern), "a case is a plain string, `null` or `_`"),
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
            dart.faults.at(span, "this case is never reached: an earlier one takes what it takes");
        }
    }
}
