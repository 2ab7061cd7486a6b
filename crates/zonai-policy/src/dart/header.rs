//! What a class is for: the class of policies that it extends, and the table that its constructor names.
//!
//! Must never take a name for a table that the schema does not have.

use tree_sitter::Node;
use zonai_limit::Kind;

use super::syntax::{Dart, children, has_token, only_child};
use crate::Span;
use crate::diagnostic::{nearest, quote};
use crate::file::known_table;
use crate::tables::{TableFacts, Tables};

const BASE_FORM: &str = "the class only extends `TableRateLimits` or `AuthTableRateLimits`";
const SUPER_FORM: &str = "such as `TaskRateLimits() : super(tasks);`";

/// Which class of policies it extends; modifiers and the like that have no place here are faults.
pub(super) fn kind(class: Node<'_>, name: Node<'_>, dart: &mut Dart<'_, '_>) -> Option<Kind> {
    for modifier in ["abstract", "sealed", "mixin"] {
        if has_token(class, modifier) {
            let message = format!("the class is `{modifier}` and cannot be returned by `main()`");
            dart.faults.at(dart.span(name), message);
        }
    }
    if class.child_by_field_name("type_parameters").is_some() {
        dart.faults.at(
            dart.span(name),
            "a class with type parameters is not understood here",
        );
    }
    if let Some(interfaces) = class.child_by_field_name("interfaces") {
        dart.refuse(interfaces, BASE_FORM);
    }
    let known = ["TableRateLimits", "AuthTableRateLimits"];
    let Some(superclass) = class.child_by_field_name("superclass") else {
        let help = "such as `extends TableRateLimits<TaskTable, Task>`";
        dart.faults
            .at_with_help(dart.span(name), "the class extends nothing", help);
        return None;
    };
    for part in children(superclass)
        .into_iter()
        .filter(|part| part.kind() == "mixins")
    {
        dart.refuse(part, BASE_FORM);
    }
    let Some(base) = superclass.child_by_field_name("type") else {
        dart.faults.at(dart.span(name), "the class extends nothing");
        return None;
    };
    let names: Vec<Node<'_>> = children(base)
        .into_iter()
        .filter(|n| n.kind() == "type_identifier")
        .collect();
    let base_name = names.last().copied().unwrap_or(base);
    match dart.text(base_name) {
        "TableRateLimits" => Some(Kind::Table),
        "AuthTableRateLimits" => Some(Kind::Auth),
        other => {
            let message = format!(
                "the class extends {}, which is no class of policies",
                quote(other)
            );
            let help = match nearest(other, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known: {}", known.join(", ")),
            };
            dart.faults
                .at_with_help(dart.span(base_name), message, help);
            None
        }
    }
}

/// The table that a class is for.
pub(super) struct Table<'t> {
    pub(super) name: String,
    pub(super) span: Span,
    pub(super) facts: &'t TableFacts,
}

/// The table of `super(tasks)`: the schema's name, or its camelCase.
pub(super) fn table<'t>(
    constructor: Node<'_>,
    tables: &'t Tables,
    dart: &mut Dart<'_, '_>,
) -> Option<Table<'t>> {
    let argument = super_argument(constructor, dart)?;
    // `schema.tasks`, by an import prefix.
    let name = match argument.kind() {
        "identifier" => Some(argument),
        "member_expression"
            if argument
                .child_by_field_name("object")
                .is_some_and(|object| object.kind() == "identifier") =>
        {
            argument.child_by_field_name("property")
        }
        _ => None,
    };
    let Some(name) = name else {
        dart.refuse(argument, SUPER_FORM);
        return None;
    };
    let span = dart.span(name);
    let written = dart.text(name);
    let snake = snake_case(written);
    let table = if tables.get(written).is_none() && tables.get(&snake).is_some() {
        &snake
    } else {
        written
    };
    known_table(table, span, tables, dart.faults).map(|facts| Table {
        name: table.to_owned(),
        span,
        facts,
    })
}

/// The argument of a constructor that only calls `super`.
fn super_argument<'t>(constructor: Node<'t>, dart: &mut Dart<'_, '_>) -> Option<Node<'t>> {
    let parts = children(constructor);
    let signature = parts.first().copied()?;
    let parameters = signature
        .child_by_field_name("parameters")
        .map(children)
        .unwrap_or_default();
    if has_token(signature, ".") || !parameters.is_empty() {
        let message = "a constructor with a name or parameters is not understood here";
        dart.faults
            .at_with_help(dart.span(signature), message, SUPER_FORM);
        return None;
    }
    let entries = parts
        .iter()
        .find(|part| part.kind() == "initializers")
        .map(|part| children(*part));
    let entries = entries.unwrap_or_default();
    let argument = match entries.as_slice() {
        [entry] if has_token(*entry, "super") && !has_token(*entry, ".") => {
            match children(*entry).as_slice() {
                [arguments] if arguments.kind() == "arguments" => only_child(*arguments),
                _ => None,
            }
        }
        _ => None,
    };
    if argument.is_none() {
        let span = dart.span(entries.first().copied().unwrap_or(signature));
        dart.faults.at_with_help(
            span,
            "the constructor must only call `super(table)`",
            SUPER_FORM,
        );
    }
    argument
}

/// `userProfiles` as `user_profiles`.
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
