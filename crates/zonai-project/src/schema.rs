//! The schema files of a project, and `app.tables` held against what they make.
//!
//! Must never touch the data: files are applied to a database in memory.

use std::collections::BTreeMap;

use zonai_clock::Clock;
use zonai_data::error::with_causes;
use zonai_data::{Migrations, Schema, StartError, Table};
use zonai_policy::{Diagnostic, Source, Span};

use crate::files::shown;
use crate::in_code::CodeOperation;
use crate::known::{known, policy_tables as facts, table_options};
use crate::settings::{Paths, Settings};
use crate::{accounts, operations};

/// The tables that the schema files make, on a database in memory.
///
/// # Errors
/// With every fault of the files, and of `app.tables`; a fault of a setting has its key as its path.
pub fn in_memory(settings: &Settings, clock: &Clock) -> Result<Schema, Vec<Diagnostic>> {
    let of_files = |error: StartError| faults(&error, &settings.paths);
    let migrations =
        Migrations::read(&settings.paths.schemas).map_err(|error| of_files(error.into()))?;
    // Options are looked at afterwards, all of them.
    let schema = migrations
        .check(&BTreeMap::new(), clock)
        .map_err(of_files)?;
    let found = configured(settings, &schema);
    if !found.is_empty() {
        return Err(found);
    }
    migrations
        .check(&table_options(settings), clock)
        .map_err(of_files)
}

/// What the readers of policy files must know of the tables of a project, and of the operations that a program adds.
///
/// # Errors
/// With every fault of the schema files and of `app.tables`.
pub fn policy_tables(
    settings: &Settings,
    code: &[CodeOperation],
    clock: &Clock,
) -> Result<zonai_policy::Tables, Vec<Diagnostic>> {
    let schema = in_memory(settings, clock)?;
    let names = schema.tables().map(|table| table.name.as_str());
    let (operations, _told_by_check) = operations::read(
        &settings.paths.operations,
        &settings.paths.project,
        &schema,
        code,
    );
    Ok(facts(&known(
        names,
        &settings.app.tables,
        &operations.names(),
    )))
}

/// What is wrong with `app.tables`.
pub fn configured(settings: &Settings, schema: &Schema) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    for (name, options) in &settings.app.tables {
        let fault =
            |message: String| Diagnostic::whole_file(&format!("app.tables.{name}"), message);
        match schema.table(name) {
            None => {
                let known = schema.tables().map(|table| table.name.as_str());
                faults.push(fault(format!("there is no table `{name}`")).with_nearest(name, known));
            }
            Some(table) if options.has_accounts() => {
                faults.extend(as_accounts(settings, table).into_iter().map(fault));
            }
            Some(_) => {}
        }
    }
    faults
}

/// What a table of accounts lacks.
fn as_accounts(settings: &Settings, table: &Table) -> Vec<String> {
    let folder = shown(&settings.paths.schemas, &settings.paths.project);
    let mut lacks = Vec::new();
    if table.is_view {
        lacks.push("is a view; accounts need a table".to_owned());
        return lacks;
    }
    let passwords = accounts::tables(settings)
        .iter()
        .any(|setup| setup.name == table.name && setup.password);
    for (column, why) in [
        ("email", "accounts need"),
        ("password", "sign-in with passwords needs"),
    ] {
        let needed = column == "email" || passwords;
        if needed && table.column(column).is_none() {
            lacks.push(format!(
                "the table has no column `{column}`, which {why}; add it in a new file under {folder}"
            ));
        }
    }
    if table.key_column().is_none() {
        lacks.push("accounts need a primary key of one column".to_owned());
    }
    lacks
}

/// Why the schema files were not applied, each fault at its place.
#[must_use]
pub fn faults(error: &StartError, paths: &Paths) -> Vec<Diagnostic> {
    let StartError::Migration(migration) = error else {
        return vec![Diagnostic::whole_file(
            &shown(&paths.schemas, &paths.project),
            with_causes(error),
        )];
    };
    migration
        .faults()
        .iter()
        .map(|fault| {
            let path = shown(&fault.path, &paths.project);
            match (fault.place, Source::read(&fault.path, &path)) {
                (Some((line, column)), Ok(source)) => {
                    let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX - 1);
                    source.fault(Span::point(number(line), number(column)), &fault.reason)
                }
                _ => Diagnostic::whole_file(&path, &fault.reason),
            }
        })
        .collect()
}
