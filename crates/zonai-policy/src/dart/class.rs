//! A Dart file as a whole: the class, its constructor, and the `main()` that returns it.
//!
//! Must never read a class that `main()` does not return, nor pass one over in silence.

use std::collections::BTreeMap;

use tree_sitter::Node;
use zonai_limit::{Kind, Mode, TableLimits};

use super::method;
use super::syntax::{Dart, children, construct, has_token, only_child};
use crate::Span;
use crate::diagnostic::{nearest, quote};
use crate::file::{Stated, known_table, no_auth_table};
use crate::tables::{TableFacts, Tables};

const CLASS_FORM: &str = "a policy file holds imports, one class and `main()`";

pub(super) fn file<'s>(root: Node<'_>, tables: &Tables, dart: &mut Dart<'_, 's>) -> Option<Stated> {
    let mut classes = Vec::new();
    let mut main = None;
    for node in children(root) {
        match node.kind() {
            "import_or_export" | "library_name" => {}
            "class_declaration" => classes.push(node),
            "function_declaration" if function_name(node, dart) == "main" && main.is_none() => main = Some(node),
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
        dart.faults.at_with_help(Span::START, "the file has no class", help);
    }
    let mut stated = None;
    let mut found = false;
    for class in classes {
        let name = class.child_by_field_name("name").map_or("", |name| dart.text(name));
        if main.is_some() && returned.is_some_and(|(returned, _)| returned != name) {
            let span = dart.span(class.child_by_field_name("name").unwrap_or(class));
            dart.faults.at(span, format!("`main()` does not return the class {}", quote(name)));
        }
        found |= returned.is_some_and(|(returned, _)| returned == name);
        stated = self::class(class, tables, dart).or(stated);
    }
    if let Some((name, span)) = returned
        && !found
    {
        dart.faults.at(span, format!("`main()` returns {}, which is no class of this file", quote(name)));
    }
    stated.filter(|_| dart.faults.is_empty())
}

fn function_name<'s>(function: Node<'_>, dart: &Dart<'_, 's>) -> &'s str {
    let signature = function.child_by_field_name("signature");
    signature.and_then(|s| s.child_by_field_name("name")).map_or("", |name| dart.text(name))
}

/// The class of which `main()` returns an instance.
fn returned_class<'s>(main: Node<'_>, dart: &mut Dart<'_, 's>) -> Option<(&'s str, Span)> {
    let wanted = "such as `MyRateLimits main() => MyRateLimits();`";
    let parameters = main.child_by_field_name("signature")?.child_by_field_name("parameters")?;
    if let Some(parameter) = children(parameters).first() {
        dart.faults.at_with_help(dart.span(*parameter), "`main()` takes no parameters here", wanted);
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
        "call_expression" => {
            node.child_by_field_name("function").filter(|function| function.kind() == "identifier")?
        }
        "const_object_expression" | "new_expression" => node.child_by_field_name("type")?,
        _ => return None,
    };
    // Three parts at most: a named constructor would be one more.
    (children(node).len() == 2).then_some((dart.text(name), node.child_by_field_name("arguments")?))
}

fn class(class: Node<'_>, tables: &Tables, dart: &mut Dart<'_, '_>) -> Option<Stated> {
    let name = class.child_by_field_name("name")?;
    for modifier in ["abstract", "sealed", "mixin"] {
        if has_token(class, modifier) {
            dart.faults.at(dart.span(name), format!("the class is `{modifier}` and cannot be returned by `main()`"));
        }
    }
    if class.child_by_field_name("type_parameters").is_some() {
        dart.faults.at(dart.span(name), "a class with type parameters is not understood here");
    }
    if let Some(interfaces) = class.child_by_field_name("interfaces") {
        dart.refuse(interfaces, "the class only extends `TableRateLimits` or `AuthTableRateLimits`");
    }
    let kind = superclass(class, name, dart);
    let Some(body) = class.child_by_field_name("body") else {
        dart.faults.at(dart.span(name), "the class has no body, so it names no table");
        return None;
    };
    let mut constructor = None;
    let mut methods = Vec::new();
    for member in children(body) {
        let Some(inner) = only_member(member) else {
            dart.refuse(member, "the class holds its constructor and policy methods");
            continue;
        };
        let signature = inner.child_by_field_name("signature").and_then(only_child);
        match (inner.kind(), signature.map(|signature| signature.kind())) {
            ("method_declaration", Some("function_signature")) => methods.push(inner),
            ("method_declaration", _) => match children(inner).iter().find(|n| n.kind() == "method_signature") {
                Some(signature) => refuse_member(children(*signature).first().copied().unwrap_or(inner), dart),
                None => refuse_member(inner, dart),
            },
            ("declaration", _) if is_constructor(inner) && constructor.is_none() => constructor = Some(inner),
            _ => refuse_member(children(inner).first().copied().unwrap_or(inner), dart),
        }
    }
    let table = match constructor {
        Some(constructor) => table_name(constructor, tables, dart),
        None => {
            let help = "such as `TaskRateLimits() : super(tasks);`";
            dart.faults.at_with_help(dart.span(name), "the class has no constructor that names its table", help);
            None
        }
    };
    let kind = kind?;
    let (table, span, facts) = match &table {
        Some((table, span, facts)) => (table.as_str(), *span, *facts),
        None => ("", Span::START, None),
    };
    if kind == Kind::Auth && facts.is_some_and(|facts| !facts.auth) {
        no_auth_table(table, span, dart.faults);
    }
    let mut limits = TableLimits {
        table: table.to_owned(),
        origin: dart.source().origin(dart.span(name)),
        operations: BTreeMap::new(),
        custom: BTreeMap::new(),
        mode: Mode::Enforce,
    };
    for one in methods {
        let before = dart.faults.len();
        // Whatever the reader did not take and did not name either is not passed over.
        if method::read(one, kind, facts, &mut limits, dart).is_none() && dart.faults.len() == before {
            dart.refuse(one, "the class holds its constructor and policy methods");
        }
    }
    Some(Stated { kind, limits })
}

/// The declaration in a member, its annotations left out.
fn only_member(member: Node<'_>) -> Option<Node<'_>> {
    children(member).into_iter().find(|child| child.kind() != "annotation")
}

fn is_constructor(declaration: Node<'_>) -> bool {
    children(declaration)
        .first()
        .is_some_and(|first| matches!(first.kind(), "constructor_signature" | "constant_constructor_signature"))
}

fn refuse_member(member: Node<'_>, dart: &mut Dart<'_, '_>) {
    let what = match member.kind() {
        "constructor_signature" | "constant_constructor_signature" => "a second constructor, or one with a body",
        "function_signature" => "a method without a body",
        "type" | "initialized_identifier_list" | "static_final_declaration_list" => "a field",
        _ => "",
    };
    let what = if what.is_empty() { construct(member, dart.text(member)) } else { what.to_owned() };
    let help = "the class holds its constructor and policy methods";
    dart.faults.at_with_help(dart.span(member), format!("{what} is not understood here"), help);
}

fn superclass(class: Node<'_>, name: Node<'_>, dart: &mut Dart<'_, '_>) -> Option<Kind> {
    let known = ["TableRateLimits", "AuthTableRateLimits"];
    let Some(superclass) = class.child_by_field_name("superclass") else {
        let help = "such as `extends TableRateLimits<TaskTable, Task>`";
        dart.faults.at_with_help(dart.span(name), "the class extends nothing", help);
        return None;
    };
    for part in children(superclass).into_iter().filter(|part| part.kind() == "mixins") {
        dart.refuse(part, "the class only extends `TableRateLimits` or `AuthTableRateLimits`");
    }
    let Some(base) = superclass.child_by_field_name("type") else {
        dart.faults.at(dart.span(name), "the class extends nothing");
        return None;
    };
    let names: Vec<Node<'_>> = children(base).into_iter().filter(|n| n.kind() == "type_identifier").collect();
    let base_name = names.last().copied().unwrap_or(base);
    match dart.text(base_name) {
        "TableRateLimits" => Some(Kind::Table),
        "AuthTableRateLimits" => Some(Kind::Auth),
        other => {
            let message = format!("the class extends {}, which is no class of policies", quote(other));
            let help = match nearest(other, known) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known: {}", known.join(", ")),
            };
            dart.faults.at_with_help(dart.span(base_name), message, help);
            None
        }
    }
}

/// The table of `super(tasks)`: the schema's name, or its camelCase.
fn table_name<'t>(
    constructor: Node<'_>,
    tables: &'t Tables,
    dart: &mut Dart<'_, '_>,
) -> Option<(String, Span, Option<&'t TableFacts>)> {
    let wanted = "such as `TaskRateLimits() : super(tasks);`";
    let parts = children(constructor);
    let signature = parts.first().copied()?;
    let parameters = signature.child_by_field_name("parameters").map(children).unwrap_or_default();
    if has_token(signature, ".") || !parameters.is_empty() {
        let message = "a constructor with a name or parameters is not understood here";
        dart.faults.at_with_help(dart.span(signature), message, wanted);
        return None;
    }
    let entries = parts.iter().find(|part| part.kind() == "initializers").map(|part| children(*part));
    let entries = entries.unwrap_or_default();
    let [entry] = entries.as_slice() else {
        dart.faults.at_with_help(dart.span(signature), "the constructor must only call `super(table)`", wanted);
        return None;
    };
    let arguments = children(*entry);
    let argument = match arguments.as_slice() {
        [arguments] if has_token(*entry, "super") && arguments.kind() == "arguments" => only_child(*arguments),
        _ => None,
    };
    let Some(argument) = argument else {
        dart.faults.at_with_help(dart.span(*entry), "the constructor must only call `super(table)`", wanted);
        return None;
    };
    // `schema.tasks`, by an import prefix.
    let name = match argument.kind() {
        "identifier" => Some(argument),
        "member_expression"
            if argument.child_by_field_name("object").is_some_and(|object| object.kind() == "identifier") =>
        {
            argument.child_by_field_name("property")
        }
        _ => None,
    };
    let Some(name) = name else {
        dart.refuse(argument, wanted);
        return None;
    };
    let span = dart.span(name);
    let written = dart.text(name);
    let snake = snake_case(written);
    let table = if tables.get(written).is_none() && tables.get(&snake).is_some() { &snake } else { written };
    known_table(table, span, tables, dart.faults).map(|facts| (table.to_owned(), span, Some(facts)))
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
