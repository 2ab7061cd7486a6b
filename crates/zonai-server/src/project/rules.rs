//! Rules files: `lib/src/rules/<table>.yaml`, who may do what with a table.
//!
//! Reads texts with their places; what a rule means is the business of `zonai-data`.

use std::collections::BTreeMap;
use std::path::Path;

use zonai_data::{RuleText, TrueFalse};
use zonai_policy::{Diagnostic, Faults, Source, nearest, yaml};

use super::{shown, yaml_files};

/// The rules on rows; rules on accounts and custom operations have keys of their own.
const KEYS: [&str; 6] = ["view", "list", "count", "create", "update", "delete"];

/// Reads every rules file of a folder.
///
/// # Errors
/// With every fault of every file.
pub(crate) fn read(folder: &Path, project: &Path, tables: &[&str]) -> Result<TrueFalse, Vec<Diagnostic>> {
    let mut faults = Vec::new();
    let mut files = BTreeMap::new();
    for path in yaml_files(folder, &shown(folder, project), &mut faults) {
        match Source::read(&path, &shown(&path, project)) {
            Err(fault) => faults.push(fault),
            Ok(source) => {
                let mut found = Faults::new(&source);
                if let Some((table, rules)) = read_file(&path, tables, &mut found) {
                    files.insert(table, rules);
                }
                faults.extend(found.into_list());
            }
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    TrueFalse::new(&files).map_err(|error| vec![Diagnostic::whole_file(&shown(folder, project), error.to_string())])
}

fn read_file(
    path: &Path,
    tables: &[&str],
    faults: &mut Faults<'_>,
) -> Option<(String, BTreeMap<String, RuleText>)> {
    let table = path.file_stem()?.to_str()?.to_owned();
    if !tables.contains(&table.as_str()) {
        let fault = Diagnostic::whole_file(faults.source().path(), format!("there is no table `{table}`"));
        faults.push(match nearest(&table, tables.iter().copied()) {
            Some(near) => fault.with_help(format!("did you mean `{near}`?")),
            None => fault,
        });
        return None;
    }
    let node = yaml::parse(faults)?;
    if node.is_null() {
        return Some((table, BTreeMap::new()));
    }
    let map = node.expect_map("rules", faults)?;
    let known: Vec<&str> = std::iter::once("table").chain(KEYS).collect();
    map.check_keys(&known, faults);
    if let Some(named) = map.get("table")
        && let Some(name) = named.value.expect_str("the table's name", faults)
        && name != table
    {
        faults.at(named.value.span, format!("the file is named after `{table}`, so `table` must be that or left out"));
    }
    let mut rules = BTreeMap::new();
    for key in KEYS {
        let Some(entry) = map.get(key) else { continue };
        match entry.value.as_bool() {
            Some(allowed) => {
                rules.insert(key.to_owned(), RuleText::Fixed(allowed));
            }
            None => faults.at(entry.value.span, format!("`{key}` must be true or false")),
        }
    }
    Some((table, rules))
}
