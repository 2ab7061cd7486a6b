//! The project's files that the server reads at start: schema, rules, policies. `zonai check` reads them the same way.
//!
//! Must never fail at the first fault: all of them are listed.

pub(crate) mod crons;
pub(crate) mod operations;
mod place;
pub(crate) mod reading;
pub(crate) mod rules;
pub(crate) mod schema;
mod tables;

use std::collections::BTreeMap;
use std::path::Path;

use zonai_limit::{CustomNames, Known, KnownTable};
use zonai_policy::{Diagnostic, TableFacts, Tables};

use crate::settings::{Settings, TableSettings};

/// The internal table that admins reach through `/db`.
pub(crate) const RATE_LIMIT_TABLE: &str = "_rate_limit";

/// A path as diagnostics show it: inside the project, from the project.
pub(crate) fn shown(path: &Path, project: &Path) -> String {
    path.strip_prefix(project)
        .unwrap_or(path)
        .display()
        .to_string()
}

/// What the limiter must know of the tables.
pub(crate) fn known<'a>(
    tables: impl Iterator<Item = &'a str>,
    settings: &BTreeMap<String, TableSettings>,
    operations: &BTreeMap<String, Vec<String>>,
) -> Known {
    let mut tables: Vec<KnownTable> = tables
        .map(|name| KnownTable {
            name: name.to_owned(),
            auth: settings.get(name).is_some_and(TableSettings::has_accounts),
            custom: CustomNames::Registered(operations.get(name).cloned().unwrap_or_default()),
        })
        .collect();
    tables.push(KnownTable {
        name: RATE_LIMIT_TABLE.to_owned(),
        auth: false,
        custom: CustomNames::Registered(Vec::new()),
    });
    Known { tables }
}

/// What the readers of policy files must know of the tables.
pub(crate) fn policy_tables(known: &Known) -> Tables {
    let mut tables = Tables::new();
    for table in &known.tables {
        let operations = match &table.custom {
            CustomNames::Registered(names) => {
                zonai_policy::CustomNames::Known(names.iter().cloned().collect())
            }
            CustomNames::Unvalidated => zonai_policy::CustomNames::Open,
        };
        tables.insert(
            &table.name,
            TableFacts {
                auth: table.auth,
                operations,
            },
        );
    }
    tables
}

/// `app.tables` as the data layer takes it.
pub(crate) fn table_options(settings: &Settings) -> BTreeMap<String, zonai_data::TableOptions> {
    let options = settings.app.tables.iter().map(|(name, table)| {
        let options = zonai_data::TableOptions {
            auth: table.has_accounts(),
            admin: table.admin,
            id_suffix: table.id_suffix.clone(),
            secret_columns: Vec::new(),
        };
        (name.clone(), options)
    });
    options.collect()
}

/// Every `.yaml` and `.yml` of a folder, sorted; a missing folder holds none.
pub(crate) fn yaml_files(
    folder: &Path,
    shown: &str,
    faults: &mut Vec<Diagnostic>,
) -> Vec<std::path::PathBuf> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            faults.push(Diagnostic::whole_file(
                shown,
                format!("the folder cannot be read: {error}"),
            ));
            return Vec::new();
        }
    };
    let mut files: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let hidden = path
                .file_name()
                .is_none_or(|name| name.as_encoded_bytes().starts_with(b"."));
            let yaml = path
                .extension()
                .is_some_and(|extension| extension == "yaml" || extension == "yml");
            yaml && !hidden && path.is_file()
        })
        .collect();
    files.sort();
    files
}

/// An error with its causes, on one line; a text that repeats its cause is not made longer.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
