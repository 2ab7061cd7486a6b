//! The environment of the process and the project's `.env`, which stands behind it.
//!
//! A variable that is set but empty counts as not set. Must never show the value of a secret.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use zonai_policy::{Diagnostic, Source, Span, nearest};

use super::dotenv;
use crate::config::{Draft, folder, listen, shown};

/// Names and values, as the system has them.
pub(crate) type Variables = BTreeMap<String, OsString>;

/// What a variable does, for the documentation and for the nearest name.
pub(crate) const VARIABLES: [&str; 8] = [
    "ZONAI_HOST",
    "ZONAI_PORT",
    "ZONAI_LISTEN",
    "ZONAI_DATA_PATH",
    "ZONAI_APP_NAME",
    "ZONAI_BASE_URL",
    "ZONAI_LOG",
    "ZONAI_LOG_FORMAT",
];

/// Where a value came from.
#[derive(Clone, Debug)]
enum Place {
    Process,
    /// A line of the project's `.env`.
    File(Source, u32),
}

/// Every variable that means something here.
#[derive(Clone, Default)]
pub(crate) struct Environment {
    values: BTreeMap<String, (String, Place)>,
    warnings: Vec<String>,
}

/// The environment of this process.
pub(crate) fn process() -> Variables {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
        .collect()
}

impl Environment {
    /// The process's variables before those of `<project>/.env`.
    pub(crate) fn read(project: &Path, process: Variables, faults: &mut Vec<Diagnostic>) -> Self {
        let mut environment = Self::default();
        let path = project.join(".env");
        if path.is_file() {
            environment.read_file(&path, faults);
        }
        for (name, value) in process {
            if !is_ours(&name) || value.is_empty() {
                continue;
            }
            match value.into_string() {
                Ok(value) => drop(environment.values.insert(name, (value, Place::Process))),
                Err(_) => faults.push(Diagnostic::whole_file(
                    "environment",
                    format!("{name} is not UTF-8 text"),
                )),
            }
        }
        environment.warn_unknown();
        environment
    }

    fn read_file(&mut self, path: &Path, faults: &mut Vec<Diagnostic>) {
        let source = match Source::read(path, &shown(path)) {
            Ok(source) => source,
            // The line is not shown: it may hold a secret.
            Err(fault) => return faults.push(Diagnostic::whole_file(&fault.path, fault.message)),
        };
        // A source that holds no text, so that no diagnostic can show a line of this file.
        let blind = Source::new(source.path().to_string(), "");
        match dotenv::parse(source.text()) {
            Ok(values) => {
                for (name, (value, line)) in values {
                    if is_ours(&name) && !value.is_empty() {
                        self.values
                            .insert(name, (value, Place::File(blind.clone(), line)));
                    }
                }
            }
            Err(found) => faults.extend(
                found
                    .into_iter()
                    .map(|fault| blind.fault(Span::point(fault.line, fault.column), fault.message)),
            ),
        }
    }

    fn warn_unknown(&mut self) {
        for name in self
            .values
            .keys()
            .filter(|name| name.starts_with("ZONAI_") && !VARIABLES.contains(&name.as_str()))
        {
            // An orchestrator sets names such as ZONAI_SERVICE_HOST by itself: only a near miss is worth a word.
            if let Some(near) =
                nearest(name, VARIABLES).filter(|near| near.len().abs_diff(name.len()) <= 2)
            {
                self.warnings.push(format!(
                    "the variable {name} is not known; did you mean {near}?"
                ));
            }
        }
    }

    /// The value of a variable.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(|(value, _)| value.as_str())
    }

    /// What the operator should hear at start.
    pub(crate) fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Puts the variables over what the file says.
    pub(crate) fn apply(&self, draft: &mut Draft, faults: &mut Vec<Diagnostic>) {
        let mut each = |name: &str, set: &mut dyn FnMut(&str) -> Result<(), String>| {
            if let Some((value, place)) = self.values.get(name)
                && let Err(message) = set(value)
            {
                faults.push(fault(place, format!("{name}: {message}")));
            }
        };
        each("ZONAI_LISTEN", &mut |text| {
            let entries = text
                .split(',')
                .map(str::trim)
                .filter(|entry| !entry.is_empty());
            let all: Result<Vec<_>, String> = entries.map(listen::listen).collect();
            let all = all?.concat();
            if all.is_empty() {
                return Err("names no address".into());
            }
            draft.listen = Some(all);
            Ok(())
        });
        each("ZONAI_HOST", &mut |text| {
            draft.host = listen::host(text)?;
            draft.listen = None;
            Ok(())
        });
        each("ZONAI_PORT", &mut |text| {
            draft.port = port(text)?;
            draft.listen = None;
            Ok(())
        });
        each("ZONAI_DATA_PATH", &mut |text| {
            draft.paths.data = folder(&draft.paths.project, text)?;
            Ok(())
        });
        each("ZONAI_APP_NAME", &mut |text| {
            draft.app.name = text.trim().to_owned();
            Ok(())
        });
        each("ZONAI_BASE_URL", &mut |text| {
            draft.app.base_url = Some(crate::config::base_url(text)?);
            Ok(())
        });
    }

    /// A fault of a variable at the place where it was set.
    pub(crate) fn fault(&self, name: &str, message: &str) -> Diagnostic {
        let place = self
            .values
            .get(name)
            .map_or(&Place::Process, |(_, place)| place);
        fault(place, format!("{name} {message}"))
    }
}

impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

fn fault(place: &Place, message: String) -> Diagnostic {
    match place {
        Place::Process => Diagnostic::whole_file("environment", message),
        Place::File(source, line) => source.fault(Span::point(*line, 1), message),
    }
}

fn is_ours(name: &str) -> bool {
    name.starts_with("ZONAI_") || crate::config::keys::SECRETS.contains(&name)
}

fn port(text: &str) -> Result<u16, String> {
    text.trim().parse().map_err(|_| {
        let hint = if text.starts_with("tcp://") {
            "; Kubernetes sets this variable for a service named `zonai`: give the service another name, or set \
             `enableServiceLinks: false`"
        } else {
            ""
        };
        format!("a port is a number from 0 to 65535{hint}")
    })
}
