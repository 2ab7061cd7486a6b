//! A Dart file as a whole: the class, its constructor, and the `main()` that returns it.
//!
//! Must never read a class that `main()` does not return, nor pass one over in silence.

use std::collections::BTreeMap;

use tree_sitter::Node;
use zonai_limit::{Kind, Mode, TableLimits};

use super::syntax::{Dart, children, construct, only_child};
use super::{header, method};
use crate::Span;
use crate::diagnostic::quote;
use crate::file::{Stated, no_auth_table};
use crate::tables::Tables;

const CLASS_FORM: &str = "a policy file holds imports, one class and `main()`";
const MEMBER_FORM: &str = "the class holds its constructor and policy methods";

pub(super) fn file<'s>(root: Node<'_>, tables: &Tables, dart: &mut Dart<'_, 's>) -> Option<Stated> {
    let mut classes = Vec::new();
    let mut main = None;
    for node in children(root) {
        match node.kind() {
            "import_or_export" | "library_name" => {}
            "class_declaration" => classes.push(node),
            "function_declaration" if function_name(node, dart) == "main" && main.is_none() => {
                main = Some(node)
            }
            _ => dart.refuse(node, CLASS_FORM),
        }
    }
    let returned = match main {
        Some(main) => returned_class(main, dart),
        None => {
            dart.faults.at_with_help(
                Span::START,
                "`main()` is missing",
                "end the file with `MyRateLimits main() => MyRateLimits();`",
            );
            None
        }
    };
    if classes.is_empty() {
        let help = "write a class that extends `TableRateLimits` or `AuthTableRateLimits`";
        dart.faults
            .at_with_help(Span::START, "the file has no class", help);
    }
    let mut stated = None;
    let mut found = false;
    for class in classes {
        let name = class
            .child_by_field_name("name")
            .map_or("", |name| dart.text(name));
        if main.is_some() && returned.is_some_and(|(returned, _)| returned != name) {
            let span = dart.span(class.child_by_field_name("name").unwrap_or(class));
            dart.faults.at(
                span,
                format!("`main()` does not return the class {}", quote(name)),
            );
        }
        found |= returned.is_some_and(|(returned, _)| returned == name);
        stated = self::class(class, tables, dart).or(stated);
    }
    if let Some((name, span)) = returned
        && !found
    {
        dart.faults.at(
            span,
            format!(
                "`main()` returns {}, which is no class of this file",
                quote(name)
            ),
        );
    }
    stated.filter(|_| dart.faults.is_empty())
}

fn function_name<'s>(function: Node<'_>, dart: &Dart<'_, 's>) -> &'s str {
    let signature = function.child_by_field_name("signature");
    signature
        .and_then(|s| s.child_by_field_name("name"))
        .map_or("", |name| dart.text(name))
}

/// The class of which `main()` returns an instance.
fn returned_class<'s>(main: Node<'_>, dart: &mut Dart<'_, 's>) -> Option<(&'s str, Span)> {
    let wanted = "such as `MyRateLimits main() => MyRateLimits();`";
    let parameters = main
        .child_by_field_name("signature")?
        .child_by_field_name("parameters")?;
    if let Some(parameter) = children(parameters).first() {
        dart.faults.at_with_help(
            dart.span(*parameter),
            "`main()` takes no parameters here",
            wanted,
        );
        return None;
    }
    let value = method::returned(main.child_by_field_name("body")?, dart)?;
    let instance = call(value, dart).filter(|(_, arguments)| children(*arguments).is_empty());
    let Some((name, _)) = instance else {
        dart.refuse(value, wanted);
        return None;
    };
    Some((name, dart.span(value)))
}

/// `X(…)`, `const X(…)` or `new X(…)`: the name and the arguments.
pub(super) fn call<'t, 's>(node: Node<'t>, dart: &Dart<'_, 's>) -> Option<(&'s str, Node<'t>)> {
    let name = match node.kind() {
        "call_expression" => node
            .child_by_field_name("function")
            .filter(|function| function.kind() == "identifier")?,
        "const_object_expression" | "new_expression" => node.child_by_field_name("type")?,
        _ => return None,
    };
    // Three parts at most: a named constructor would be one more.
    (children(node).len() == 2).then_some((dart.text(name), node.child_by_field_name("arguments")?))
}

fn class(class: Node<'_>, tables: &Tables, dart: &mut Dart<'_, '_>) -> Option<Stated> {
    let name = class.child_by_field_name("name")?;
    let kind = header::kind(class, name, dart);
    let Some(body) = class.child_by_field_name("body") else {
        dart.faults.at(
            dart.span(name),
            "the class has no body, so it names no table",
        );
        return None;
    };
    let (constructor, methods) = members(body, dart);
    let table = match constructor {
        Some(constructor) => header::table(constructor, tables, dart),
        None => {
            let help = "such as `TaskRateLimits() : super(tasks);`";
            let message = "the class has no constructor that names its table";
            dart.faults.at_with_help(dart.span(name), message, help);
            None
        }
    };
    let kind = kind?;
    let facts = table.as_ref().map(|table| table.facts);
    if let Some(table) = &table
        && kind == Kind::Auth
        && !table.facts.auth
    {
        no_auth_table(&table.name, table.span, dart.faults);
    }
    let mut limits = TableLimits {
        table: table.map(|table| table.name).unwrap_or_default(),
        origin: dart.source().origin(dart.span(name)),
        operations: BTreeMap::new(),
        custom: BTreeMap::new(),
        mode: Mode::Enforce,
    };
    for one in methods {
        let before = dart.faults.len();
        // Whatever the reader did not take and did not name either is not passed over.
        if method::read(one, kind, facts, &mut limits, dart).is_none()
            && dart.faults.len() == before
        {
            dart.refuse(one, MEMBER_FORM);
        }
    }
    Some(Stated { kind, limits })
}

/// The constructor and the methods; every other member is a fault.
fn members<'t>(body: Node<'t>, dart: &mut Dart<'_, '_>) -> (Option<Node<'t>>, Vec<Node<'t>>) {
    let mut constructor = None;
    let mut methods = Vec::new();
    for member in children(body) {
        let Some(inner) = only_member(member) else {
            dart.refuse(member, MEMBER_FORM);
            continue;
        };
        let signature = inner.child_by_field_name("signature").and_then(only_child);
        match (inner.kind(), signature.map(|signature| signature.kind())) {
            ("method_declaration", Some("function_signature")) => methods.push(inner),
            ("method_declaration", _) => {
                let outer = inner
                    .child_by_field_name("signature")
                    .map(children)
                    .unwrap_or_default();
                refuse_member(outer.first().copied().unwrap_or(inner), dart);
            }
            ("declaration", _) if is_constructor(inner) && constructor.is_none() => {
                constructor = Some(inner)
            }
            _ => refuse_member(children(inner).first().copied().unwrap_or(inner), dart),
        }
    }
    (constructor, methods)
}

/// The declaration in a member, its annotations left out.
fn only_member(member: Node<'_>) -> Option<Node<'_>> {
    children(member)
        .into_iter()
        .find(|child| child.kind() != "annotation")
}

fn is_constructor(declaration: Node<'_>) -> bool {
    children(declaration).first().is_some_and(|first| {
        matches!(
            first.kind(),
            "constructor_signature" | "constant_constructor_signature"
        )
    })
}

fn refuse_member(member: Node<'_>, dart: &mut Dart<'_, '_>) {
    let what = match member.kind() {
        "constructor_signature" | "constant_constructor_signature" => {
            "a second constructor, or one with a body"
        }
        "function_signature" => "a method without a body",
        "type" | "initialized_identifier_list" | "static_final_declaration_list" => "a field",
        _ => "",
    };
    let what = if what.is_empty() {
        construct(member, dart.text(member))
    } else {
        what.to_owned()
    };
    dart.faults.at_with_help(
        dart.span(member),
        format!("{what} is not understood here"),
        MEMBER_FORM,
    );
}
