//! The files of a project read without a server: for `check`, `limits list`, `limits convert` and before a start.
//!
//! Must never write, and never stop at the first fault: what can be read in spite of one is read.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use zonai_clock::Clock;
use zonai_data::{Migrations, Schema, StartError};
use zonai_limit::{Counters, CustomNames, Internal, Known, KnownTable, Limiter, Registration};
use zonai_policy::{Diagnostic, Source, Span, TableFacts, Tables};
use zonai_server::settings::TableSettings;

use crate::config::{Draft, shown};

/// The database in the data folder.
pub(crate) const DATA_FILE: &str = "zonai.sqlite";

/// What the files say, and everything that is wrong with them.
pub(crate) struct Files {
    /// The tables; `None` where the schema does not apply.
    pub(crate) tables: Option<Tables>,
    /// The limits; `None` where a policy does not pass.
    pub(crate) limiter: Option<Limiter>,
    /// The token of work that has no request.
    pub(crate) internal: Option<Internal>,
    pub(crate) faults: Vec<Diagnostic>,
    /// The schema applies, and every table of `app.tables` is in it.
    pub(crate) schema_passes: bool,
}

impl Files {
    /// Reads schema and policies; `code` is what a program registers itself.
    pub(crate) fn read(draft: &Draft, code: &[Registration], clock: &Clock) -> Self {
        let mut files = Self {
            tables: None,
            limiter: None,
            internal: None,
            faults: Vec::new(),
            schema_passes: false,
        };
        let Some(schema) = files.schema(draft, clock) else {
            return files;
        };
        files.configured_tables(draft, &schema);
        files.schema_passes = files.faults.is_empty();
        let operations = zonai_server::operation_names(&draft.paths.operations, &schema);
        let known = known(&schema, &draft.app.tables, operations);
        let tables = policy_tables(&known);
        files.policies(draft, code, known, &tables);
        files.tables = Some(tables);
        files
    }

    fn schema(&mut self, draft: &Draft, clock: &Clock) -> Option<Schema> {
        // Options are held against the schema afterwards, with their places in the file.
        let read = Migrations::read(&draft.paths.schemas).map_err(StartError::from);
        match read.and_then(|migrations| migrations.check(&BTreeMap::new(), clock)) {
            Ok(schema) => Some(schema),
            Err(error) => {
                self.faults
                    .extend(schema_faults(&error, &draft.paths.schemas));
                None
            }
        }
    }

    /// `app.tables` of tables that do not exist.
    fn configured_tables(&mut self, draft: &Draft, schema: &Schema) {
        for name in draft
            .app
            .tables
            .keys()
            .filter(|name| schema.table(name).is_none())
        {
            let message = format!("there is no table `{name}`");
            let fault = match (&draft.source, draft.app.table_spans.get(name)) {
                (Some(source), Some(span)) => source.fault(*span, message),
                _ => Diagnostic::whole_file("app.tables", message),
            };
            self.faults
                .push(fault.with_nearest(name, schema.tables().map(|table| table.name.as_str())));
        }
    }

    fn policies(&mut self, draft: &Draft, code: &[Registration], known: Known, tables: &Tables) {
        let folder = &draft.paths.rate_limit;
        let reading = zonai_policy::read_folder_as(folder, Path::new(&shown(folder)), tables);
        if !reading.faults.is_empty() {
            self.faults.extend(reading.faults);
            return;
        }
        let stated = reading
            .registrations
            .into_iter()
            .map(|stated| Registration::stated(stated.kind, stated.limits));
        let registrations = stated.chain(code.iter().cloned()).collect();
        // The smallest: nothing is counted here.
        let counters = Arc::new(Counters::with_prefix(16, draft.rate_limit.ipv6_prefix));
        match Limiter::new(
            counters,
            known,
            registrations,
            draft.rate_limit.shared.clone(),
        ) {
            Ok((limiter, internal)) => {
                self.limiter = Some(limiter);
                self.internal = Some(internal);
            }
            Err(faults) => {
                self.faults.extend(
                    faults
                        .iter()
                        .map(|fault| Diagnostic::whole_file("limits", fault.to_string())),
                );
            }
        }
    }

    /// Tables that are registered twice, as faults. A server starts with them and fails every check.
    pub(crate) fn twice(&self) -> Vec<Diagnostic> {
        let twice = self
            .limiter
            .as_ref()
            .map(Limiter::misregistered)
            .unwrap_or_default();
        twice
            .iter()
            .map(|one| at(&one.second, format!("{one}; first in {}", one.first)))
            .collect()
    }
}

/// The tables of a schema, as the limiter knows them.
fn known(
    schema: &Schema,
    settings: &BTreeMap<String, TableSettings>,
    mut operations: BTreeMap<String, Vec<String>>,
) -> Known {
    let tables = schema.tables().map(|table| KnownTable {
        name: table.name.clone(),
        auth: settings
            .get(&table.name)
            .is_some_and(|table| table.admin || !table.auth.is_empty()),
        custom: CustomNames::Registered(operations.remove(&table.name).unwrap_or_default()),
    });
    Known {
        tables: tables.collect(),
    }
}

fn policy_tables(known: &Known) -> Tables {
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

/// A schema's error, each fault at its place.
pub(crate) fn schema_faults(error: &StartError, folder: &Path) -> Vec<Diagnostic> {
    let StartError::Migration(migration) = error else {
        return vec![Diagnostic::whole_file(&shown(folder), chain(error))];
    };
    migration
        .faults()
        .iter()
        .map(|fault| {
            let path = shown(&fault.path);
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

/// A fault at the place where something is registered.
fn at(origin: &zonai_limit::Origin, message: String) -> Diagnostic {
    match origin {
        zonai_limit::Origin::File { path, line, column } => {
            match Source::read(Path::new(&**path), path) {
                Ok(source) => source.fault(Span::point(*line, *column), message),
                Err(_) => Diagnostic::whole_file(path, message),
            }
        }
        other => Diagnostic::whole_file(&other.to_string(), message),
    }
}

/// An error with its causes, on one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    text
}
