//! Runs the files that `_migrations` does not know yet.
//!
//! Must never leave half of a file behind: each is one transaction, together with its row in `_migrations`.

use std::collections::BTreeSet;

use rusqlite::fallible_iterator::FallibleIterator;
use rusqlite::{Batch, Connection, Error};
use zonai_clock::Clock;

use super::fault::{MigrationError, MigrationFault};
use super::locate::{first_word, line_and_column, skip_blank};
use super::{File, Migrations, sqlite_says};
use crate::schema::{TableName, check_table_name};

/// Applies what is new; the names of the files that were applied.
pub(super) fn apply(
    migrations: &Migrations,
    conn: &Connection,
    clock: &Clock,
) -> Result<Vec<String>, MigrationError> {
    let of_folder = |error: Error| MigrationError::of_file(&migrations.folder, sqlite_says(&error));
    let applied = applied(conn).map_err(of_folder)?;
    compare(migrations, &applied)?;
    let mut names = Vec::new();
    for file in &migrations.files {
        if !applied.iter().any(|(name, _)| *name == file.name) {
            apply_file(file, conn, clock)?;
            names.push(file.name.clone());
        }
    }
    Ok(names)
}

fn applied(conn: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    conn.execute_batch(
        "CREATE TABLE IF NOT EXISTS _migrations (
            name TEXT PRIMARY KEY NOT NULL, hash TEXT NOT NULL, applied_at INTEGER NOT NULL)",
    )?;
    let mut statement = conn.prepare("SELECT name, hash FROM _migrations ORDER BY name")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// Applied files must be there, as they were.
fn compare(migrations: &Migrations, applied: &[(String, String)]) -> Result<(), MigrationError> {
    let mut faults = Vec::new();
    for (name, hash) in applied {
        match migrations.files.iter().find(|file| file.name == *name) {
            None => faults.push(MigrationFault::of_file(
                &migrations.folder.join(name),
                "this file was applied to the data and is gone; put it back",
            )),
            Some(file) if file.hash != *hash => faults.push(MigrationFault::of_file(
                &file.path,
                "this file was changed after it was applied; put it back and add a new file instead",
            )),
            Some(_) => {}
        }
    }
    MigrationError::unless_empty(faults)
}

fn apply_file(file: &File, conn: &Connection, clock: &Clock) -> Result<(), MigrationError> {
    let of_file = |error: Error| MigrationError::of_file(&file.path, sqlite_says(&error));
    // Tables are rebuilt by dropping them, which foreign keys would turn into deletes. They are checked below instead, and
    // cannot be switched inside a transaction.
    conn.pragma_update(None, "foreign_keys", false)
        .map_err(of_file)?;
    conn.execute_batch("BEGIN IMMEDIATE").map_err(of_file)?;
    let result = run(file, conn)
        .and_then(|()| check_foreign_keys(file, conn))
        .and_then(|()| {
            conn.execute(
                "INSERT INTO _migrations (name, hash, applied_at) VALUES (?1, ?2, ?3)",
                (&file.name, &file.hash, clock.wall_ms()),
            )
            .and_then(|_| conn.execute_batch("COMMIT"))
            .map_err(of_file)
        });
    if result.is_err() && !conn.is_autocommit() {
        conn.execute_batch("ROLLBACK").map_err(of_file)?;
    }
    conn.pragma_update(None, "foreign_keys", true)
        .map_err(of_file)?;
    result
}

fn run(file: &File, conn: &Connection) -> Result<(), MigrationError> {
    let text = &file.text;
    let internal = internal_tables(conn)
        .map_err(|error| MigrationError::of_file(&file.path, sqlite_says(&error)))?;
    let mut start = 0;
    let mut batch = Batch::new(conn, text);
    loop {
        let at = |reason: String| fault(file, start + skip_blank(&text[start..]), reason);
        let mut statement = match batch.next() {
            Ok(Some(statement)) => statement,
            Ok(None) => return Ok(()),
            Err(Error::SqlInputError {
                msg, sql, offset, ..
            }) => {
                // The text that SQLite was given is the rest of the file.
                let begin = text.len().saturating_sub(sql.len());
                let offset = usize::try_from(offset).unwrap_or_else(|_| skip_blank(&sql));
                return Err(fault(file, begin + offset, msg));
            }
            Err(error) => return Err(at(sqlite_says(&error))),
        };
        if statement.parameter_count() > 0 {
            return Err(at("a schema file has no values for `?`".to_owned()));
        }
        let source = statement.expanded_sql().unwrap_or_default();
        let word = first_word(&source);
        if OWN_TRANSACTION.contains(&word.as_str()) {
            return Err(at(format!(
                "{word} is not for schema files: each one is a transaction already"
            )));
        }
        step(&mut statement).map_err(|error| at(sqlite_says(&error)))?;
        check_names(conn, &internal).map_err(at)?;
        start = (start + source.len()).min(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
    }
}

/// Statements that would end or leave the transaction of the file.
const OWN_TRANSACTION: &[&str] = &[
    "BEGIN",
    "COMMIT",
    "END",
    "ROLLBACK",
    "SAVEPOINT",
    "RELEASE",
    "ATTACH",
    "DETACH",
    "VACUUM",
];

fn step(statement: &mut rusqlite::Statement<'_>) -> rusqlite::Result<()> {
    let mut rows = statement.raw_query();
    while rows.next()?.is_some() {}
    Ok(())
}

fn fault(file: &File, offset: usize, reason: String) -> MigrationError {
    MigrationFault {
        path: file.path.clone(),
        place: Some(line_and_column(&file.text, offset)),
        reason,
    }
    .into()
}

fn names(conn: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement =
        conn.prepare_cached("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    rows.collect()
}

fn internal_tables(conn: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    let all = names(conn)?;
    Ok(all
        .into_iter()
        .filter(|name| name.starts_with('_'))
        .collect())
}

/// No new table may have a name that cannot be served, and the server's own tables must still be there.
fn check_names(conn: &Connection, internal: &BTreeSet<String>) -> Result<(), String> {
    let now = names(conn).map_err(|error| sqlite_says(&error))?;
    for name in &now {
        if internal.contains(name) {
            continue;
        }
        match check_table_name(name) {
            Ok(TableName::Internal) if name.starts_with('_') => {
                return Err(format!(
                    "table `{name}`: names that begin with `_` are for the server"
                ));
            }
            Ok(_) => {}
            Err(reason) => return Err(format!("table `{name}`: {reason}")),
        }
    }
    match internal.iter().find(|name| !now.contains(name)) {
        Some(gone) => Err(format!("table `{gone}` belongs to the server")),
        None => Ok(()),
    }
}

fn check_foreign_keys(file: &File, conn: &Connection) -> Result<(), MigrationError> {
    let mut broken = conn
        .prepare("SELECT \"table\", parent FROM pragma_foreign_key_check LIMIT 1")
        .map_err(|error| MigrationError::of_file(&file.path, sqlite_says(&error)))?;
    let pair = broken.query_row([], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?))
    });
    match pair {
        Ok((table, parent)) => Err(MigrationError::of_file(
            &file.path,
            format!(
                "after this file, rows of `{table}` point to rows of `{parent}` that do not exist"
            ),
        )),
        Err(Error::QueryReturnedNoRows) => Ok(()),
        Err(error) => Err(MigrationError::of_file(&file.path, sqlite_says(&error))),
    }
}
