//! Constant expressions: `RateLimitPolicy(…)`, `Duration(…)`, whole numbers.
//!
//! Must never evaluate more than products of literals, nor by unbounded recursion.

use std::time::Duration;

use tree_sitter::Node;
use zonai_limit::{PolicyError, RateLimitPolicy};

use super::class::call;
use super::syntax::{Dart, children, only_child};
use crate::diagnostic::quote;

pub(super) const POLICY_FORM: &str = "write `const RateLimitPolicy(maxRequests: 10, window: Duration(minutes: 1))`, `.defaultPolicy` or `null`";

/// How many factors a product may have.
const MAX_FACTORS: usize = 16;

/// The units that `Duration` knows, in microseconds.
const UNITS: [(&str, i128); 6] = [
    ("days", 86_400_000_000),
    ("hours", 3_600_000_000),
    ("minutes", 60_000_000),
    ("seconds", 1_000_000),
    ("milliseconds", 1_000),
    ("microseconds", 1),
];

/// What stands in `Future.value(…)`, or the node itself.
pub(super) fn constant<'t>(node: Node<'t>, dart: &Dart<'_, '_>) -> Node<'t> {
    let arguments = match node.kind() {
        "call_expression" => {
            let function = node
                .child_by_field_name("function")
                .map_or("", |function| dart.text(function));
            node.child_by_field_name("arguments")
                .filter(|_| function == "Future.value")
        }
        // `Future<RateLimitPolicy?>.value(…)`
        "constructor_invocation" => {
            let part = |field| {
                node.child_by_field_name(field)
                    .map_or("", |part| dart.text(part))
            };
            node.child_by_field_name("arguments")
                .filter(|_| part("type") == "Future" && part("constructor") == "value")
        }
        _ => None,
    };
    arguments
        .and_then(only_child)
        .filter(|value| value.kind() != "named_argument")
        .unwrap_or(node)
}

/// A policy: `Some(None)` is `null`, no limit. `None` where a fault was added.
pub(super) fn policy(node: Node<'_>, dart: &mut Dart<'_, '_>) -> Option<Option<RateLimitPolicy>> {
    match node.kind() {
        "null_literal" => return Some(None),
        "static_member_shorthand" | "member_expression" => {
            let text: String = dart.text(node).split_whitespace().collect();
            if text == ".defaultPolicy" || text == "RateLimitPolicy.defaultPolicy" {
                return Some(Some(RateLimitPolicy::DEFAULT));
            }
        }
        _ => {}
    }
    if let Some(("RateLimitPolicy", arguments)) = call(node, dart) {
        return constructed(node, arguments, dart).map(Some);
    }
    dart.refuse(node, POLICY_FORM);
    None
}

fn constructed(
    node: Node<'_>,
    arguments: Node<'_>,
    dart: &mut Dart<'_, '_>,
) -> Option<RateLimitPolicy> {
    let before = dart.faults.len();
    let mut max_requests = None;
    let mut window = None;
    for (name, value) in named(arguments, &["maxRequests", "window"], dart) {
        match name {
            "maxRequests" => {
                let number = integer(value, dart);
                max_requests = number.and_then(|number| u32::try_from(number).ok());
                if number.is_some() && max_requests.is_none() {
                    let message = format!(
                        "`maxRequests` must be a whole number from 0 to {}",
                        u32::MAX
                    );
                    dart.faults.at(dart.span(value), message);
                }
            }
            _ => window = duration(value, dart),
        }
    }
    if dart.faults.len() > before {
        return None;
    }
    for (name, missing) in [
        ("maxRequests", max_requests.is_none()),
        ("window", window.is_none()),
    ] {
        if missing {
            dart.faults
                .at_with_help(dart.span(node), format!("`{name}` is missing"), POLICY_FORM);
        }
    }
    RateLimitPolicy::new(max_requests?, window?).ok()
}

fn duration(node: Node<'_>, dart: &mut Dart<'_, '_>) -> Option<Duration> {
    let wanted = "write `Duration(minutes: 1)`";
    let Some(("Duration", arguments)) = call(node, dart) else {
        dart.refuse(node, wanted);
        return None;
    };
    let before = dart.faults.len();
    let mut total: Option<i128> = Some(0);
    for (name, value) in named(arguments, &UNITS.map(|(name, _)| name), dart) {
        let unit = UNITS
            .iter()
            .find(|(unit, _)| *unit == name)
            .map_or(0, |(_, micros)| *micros);
        if let Some(number) = integer(value, dart) {
            total = total.and_then(|total| number.checked_mul(unit)?.checked_add(total));
        }
    }
    if dart.faults.len() > before {
        return None;
    }
    // What does not fit is too long as well; below 0 is as wrong as 0.
    let micros = total.map_or(u64::MAX, |total| {
        u64::try_from(total.max(0)).unwrap_or(u64::MAX)
    });
    let window = Duration::from_micros(micros);
    match RateLimitPolicy::new(0, window) {
        Ok(_) => Some(window),
        Err(PolicyError::WindowNotWhole) if micros == u64::MAX => {
            dart.faults
                .at(dart.span(node), PolicyError::WindowTooLong.to_string());
            None
        }
        Err(error) => {
            dart.faults.at(dart.span(node), error.to_string());
            None
        }
    }
}

/// The named arguments of a call; a positional, unknown or second one is a fault.
fn named<'t, 's>(
    arguments: Node<'t>,
    known: &[&str],
    dart: &mut Dart<'_, 's>,
) -> Vec<(&'s str, Node<'t>)> {
    let mut found: Vec<(&'s str, Node<'t>)> = Vec::new();
    for argument in children(arguments) {
        let parts = children(argument);
        let (label, value) = match parts.as_slice() {
            [label, value] if argument.kind() == "named_argument" => (only_child(*label), *value),
            _ => (None, argument),
        };
        let Some(label) = label else {
            dart.refuse(argument, &format!("named arguments: {}", known.join(", ")));
            continue;
        };
        let name = dart.text(label);
        if !known.contains(&name) {
            dart.faults
                .unknown(dart.span(label), "argument", name, known.iter().copied());
        } else if found.iter().any(|(other, _)| *other == name) {
            dart.faults.at(
                dart.span(label),
                format!("the argument {} stands twice", quote(name)),
            );
        } else {
            found.push((name, value));
        }
    }
    found
}

/// A whole number: a literal, its negative, or a product of such.
fn integer(node: Node<'_>, dart: &mut Dart<'_, '_>) -> Option<i128> {
    let mut product: i128 = 1;
    let mut rest = node;
    for _ in 0..MAX_FACTORS {
        if rest.kind() != "multiplicative_expression" {
            return product
                .checked_mul(literal(rest, node, dart)?)
                .or(Some(i128::MAX));
        }
        let parts = children(rest);
        let [left, operator, right] = parts.as_slice() else {
            break;
        };
        if dart.text(*operator) != "*" {
            break;
        }
        product = product.saturating_mul(literal(*right, node, dart)?);
        rest = *left;
    }
    refuse_number(node, dart);
    None
}

fn literal(node: Node<'_>, whole: Node<'_>, dart: &mut Dart<'_, '_>) -> Option<i128> {
    let (node, sign) = match children(node).as_slice() {
        [operator, number] if node.kind() == "unary_expression" && dart.text(*operator) == "-" => {
            (*number, -1)
        }
        _ => (node, 1),
    };
    let digits: String = dart.text(node).chars().filter(|c| *c != '_').collect();
    let number = match node.kind() {
        "decimal_integer_literal" => digits.parse::<i64>().ok(),
        "hex_integer_literal" => digits
            .get(2..)
            .and_then(|hex| i64::from_str_radix(hex, 16).ok()),
        _ => {
            refuse_number(whole, dart);
            return None;
        }
    };
    if number.is_none() {
        dart.faults.at(
            dart.span(node),
            format!("{} is too large", quote(dart.text(node))),
        );
    }
    number.map(|number| i128::from(number) * sign)
}

fn refuse_number(node: Node<'_>, dart: &mut Dart<'_, '_>) {
    dart.refuse(node, "write a whole number");
}
