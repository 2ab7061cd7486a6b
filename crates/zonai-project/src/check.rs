//! Everything that is wrong with a project's files, without serving it: what `zonai check` lists.
//!
//! Must never write, not even into the data folder, and never stop at the first fault.

use std::path::Path;

use zonai_auth::{TemplateError, Templates};
use zonai_clock::Clock;
use zonai_data::Migrations;
use zonai_policy::{Diagnostic, Source, Span, overlooked};

use crate::files::shown;
use crate::in_code::InCode;
use crate::settings::Settings;
use crate::{crons, reading, schema};

/// Everything that would stop the start, tables that are limited twice, which would fail every check, jobs whose SQL cannot run, and
/// schema files that would be passed over. Schema files are applied to a database in memory; what is in the data is not looked at.
///
/// Paths are shown from the project folder. A fault of a setting has its key as its path (`app.tables.users`), one of
/// code the name of what was added.
#[must_use]
pub fn check(settings: &Settings, code: &InCode, clock: &Clock) -> Vec<Diagnostic> {
    let Found { mut faults, twice } = find(settings, code, clock);
    faults.extend(twice);
    let schemas = &settings.paths.schemas;
    let of_folder = shown(schemas, &settings.paths.project);
    faults.extend(overlooked(schemas, of_folder.as_ref(), &["sql"]));
    for fault in sql_of_jobs(settings, clock) {
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    }
    faults
}

/// What is wrong with the files of jobs, their SQL looked at as well: a job that cannot run fails when it is due, and stops no start.
fn sql_of_jobs(settings: &Settings, clock: &Clock) -> Vec<Diagnostic> {
    let paths = &settings.paths;
    let migrations = Migrations::read(&paths.schemas).ok();
    let Some(scratch) = migrations.and_then(|migrations| migrations.scratch(clock).ok()) else {
        // The schema's own faults are told.
        return Vec::new();
    };
    let fault = |sql: &str| scratch.fault(sql);
    crons::read(&paths.crons, &paths.project, fault)
        .err()
        .unwrap_or_default()
}

/// What stops a start.
pub fn stopping(settings: &Settings, code: &InCode, clock: &Clock) -> Vec<Diagnostic> {
    find(settings, code, clock).faults
}

struct Found {
    faults: Vec<Diagnostic>,
    /// Tables that are limited twice.
    twice: Vec<Diagnostic>,
}

fn find(settings: &Settings, code: &InCode, clock: &Clock) -> Found {
    let paths = &settings.paths;
    let mut twice = Vec::new();
    let mut faults = match schema::in_memory(settings, clock) {
        Ok(tables) => {
            let read = reading::read(settings, code, &tables, clock);
            if let Some(limits) = &read.limits {
                twice = reading::limited_twice(&limits.limiter, paths);
            }
            read.faults
        }
        // Without tables, whatever names one would be called wrong.
        Err(mut faults) => {
            faults.extend(
                crons::read(&paths.crons, &paths.project, |_| None)
                    .err()
                    .unwrap_or_default(),
            );
            faults
        }
    };
    faults.extend(templates(settings));
    Found { faults, twice }
}

/// What is wrong with the mail templates. The first fault only: a template is read as a whole.
fn templates(settings: &Settings) -> Option<Diagnostic> {
    let folder = settings.paths.email_templates.as_path();
    let error = Templates::load(folder.is_dir().then_some(folder)).err()?;
    Some(template_fault(&error, &settings.paths.project))
}

/// A fault of a mail template at its place.
pub fn template_fault(error: &TemplateError, project: &Path) -> Diagnostic {
    let text = error.to_string();
    // The text begins with the path, and the place where there is one: both are the diagnostic's own.
    let (path, message) = match error {
        TemplateError::Read { path, .. } | TemplateError::Useless { path, .. } => {
            (path, text.as_str())
        }
        TemplateError::Placeholder {
            path,
            line,
            column,
            reason,
        } => {
            let shown = shown(path, project);
            let number = |value: &usize| u32::try_from(*value).unwrap_or(1);
            return match Source::read(path, &shown) {
                Ok(source) => source.fault(Span::point(number(line), number(column)), reason),
                Err(fault) => fault,
            };
        }
        TemplateError::Large(path) | TemplateError::Name(path) => (path, text.as_str()),
        _ => return Diagnostic::whole_file("emailTemplatesPath", text),
    };
    let message = message
        .strip_prefix(&format!("{}: ", path.display()))
        .unwrap_or(message);
    Diagnostic::whole_file(&shown(path, project), message)
}
