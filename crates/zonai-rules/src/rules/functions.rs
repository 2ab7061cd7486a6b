//! The functions that may be called, and their arguments.
//!
//! Each is here because it can neither fail on a stored value nor grow without bound, as it stands or as it is rendered:
//! an error in a rule would be a 500 for everybody who reads the table.
//! Must never take in one whose result depends on anything but its arguments.

use rusqlite::types::Value as Bound;
use sqlparser::ast::{Expr, Spanned};

use super::ExprFault;
use super::check::Checker;
use super::node::{Node, Value};
use super::paths;

/// A name, and how many arguments it takes.
const FUNCTIONS: [(&str, usize, usize); 19] = [
    ("abs", 1, 1),
    ("coalesce", 2, 16),
    ("ifnull", 2, 2),
    ("iif", 3, 3),
    ("instr", 2, 2),
    ("json_array_length", 1, 2),
    ("json_contains", 2, 2),
    ("json_extract", 2, 2),
    ("json_type", 1, 2),
    ("json_valid", 1, 1),
    ("length", 1, 1),
    ("lower", 1, 1),
    ("ltrim", 1, 2),
    ("max", 2, 16),
    ("min", 2, 16),
    ("nullif", 2, 2),
    ("round", 1, 2),
    ("rtrim", 1, 2),
    ("upper", 1, 1),
];
/// Functions that the parser knows as syntax.
const SYNTAX: [(&str, usize, usize); 2] = [("substr", 2, 3), ("trim", 1, 2)];

/// A call of a function that is named in full.
pub(super) fn call(
    checker: &mut Checker<'_>,
    name: &str,
    args: &[&Expr],
    at: &Expr,
) -> Result<Node, ExprFault> {
    let lower = name.to_ascii_lowercase();
    let known = FUNCTIONS.iter().chain(&SYNTAX);
    let Some((name, least, most)) = known.clone().find(|(known, ..)| *known == lower) else {
        let names: Vec<&str> = known.map(|(name, ..)| *name).collect();
        let fault = ExprFault::at(
            at.span(),
            format!("the function `{name}` cannot be used here"),
        );
        let fault = fault.with_nearest(&lower, &names);
        return Err(if fault.help.is_some() {
            fault
        } else {
            fault.with_help(format!("there are {}", names.join(", ")))
        });
    };
    if !(*least..=*most).contains(&args.len()) {
        let takes = if least == most {
            least.to_string()
        } else {
            format!("{least} to {most}")
        };
        let message = format!("`{name}` takes {takes} arguments, not {}", args.len());
        return Err(ExprFault::at(at.span(), message));
    }
    let mut nodes = Vec::with_capacity(args.len());
    for (nth, arg) in args.iter().enumerate() {
        let node = if *name == "iif" && nth == 0 {
            checker.condition(arg)?
        } else {
            checker.node(arg)?
        };
        nodes.push(node);
    }
    if name.starts_with("json_") {
        plain(&nodes[0], args[0], name)?;
        if *name != "json_contains" && nodes.len() == 2 {
            path(&nodes[1], args[1])?;
        }
    }
    Ok(Node::Call(name, nodes))
}

/// JSON is looked into only where it stands: the check that it is JSON would have to repeat anything longer.
pub(super) fn plain(node: &Node, at: &Expr, what: &str) -> Result<(), ExprFault> {
    if matches!(node, Node::Column(..) | Node::Value(_)) {
        return Ok(());
    }
    Err(ExprFault::at(
        at.span(),
        format!("`{what}` looks into a column or a value of the caller, nothing else"),
    ))
}

fn path(node: &Node, at: &Expr) -> Result<(), ExprFault> {
    let fault = |message: &str| Err(ExprFault::at(at.span(), message));
    let Node::Value(Value::Literal(Bound::Text(path))) = node else {
        return fault("a path is a text in quotes, such as '$.name'");
    };
    // Asked of SQLite too, which has the last word; but it only reads as far as there is a value.
    let understood = rusqlite::Connection::open_in_memory()
        .and_then(|conn| conn.query_row("SELECT json_extract('{}', ?)", [path], |_| Ok(())));
    if understood.is_err() || !paths::is_path(path) {
        return fault("this is no path into JSON; one looks like '$.name' or '$.list[0]'");
    }
    Ok(())
}
