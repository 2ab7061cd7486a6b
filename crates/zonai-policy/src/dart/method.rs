//! One policy method: which operation it is for, and what it returns.
//!
//! Must never take a body for simpler than it is: one `return`, or what [`super::switch`] understands.

use tree_sitter::Node;
use zonai_limit::{Kind, Limit, Mode, Operation, RateLimitPolicy, Shared, TableLimits};

use super::policy::{POLICY_FORM, constant, policy};
use super::switch::choice;
use super::syntax::{Dart, children, has_token, only_child};
use crate::Span;
use crate::diagnostic::quote;
use crate::file::check_custom;
use crate::tables::{CustomNames, TableFacts};

/// Reads one method into `limits`. `None` where it was not taken.
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
    let span = dart.span(name);
    if has_token(outer, "static") {
        dart.faults
            .at(span, "a `static` method is never asked for a policy");
        return None;
    }
    let operation = operation(dart.text(name), kind, span, dart)?;
    if limits.operations.contains_key(&operation) {
        dart.faults.at(
            span,
            format!("the method {} stands twice", quote(dart.text(name))),
        );
        return None;
    }
    let body = method.child_by_field_name("body")?;
    let parameters = signature
        .child_by_field_name("parameters")
        .map(children)
        .unwrap_or_default();
    if operation == Operation::Custom {
        return custom(span, &parameters, body, facts, limits, dart);
    }
    if let Some(parameter) = parameters.first() {
        let message = format!("{} takes no parameters", quote(dart.text(name)));
        dart.faults.at(dart.span(*parameter), message);
        return None;
    }
    let value = returned(body, dart)?;
    let windows = policy(value, dart)?;
    limits
        .operations
        .insert(operation, limit(windows, span, dart));
    Some(())
}

/// `customPolicy(String? operation)`.
fn custom(
    name: Span,
    parameters: &[Node<'_>],
    body: Node<'_>,
    facts: Option<&TableFacts>,
    limits: &mut TableLimits,
    dart: &mut Dart<'_, '_>,
) -> Option<()> {
    let wanted = "write `customPolicy(String? operation)`";
    let [parameter] = parameters else {
        dart.faults.at_with_help(
            name,
            "`customPolicy` takes one parameter, the operation's name",
            wanted,
        );
        return None;
    };
    let Some(parameter) = parameter.child_by_field_name("name") else {
        dart.refuse(*parameter, wanted);
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
    // Where names cannot be validated, the method is only ever asked with null; elsewhere never.
    let open = facts.is_some_and(|facts| facts.operations == CustomNames::Open);
    let (windows, span) = choice.null.filter(|_| open).unwrap_or(choice.other);
    let span = if span == Span::START { name } else { span };
    limits
        .operations
        .insert(Operation::Custom, limit(windows, span, dart));
    Some(())
}

fn limit(windows: Option<RateLimitPolicy>, span: Span, dart: &Dart<'_, '_>) -> Limit {
    let origin = dart.source().origin(span);
    Limit {
        windows: windows.into_iter().collect(),
        mode: Mode::Enforce,
        origin,
    }
}

/// The operation of a policy method, or a fault with the nearest.
fn operation(name: &str, kind: Kind, span: Span, dart: &mut Dart<'_, '_>) -> Option<Operation> {
    let (own, others): (&[Operation], &[Operation]) = match kind {
        Kind::Table => (&Operation::TABLE, &Operation::AUTH),
        Kind::Auth => (&Operation::AUTH, &Operation::TABLE),
    };
    let stem = name
        .strip_suffix("Policy")
        .map(|stem| if stem == "limit" { "list" } else { stem });
    let found = stem
        .filter(|_| name != "listPolicy")
        .and_then(Operation::from_name);
    match found {
        Some(operation) if own.contains(&operation) => return Some(operation),
        Some(operation) if others.contains(&operation) => {
            let class = if kind == Kind::Table {
                "AuthTableRateLimits"
            } else {
                "TableRateLimits"
            };
            dart.faults
                .at(span, format!("{} is a method of `{class}`", quote(name)));
        }
        Some(operation) if Shared::of(operation).is_some() => dart.faults.at_with_help(
            span,
            format!(
                "{} is counted in a shared bucket and cannot be set for a table",
                quote(operation.name())
            ),
            "set it under `rateLimit.shared` in zonai.yaml",
        ),
        _ => {
            let known: Vec<String> = own
                .iter()
                .map(|operation| method_name(*operation))
                .collect();
            dart.faults
                .unknown(span, "method", name, known.iter().map(String::as_str));
        }
    }
    None
}

/// `createPolicy`; the method for `list` is `limitPolicy`.
fn method_name(operation: Operation) -> String {
    let stem = if operation == Operation::List {
        "limit"
    } else {
        operation.name()
    };
    format!("{stem}Policy")
}

/// The expression that a body returns: `=> x;` or `{ return x; }`, `async` or not.
pub(super) fn returned<'t>(body: Node<'t>, dart: &mut Dart<'_, '_>) -> Option<Node<'t>> {
    if is_generator(body, dart) {
        return None;
    }
    let Some(inner) = only_child(body) else {
        dart.refuse(body, POLICY_FORM);
        return None;
    };
    if inner.kind() == "block" {
        returned_by(inner, dart)
    } else {
        Some(constant(inner, dart))
    }
}

/// Adds a fault where a body is one of a generator.
pub(super) fn is_generator(body: Node<'_>, dart: &mut Dart<'_, '_>) -> bool {
    let found = ["async*", "sync*"]
        .into_iter()
        .find(|token| has_token(body, token));
    if let Some(generator) = found {
        let message = format!("a generator (`{generator}`) is not understood here");
        dart.faults.at(dart.span(body), message);
    }
    found.is_some()
}

/// The expression of a block that only returns.
pub(super) fn returned_by<'t>(block: Node<'t>, dart: &mut Dart<'_, '_>) -> Option<Node<'t>> {
    let statements = children(block);
    let Some(first) = statements.first() else {
        dart.faults.at_with_help(
            dart.span(block),
            "an empty block returns nothing",
            "return `null` for no limit",
        );
        return None;
    };
    let value = (first.kind() == "return_statement")
        .then(|| only_child(*first))
        .flatten();
    match (value, statements.get(1)) {
        (Some(value), None) => Some(constant(value, dart)),
        (Some(_), Some(second)) => {
            dart.faults
                .at(dart.span(*second), "nothing may stand after `return`");
            None
        }
        (None, _) => {
            dart.refuse(*first, "the method only returns a constant");
            None
        }
    }
}
