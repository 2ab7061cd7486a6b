//! Operations files, `lib/src/operations/<table>.yaml`: changes of rows under a name; and the names of those in code.
//!
//! Reads texts with their places; what an expression may hold is the business of `zonai-data`.
//! Must never stop at the first fault.

use std::path::Path;

use zonai_data::{Operation, Operations, Schema, Table};
use zonai_policy::yaml::{Entry, Map, Node};
use zonai_policy::{Diagnostic, Faults};

use crate::files::shown;
use crate::in_code::{ANY_NAME, CodeOperation};
use crate::{place, tables};

/// The longest name of an operation, in bytes.
const MAX_NAME: usize = 64;

/// What the letters of a name must be.
const NAME: &str =
    "the name of an operation is letters, digits, `_` and `-`, with a letter first, at most 64";

/// The operations of the files of a folder and those in code, and every fault of them. An operation with a fault has its
/// name all the same, so that a rule or a policy that names it is not called wrong.
pub fn read(
    folder: &Path,
    project: &Path,
    schema: &Schema,
    code: &[CodeOperation],
) -> (Operations, Vec<Diagnostic>) {
    let (mut operations, mut faults) = files(folder, project, schema);
    for one in code {
        let fault = |message: String| Diagnostic::whole_file(one.type_name, message);
        let (name, Some(table)) = (one.name, schema.table(one.table)) else {
            let known = schema.tables().map(|table| table.name.as_str());
            let message = format!("there is no table `{}`", one.table);
            faults.push(fault(message).with_nearest(one.table, known));
            continue;
        };
        let message = if table.is_view {
            format!("`{}` is a view and can only be read", table.name)
        } else if name != ANY_NAME && !is_name(name) {
            format!("{NAME}, and not `{name}`")
        } else if let Some(other) = operations.get(&table.name, name) {
            let first = if other.is_in_code() {
                "in code".to_owned()
            } else {
                format!("by a file in {}", shown(folder, project))
            };
            format!(
                "the custom operation `{name}` of `{}` is registered already, {first}",
                table.name
            )
        } else {
            operations.add(table, name, Operation::in_code());
            continue;
        };
        faults.push(fault(message));
    }
    (operations, faults)
}

fn files(folder: &Path, project: &Path, schema: &Schema) -> (Operations, Vec<Diagnostic>) {
    let mut operations = Operations::default();
    let faults = tables::read(folder, project, schema, |table, map, faults| {
        map.check_keys(&["table", "custom"], faults);
        let custom = map.get("custom").filter(|custom| !custom.value.is_null());
        let Some(named) = custom.and_then(|custom| custom.value.expect_map("`custom`", faults))
        else {
            return;
        };
        if table.is_view {
            let message = format!("`{}` is a view and can only be read", table.name);
            faults.push(Diagnostic::whole_file(faults.source().path(), message));
            return;
        }
        for entry in &named.entries {
            if let Some(operation) = read_operation(schema, table, entry, faults) {
                operations.add(table, &entry.key, operation);
            }
        }
    });
    (operations, faults)
}

/// A name stands in paths and, behind a `:`, in the counters' table.
fn is_name(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.len() <= MAX_NAME
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(inner)
}

fn read_operation(
    schema: &Schema,
    table: &Table,
    entry: &Entry,
    faults: &mut Faults<'_>,
) -> Option<Operation> {
    if !is_name(&entry.key) {
        faults.at(entry.key_span, NAME);
        return None;
    }
    let mut operation = Operation::default();
    let Some(map) = entry.value.expect_map("an operation", faults) else {
        return Some(operation);
    };
    map.check_keys(&["set", "where"], faults);
    if let Some(narrow) = map.get("where")
        && let Some(text) = tables::expression(&narrow.value, "`where`", faults)
        && let Err(fault) = operation.narrow(schema, table, text)
    {
        place::tell(faults, &narrow.value, text, &fault);
    }
    match map
        .get("set")
        .map(|set| set.value.expect_map("`set`", faults))
    {
        Some(Some(columns)) if !columns.entries.is_empty() => {
            set(schema, table, columns, &mut operation, faults)
        }
        Some(None) => {}
        _ => faults.at(
            entry.key_span,
            "an operation needs `set`, with at least one column",
        ),
    }
    Some(operation)
}

fn set(
    schema: &Schema,
    table: &Table,
    columns: &Map,
    operation: &mut Operation,
    faults: &mut Faults<'_>,
) {
    for entry in &columns.entries {
        let column = match Operation::settable(table, &entry.key) {
            Ok(column) => column,
            Err(fault) => {
                match &fault.nearest {
                    Some(near) => {
                        faults.at_with_help(
                            entry.key_span,
                            fault.message,
                            format!("did you mean `{near}`?"),
                        );
                    }
                    None => faults.at(entry.key_span, fault.message),
                }
                continue;
            }
        };
        let text = if entry.value.is_null() {
            Some("NULL")
        } else {
            text_of(&entry.value, &entry.key, faults)
        };
        if let Some(text) = text
            && let Err(fault) = operation.set(schema, table, column, text)
        {
            place::tell(faults, &entry.value, text, &fault);
        }
    }
}

fn text_of<'n>(node: &'n Node, column: &str, faults: &mut Faults<'_>) -> Option<&'n str> {
    tables::expression(node, &format!("the new value of `{column}`"), faults)
}
