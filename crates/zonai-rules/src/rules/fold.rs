//! What an expression says before any row is looked at: `@admin`, `@user.id is not null`, comparisons with a missing user.
//!
//! Answers only where SQLite could not say otherwise; everything else is left to it.
//! Must never guess: an answer that is wrong here opens a table or closes it.

use rusqlite::types::Value as Bound;

use super::node::{Node, Value};

/// SQL's three truths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    True,
    False,
    Null,
}

/// The truth of an expression, where it does not depend on a row.
pub(super) fn fold(node: &Node, value: &dyn Fn(&Value) -> Bound) -> Option<Truth> {
    match node {
        Node::Value(one) => match value(one) {
            Bound::Null => Some(Truth::Null),
            Bound::Integer(number) => Some(Truth::of(number != 0)),
            _ => None,
        },
        Node::Not(inner) => fold(inner, value).map(Truth::not),
        Node::All(parts) => all(parts.iter().map(|part| fold(part, value))),
        Node::Any(parts) => {
            all(parts.iter().map(|part| fold(part, value).map(Truth::not))).map(Truth::not)
        }
        Node::Test(inner, test) => tested(inner, test, value),
        Node::Binary(operator, left, right) => compare(operator, left, right, value),
        Node::In(left, negated, list) if !list.is_empty() => {
            let parts = list
                .iter()
                .map(|item| compare("=", left, item, value).map(Truth::not));
            all(parts).map(|none| if *negated { none } else { none.not() })
        }
        _ => None,
    }
}

impl Truth {
    fn of(truth: bool) -> Self {
        if truth { Self::True } else { Self::False }
    }

    fn not(self) -> Self {
        match self {
            Self::True => Self::False,
            Self::False => Self::True,
            Self::Null => Self::Null,
        }
    }
}

/// AND: false wins over what is not known, what is not known over NULL. NULL and an unknown part are never true together,
/// but may be false, and the difference shows under a NOT.
fn all(parts: impl Iterator<Item = Option<Truth>>) -> Option<Truth> {
    let mut found = Some(Truth::True);
    for part in parts {
        found = match (found, part) {
            (_, Some(Truth::False)) => return Some(Truth::False),
            (None, _) | (_, None) => None,
            (Some(Truth::Null), _) | (_, Some(Truth::Null)) => Some(Truth::Null),
            (Some(_), Some(_)) => Some(Truth::True),
        };
    }
    found
}

fn tested(inner: &Node, test: &str, value: &dyn Fn(&Value) -> Bound) -> Option<Truth> {
    if let (Node::Value(one), "IS NULL" | "IS NOT NULL") = (inner, test) {
        return Some(Truth::of(
            (value(one) == Bound::Null) == (test == "IS NULL"),
        ));
    }
    let truth = fold(inner, value)?;
    match test {
        "IS TRUE" => Some(Truth::of(truth == Truth::True)),
        "IS NOT TRUE" => Some(Truth::of(truth != Truth::True)),
        "IS FALSE" => Some(Truth::of(truth == Truth::False)),
        "IS NOT FALSE" => Some(Truth::of(truth != Truth::False)),
        _ => None,
    }
}

fn compare(
    operator: &str,
    left: &Node,
    right: &Node,
    value: &dyn Fn(&Value) -> Bound,
) -> Option<Truth> {
    let known = |node: &Node| match node {
        Node::Value(one) => Some(value(one)),
        _ => None,
    };
    let (left, right) = (known(left), known(right));
    let comparison = matches!(operator, "=" | "<>" | "<" | "<=" | ">" | ">=");
    if comparison && (left == Some(Bound::Null) || right == Some(Bound::Null)) {
        return Some(Truth::Null);
    }
    let same =
        match (left?, right?) {
            (Bound::Null, Bound::Null) => true,
            (Bound::Integer(left), Bound::Integer(right)) => left == right,
            (Bound::Text(left), Bound::Text(right)) => left == right,
            (Bound::Null | Bound::Integer(_), Bound::Text(_))
            | (Bound::Null, Bound::Integer(_)) => false,
            (Bound::Text(_), Bound::Null | Bound::Integer(_))
            | (Bound::Integer(_), Bound::Null) => false,
            _ => return None,
        };
    match operator {
        "=" | "IS" => Some(Truth::of(same)),
        "<>" | "IS NOT" => Some(Truth::of(!same)),
        _ => None,
    }
}
