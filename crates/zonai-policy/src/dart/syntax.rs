//! The grammar's nodes: their text, their place, and what people call them.
//!
//! Must never walk a tree by recursion without a bound: files nest as deep as they like.

use tree_sitter::Node;

use crate::diagnostic::quote;
use crate::{Faults, Source, Span};

/// A file that is read, and its faults.
pub(super) struct Dart<'f, 's> {
    pub(super) faults: &'f mut Faults<'s>,
}

impl<'s> Dart<'_, 's> {
    pub(super) fn source(&self) -> &'s Source {
        self.faults.source()
    }

    pub(super) fn text(&self, node: Node<'_>) -> &'s str {
        self.source().text().get(node.byte_range()).unwrap_or("")
    }

    pub(super) fn span(&self, node: Node<'_>) -> Span {
        span(self.source(), node)
    }

    /// A fault that names what stands there.
    pub(super) fn refuse(&mut self, node: Node<'_>, wanted: &str) {
        let message = format!(
            "{} is not understood here",
            construct(node, self.text(node))
        );
        self.faults.at_with_help(self.span(node), message, wanted);
    }
}

/// The named children, comments left out.
pub(super) fn children<'t>(node: Node<'t>) -> Vec<Node<'t>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor)
        .filter(|child| !is_comment(*child))
        .collect()
}

/// The only named child, if there is exactly one.
pub(super) fn only_child<'t>(node: Node<'t>) -> Option<Node<'t>> {
    match children(node).as_slice() {
        [child] => Some(*child),
        _ => None,
    }
}

/// Whether a keyword or sign stands directly in a node.
pub(super) fn has_token(node: Node<'_>, token: &str) -> bool {
    let mut cursor = node.walk();
    node.children(&mut cursor)
        .any(|child| !child.is_named() && child.kind() == token)
}

fn is_comment(node: Node<'_>) -> bool {
    node.is_extra() || matches!(node.kind(), "comment" | "documentation_comment")
}

/// The text of a string without interpolation and escapes.
pub(super) fn plain_string(dart: &Dart<'_, '_>, node: Node<'_>) -> Option<String> {
    let quoted = (node.kind() == "string_literal").then(|| only_child(node))??;
    let parts = children(quoted);
    let plain = parts
        .iter()
        .all(|part| part.kind().starts_with("template_chars"));
    plain.then(|| parts.iter().map(|part| dart.text(*part)).collect())
}

fn span(source: &Source, node: Node<'_>) -> Span {
    let at = source.span_of_byte(node.start_byte());
    let text = source.text().get(node.byte_range()).unwrap_or("");
    // Lines end as `Source` counts them, also with a `\r` alone.
    let line = text.split(['\n', '\r']).next();
    let length = line.map_or(0, |line| line.chars().count());
    Span {
        length: u32::try_from(length).unwrap_or(u32::MAX),
        ..at
    }
}

/// The most places of broken syntax that are told: one makes the next.
const MAX_BROKEN: usize = 10;

/// Says where the syntax is broken.
pub(super) fn broken(root: Node<'_>, faults: &mut Faults<'_>) {
    let mut cursor = root.walk();
    let mut told = 0;
    loop {
        let node = cursor.node();
        // A leaf that has an error without being one stands for a token that is not there.
        let is_missing =
            node.is_missing() || (node.has_error() && !node.is_error() && node.child_count() == 0);
        if node.is_error() || is_missing {
            let source = faults.source();
            let message = if is_missing {
                let what = if node.kind() == "identifier" {
                    "a name".to_owned()
                } else {
                    quote(node.kind())
                };
                format!("this is not Dart: {what} is missing")
            } else {
                let text = source.text().get(node.byte_range()).unwrap_or("");
                format!(
                    "this is not Dart: {} is unexpected",
                    quote(text.trim().lines().next().unwrap_or(""))
                )
            };
            faults.at(span(source, node), message);
            told += 1;
            if told == MAX_BROKEN {
                return;
            }
        }
        // What is inside of an error says nothing more.
        if node.has_error() && !node.is_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return;
            }
        }
    }
}

/// What people call a construct.
pub(super) fn construct(node: Node<'_>, text: &str) -> String {
    // `await x` is a unary expression around what it is.
    let node = only_child(node)
        .filter(|inner| inner.kind() == "await_expression")
        .unwrap_or(node);
    let fixed = match node.kind() {
        "if_statement" => "an `if` statement",
        "conditional_expression" => "a conditional expression (`? :`)",
        "if_null_expression" => "a `??` expression",
        "await_expression" => "`await`",
        "try_statement" => "a `try` statement",
        "throw_expression" => "`throw`",
        "break_statement" => "`break`",
        "local_variable_declaration" => "a local variable",
        "local_function_declaration" => "a local function",
        "top_level_variable_declaration" => "a top-level variable",
        "function_declaration" => "a top-level function",
        "getter_declaration" | "getter_signature" => "a getter",
        "setter_declaration" | "setter_signature" => "a setter",
        "enum_declaration" => "an enum",
        "type_alias" => "a typedef",
        "mixin_declaration" => "a mixin",
        "mixins" => "`with`",
        "interfaces" => "`implements`",
        "part_directive" => "`part`",
        "factory_constructor_signature" | "redirecting_factory_constructor_signature" => {
            "a factory constructor"
        }
        "additive_expression" | "multiplicative_expression" => "arithmetic",
        "decimal_floating_point_literal" => "a number with a fraction",
        "switch_statement" | "switch_expression" => "a `switch`",
        "for_statement" => "a `for` statement",
        "while_statement" => "a `while` statement",
        "equality_operator" | "relational_operator" => "a comparison pattern",
        "null_assertion_expression" => "`!`",
        "string_literal" => "a string",
        "list_literal" => "a list",
        "expression_statement" => "a statement without `return`",
        "block" => "a block",
        _ => "",
    };
    match node.kind() {
        _ if !fixed.is_empty() => fixed.to_owned(),
        "identifier" => format!("the name {}", quote(text)),
        "call_expression" => {
            let function = node
                .child_by_field_name("function")
                .map_or(0, |function| function.byte_range().len());
            format!("a call of {}", quote(text.get(..function).unwrap_or(text)))
        }
        "const_object_expression"
        | "new_expression"
        | "constructor_invocation"
        | "member_expression" => quote(text),
        kind => format!("a {} ({})", kind.replace('_', " "), quote(text)),
    }
}
