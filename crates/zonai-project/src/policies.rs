//! Which policies are in force: read at start, read again when the folder changes, swapped at once or not at all.
//!
//! Must never leave a request without policies: a folder that does not pass leaves what was in force.

use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use zonai_clock::Clock;
use zonai_limit::{Limit, Limiter, Operation, Registration, RegistryFault};
use zonai_limit_sqlite::SqliteStore;
use zonai_policy::{Diagnostic, Fingerprint, Tables, nearest};

use crate::reading::at;

/// Where policies come from, and which are in force.
pub struct Policies {
    project: PathBuf,
    folder: PathBuf,
    shown: PathBuf,
    tables: Tables,
    /// Registered in code, for as long as the server runs.
    code: Vec<Registration>,
    shared: Vec<(Operation, Limit)>,
    status: Mutex<Status>,
    /// Held from reading the folder to taking what it says: of two reloads, the one that reads later decides.
    reloading: Mutex<()>,
    clock: Clock,
}

/// Which policies are in force.
#[derive(Clone, Debug)]
pub struct Status {
    /// 1 at start, one more with each change that was taken.
    pub version: u64,
    /// Since when: epoch milliseconds.
    pub since_ms: i64,
    /// Why the newest change was not taken; empty where it was.
    pub faults: Vec<Diagnostic>,
    fingerprint: Fingerprint,
}

/// What was read, ready for the limiter.
pub struct Read {
    /// Of the files, then those in code.
    pub registrations: Vec<Registration>,
    fingerprint: Fingerprint,
}

/// What came of a reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reload {
    /// The folder says what it said.
    Unchanged,
    /// The new policies are in force.
    Taken,
    /// Something is wrong with it; the old ones stay.
    Kept,
}

impl Policies {
    /// Nothing is in force yet: [`Self::read`] is for the start.
    pub fn new(
        folder: PathBuf,
        project: &Path,
        tables: Tables,
        code: Vec<Registration>,
        shared: Vec<(Operation, Limit)>,
        clock: Clock,
    ) -> Self {
        let shown = folder
            .strip_prefix(project)
            .map_or_else(|_| folder.clone(), PathBuf::from);
        let since_ms = clock.wall_ms();
        let status = Status {
            version: 1,
            since_ms,
            faults: Vec::new(),
            fingerprint: Fingerprint::default(),
        };
        Self {
            project: project.to_path_buf(),
            folder,
            shown,
            tables,
            code,
            shared,
            status: Mutex::new(status),
            reloading: Mutex::new(()),
            clock,
        }
    }

    /// The folder that is read.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Limits of the shared buckets.
    pub fn shared(&self) -> Vec<(Operation, Limit)> {
        self.shared.clone()
    }

    /// Reads the folder.
    ///
    /// # Errors
    /// With every fault of its files.
    pub fn read(&self) -> Result<Read, Vec<Diagnostic>> {
        let reading = zonai_policy::read_folder_as(&self.folder, &self.shown, &self.tables);
        if !reading.faults.is_empty() {
            return Err(reading.faults);
        }
        let stated = reading
            .registrations
            .into_iter()
            .map(|stated| Registration::stated(stated.kind, stated.limits));
        Ok(Read {
            registrations: stated.chain(self.code.iter().cloned()).collect(),
            fingerprint: reading.fingerprint,
        })
    }

    /// Notes what is in force at start.
    pub fn started(&self, read_fingerprint: Fingerprint) {
        self.status.lock().fingerprint = read_fingerprint;
    }

    /// Reads the folder again and takes what it says, all of it or nothing.
    pub fn reload(&self, limiter: &Limiter, store: &SqliteStore) -> Reload {
        let _one_at_a_time = self.reloading.lock();
        let read = self.read();
        let mut status = self.status.lock();
        let faults = match read {
            Ok(read) if read.fingerprint == status.fingerprint && status.faults.is_empty() => {
                return Reload::Unchanged;
            }
            Ok(read) => {
                match limiter.replace(self.clock.now(), read.registrations, self.shared.clone()) {
                    Ok(changes) => {
                        status.fingerprint = read.fingerprint;
                        store.policies_changed(&changes);
                        Vec::new()
                    }
                    Err(faults) => faults
                        .iter()
                        .map(|fault| diagnose(fault, &self.project))
                        .collect(),
                }
            }
            Err(faults) => faults,
        };
        if faults.is_empty() {
            status.version += 1;
            status.since_ms = self.clock.wall_ms();
            status.faults.clear();
            tracing::info!(version = status.version, "rate limit policies changed");
            say_misregistered(limiter);
            return Reload::Taken;
        }
        for fault in &faults {
            tracing::error!("{fault}");
        }
        tracing::warn!(
            version = status.version,
            "the changed rate limit policies were not taken; the ones before stay in force"
        );
        status.faults = faults;
        Reload::Kept
    }

    /// How the folder looked when it was read last.
    pub fn fingerprint(&self) -> Fingerprint {
        self.status.lock().fingerprint
    }

    /// Which policies are in force.
    pub fn status(&self) -> Status {
        self.status.lock().clone()
    }
}

impl Read {
    /// How the folder looked when it was read.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }
}

/// Says for the operator what every check answers with 500.
pub fn say_misregistered(limiter: &Limiter) {
    for twice in limiter.misregistered() {
        tracing::error!(
            first = %twice.first,
            second = %twice.second,
            "{twice}: every rate limited request fails until one of the two is gone"
        );
    }
}

/// A fault that only the registry can see, at its place and with the nearest name.
pub fn diagnose(fault: &RegistryFault, project: &Path) -> Diagnostic {
    let (origin, near) = match fault {
        RegistryFault::UnknownTable {
            table,
            origin,
            known,
        }
        | RegistryFault::NotAuth {
            table,
            origin,
            known,
        } => (
            Some(origin),
            nearest(table, known.iter().map(String::as_str)),
        ),
        RegistryFault::UnknownCustom {
            operation,
            origin,
            known,
            ..
        } => (
            Some(origin),
            nearest(operation, known.iter().map(String::as_str)),
        ),
        RegistryFault::Misplaced { origin, .. }
        | RegistryFault::CountedForAdmins { origin, .. }
        | RegistryFault::TooManyWindows { origin, .. }
        | RegistryFault::SharedTwice { origin, .. } => (Some(origin), None),
        _ => (None, None),
    };
    let text = fault.to_string();
    let diagnostic = match origin {
        // The text begins with the origin, which is the diagnostic's own place.
        Some(origin) => {
            let message = text.strip_prefix(&format!("{origin}: ")).unwrap_or(&text);
            at(origin, message.to_owned(), project)
        }
        None => Diagnostic::whole_file("rate limits", text),
    };
    match (near, fault) {
        (Some(name), _) => diagnostic.with_help(format!("did you mean `{name}`?")),
        (None, RegistryFault::CountedForAdmins { .. }) => diagnostic.with_help(format!(
            "set `{}` under `rateLimit.shared` in zonai.yaml",
            Operation::AdminAuthenticate.name()
        )),
        (None, _) => diagnostic,
    }
}
