//! What rules files and operations files have in common: one file a table, named after it.
//!
//! Must never let two files speak for one table.

use std::path::{Path, PathBuf};

use zonai_data::{Schema, Table};
use zonai_policy::yaml::{self, Map, Node};
use zonai_policy::{Diagnostic, Faults};

use crate::files::{each_yaml, shown};

/// Reads each file of a folder and hands it on with its table; every fault of every file comes back.
pub(crate) fn read(
    folder: &Path,
    project: &Path,
    schema: &Schema,
    mut read_file: impl FnMut(&Table, &Map, &mut Faults<'_>),
) -> Vec<Diagnostic> {
    let mut seen: Vec<(String, PathBuf)> = Vec::new();
    each_yaml(folder, project, |path, found| {
        let Some(table) = table_of(path, schema, found) else {
            return;
        };
        match seen.iter().find(|(name, _)| *name == table.name) {
            Some((_, first)) => {
                let message = format!("`{}` is about the same table", shown(first, project));
                found.push(Diagnostic::whole_file(found.source().path(), message));
            }
            None => {
                seen.push((table.name.clone(), path.to_owned()));
                read_map(table, found, &mut read_file);
            }
        }
    })
}

fn table_of<'s>(path: &Path, schema: &'s Schema, faults: &mut Faults<'_>) -> Option<&'s Table> {
    let name = path.file_stem()?.to_string_lossy().into_owned();
    let table = schema.table(&name);
    if table.is_none() {
        let fault = Diagnostic::whole_file(
            faults.source().path(),
            format!("there is no table `{name}`"),
        );
        faults.push(fault.with_nearest(&name, schema.tables().map(|table| table.name.as_str())));
    }
    table.map(|table| &**table)
}

fn read_map(
    table: &Table,
    faults: &mut Faults<'_>,
    read_file: &mut impl FnMut(&Table, &Map, &mut Faults<'_>),
) {
    let Some(node) = yaml::parse(faults) else {
        return;
    };
    if node.is_null() {
        return;
    }
    let Some(map) = node.expect_map("the file", faults) else {
        return;
    };
    if let Some(named) = map.get("table")
        && let Some(name) = named.value.expect_str("the table's name", faults)
        && name != table.name
    {
        let message = format!(
            "the file is named after `{}`, so `table` must be that or left out",
            table.name
        );
        faults.at(named.value.span, message);
    }
    read_file(table, map, faults);
}

/// The text of an expression: any scalar that is not empty.
pub(crate) fn expression<'n>(
    node: &'n Node,
    what: &str,
    faults: &mut Faults<'_>,
) -> Option<&'n str> {
    let text = node.as_scalar();
    if text.is_none() {
        faults.at(
            node.span,
            format!("{what} must be an SQL expression, not {}", node.describe()),
        );
    }
    text
}
