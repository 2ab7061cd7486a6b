//! Scheduled SQL: `lib/src/crons/*.yaml`, one job a file.
//!
//! Must never run a job's SQL, not even to check it.

use std::path::Path;
use std::str::FromStr;

use croner::Cron;
use zonai_policy::{Diagnostic, Faults, yaml};

use crate::files::each_yaml;

/// A job of the project.
#[derive(Clone, Debug)]
pub struct CronFile {
    /// What it is called in the history, and by hand.
    pub name: String,
    /// When it runs, in the time zone of the machine.
    pub schedule: Cron,
    /// One or more statements.
    pub sql: String,
    /// Runs once at start where a time was missed.
    pub catch_up: bool,
    /// `false`: runs by hand only.
    pub enabled: bool,
}

const KEYS: [&str; 5] = ["name", "schedule", "sql", "catchUp", "enabled"];

/// Reads every job of a folder. `fault` says what is wrong with some SQL.
///
/// # Errors
/// With every fault of every file.
pub fn read(
    folder: &Path,
    project: &Path,
    fault: impl Fn(&str) -> Option<String>,
) -> Result<Vec<CronFile>, Vec<Diagnostic>> {
    let mut crons: Vec<CronFile> = Vec::new();
    let faults = each_yaml(folder, project, |path, found| {
        if let Some(cron) = read_file(path, &crons, &fault, found) {
            crons.push(cron);
        }
    });
    if faults.is_empty() {
        Ok(crons)
    } else {
        Err(faults)
    }
}

fn read_file(
    path: &Path,
    before: &[CronFile],
    fault: &impl Fn(&str) -> Option<String>,
    faults: &mut Faults<'_>,
) -> Option<CronFile> {
    let node = yaml::parse(faults)?;
    let map = node.expect_map("a job", faults)?;
    map.check_keys(&KEYS, faults);
    let name = match map.get("name") {
        Some(entry) => entry.value.expect_str("the job's name", faults)?.to_owned(),
        None => path.file_stem()?.to_str()?.to_owned(),
    };
    let place = map.get("name").map_or(node.span, |entry| entry.value.span);
    if name.starts_with('_') {
        faults.at(
            place,
            "names that begin with `_` are those of built-in jobs",
        );
    }
    if before.iter().any(|other| other.name == name) {
        faults.at(place, format!("another file has a job `{name}`"));
    }
    let mut required = |key: &str| -> Option<(String, zonai_policy::Span)> {
        match map.get(key) {
            Some(entry) => Some((
                entry.value.expect_str(key, faults)?.to_owned(),
                entry.value.span,
            )),
            None => {
                faults.at(node.span, format!("`{key}` is missing"));
                None
            }
        }
    };
    let (schedule, sql) = (required("schedule"), required("sql"));
    if let Some((text, span)) = &sql
        && let Some(why) = fault(text)
    {
        faults.at(*span, format!("the SQL cannot be run: {why}"));
    }
    let schedule = match schedule {
        Some((text, span)) => match Cron::from_str(&text) {
            Ok(schedule) => Some(schedule),
            Err(error) => {
                faults.at_with_help(
                    span,
                    format!("`{text}` is no schedule: {error}"),
                    "minute hour day month weekday, such as `*/15 * * * *`",
                );
                None
            }
        },
        None => None,
    };
    let mut flag = |key: &str, default: bool| match map.get(key) {
        Some(entry) => entry.value.expect_bool(key, faults).unwrap_or(default),
        None => default,
    };
    Some(CronFile {
        catch_up: flag("catchUp", false),
        enabled: flag("enabled", true),
        name,
        schedule: schedule?,
        sql: sql?.0,
    })
}
