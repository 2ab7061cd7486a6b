//! The project's schema files: each applied once, in the order of the names, in a transaction of its own.
//!
//! An applied file is history: when it was changed or is gone, nothing is applied. Must never leave a file half applied.

mod apply;
mod fault;
mod locate;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use rusqlite::fallible_iterator::FallibleIterator;
use sha2::{Digest, Sha256};
use zonai_clock::Clock;

pub use fault::{MigrationError, MigrationFault};

use crate::engine;
use crate::error::with_causes;
use crate::schema::{Schema, TableOptions};
use crate::{EngineOptions, StartError};

/// The schema files of a project, read from disk.
#[derive(Clone, Debug, Default)]
pub struct Migrations {
    folder: PathBuf,
    files: Vec<File>,
}

#[derive(Clone, Debug)]
struct File {
    name: String,
    path: PathBuf,
    text: String,
    hash: String,
}

impl Migrations {
    /// Reads `*.sql` of a folder, hidden files left out. A missing folder has no files.
    ///
    /// # Errors
    /// When a file cannot be read or is not UTF-8; all faults at once.
    pub fn read(folder: &Path) -> Result<Self, MigrationError> {
        let mut faults = Vec::new();
        let mut files = Vec::new();
        for path in paths(folder)? {
            let name = path
                .file_name()
                .map(|name| name.to_string_lossy().into_owned());
            let text = std::fs::read(&path)
                .map_err(|error| error.to_string())
                .and_then(|bytes| {
                    String::from_utf8(bytes).map_err(|_| "the file is not UTF-8".to_owned())
                });
            match (name, text) {
                (Some(name), Ok(text)) => files.push(File {
                    hash: hex(&Sha256::digest(text.as_bytes())),
                    name,
                    path,
                    text,
                }),
                (_, Err(reason)) => faults.push(MigrationFault::of_file(&path, reason)),
                (None, _) => {}
            }
        }
        MigrationError::unless_empty(faults)?;
        files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self {
            folder: folder.to_owned(),
            files,
        })
    }

    /// Names of the files, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|file| file.name.as_str())
    }

    /// Applies what is new to the data file, which is made when missing. The names of the files that were applied.
    ///
    /// # Errors
    /// When an applied file was changed or is gone, or a statement fails; the files before it stay applied.
    pub fn apply_to(
        &self,
        path: &Path,
        options: &EngineOptions,
        clock: &Clock,
    ) -> Result<Vec<String>, MigrationError> {
        let conn = engine::open_for_setup(path, options)
            .map_err(|error| MigrationError::of_file(path, with_causes(&error)))?;
        apply::apply(self, &conn, clock)
    }

    /// Runs all files on a database in memory, and reads the tables they make. Touches no data file.
    ///
    /// # Errors
    /// As [`Migrations::apply_to`]; also when the tables cannot be served or `tables` names one that does not exist.
    pub fn check(
        &self,
        tables: &BTreeMap<String, TableOptions>,
        clock: &Clock,
    ) -> Result<Schema, StartError> {
        let conn = self.in_memory(clock)?;
        Ok(Schema::read(&conn, tables)?)
    }

    /// The tables of the files without any row, against which SQL can be checked.
    ///
    /// # Errors
    /// As [`Migrations::check`].
    pub fn scratch(&self, clock: &Clock) -> Result<Scratch, StartError> {
        self.in_memory(clock).map(Scratch)
    }

    fn in_memory(&self, clock: &Clock) -> Result<Connection, StartError> {
        let in_memory = || -> rusqlite::Result<Connection> {
            let conn = Connection::open_in_memory()?;
            engine::setup(&conn)?;
            Ok(conn)
        };
        let conn = in_memory().map_err(crate::schema::SchemaError::from)?;
        apply::apply(self, &conn, clock)?;
        Ok(conn)
    }
}

/// Tables without rows. Nothing is run on them.
pub struct Scratch(Connection);

impl Scratch {
    /// What is wrong with some statements, in SQLite's words; `None` where nothing is that can be told without running them.
    /// Looks no further than to the first that changes the schema: what comes behind it may use what it makes. Internal
    /// tables, which begin with `_`, are not here and not missed.
    #[must_use]
    pub fn fault(&self, sql: &str) -> Option<String> {
        let mut batch = rusqlite::Batch::new(&self.0, sql);
        loop {
            match batch.next() {
                Ok(Some(statement)) if changes_schema(&statement) => {
                    return None;
                }
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(error) => {
                    let text = match &error {
                        rusqlite::Error::SqlInputError { msg, .. } => msg.clone(),
                        rusqlite::Error::SqliteFailure(_, Some(text)) => text.clone(),
                        other => other.to_string(),
                    };
                    return (!text.starts_with("no such table: _")).then_some(text);
                }
            }
        }
    }
}

fn changes_schema(statement: &rusqlite::Statement<'_>) -> bool {
    let sql = statement.expanded_sql().unwrap_or_default();
    let word = sql.split_whitespace().next().unwrap_or_default();
    ["CREATE", "DROP", "ALTER", "ATTACH", "DETACH"]
        .iter()
        .any(|change| word.eq_ignore_ascii_case(change))
}

fn paths(folder: &Path) -> Result<Vec<PathBuf>, MigrationError> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(MigrationError::of_file(folder, error.to_string())),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry
            .map_err(|error| MigrationError::of_file(folder, error.to_string()))?
            .path();
        let hidden = path
            .file_name()
            .is_none_or(|name| name.to_string_lossy().starts_with('.'));
        if !hidden && path.extension().is_some_and(|extension| extension == "sql") {
            paths.push(path);
        }
    }
    Ok(paths)
}

/// What SQLite says, without its number.
fn sqlite_says(error: &rusqlite::Error) -> String {
    match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        other => with_causes(other),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
