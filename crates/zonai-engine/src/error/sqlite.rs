//! SQLite's errors as answers: constraints are the caller's to mend, all others are internal.
//!
//! SQLite's own texts may hold SQL (an unnamed CHECK is quoted whole), so only names that look like names pass.
//! Must never pass SQLite's text on to a caller.

use rusqlite::ErrorCode;
use rusqlite::ffi;

use super::DataError;

impl From<rusqlite::Error> for DataError {
    fn from(error: rusqlite::Error) -> Self {
        let rusqlite::Error::SqliteFailure(failure, message) = &error else {
            return Self::internal("running a statement", &error);
        };
        let message = message.as_deref().unwrap_or_default();
        match failure.code {
            ErrorCode::ConstraintViolation => constraint(failure.extended_code, message),
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => {
                tracing::warn!(cause = message, "another program holds the data file");
                Self::BusyWriting
            }
            ErrorCode::OperationInterrupted => Self::BrokenOff,
            ErrorCode::TooBig => Self::Unprocessable("A value is too large".to_owned()),
            _ => Self::internal("running a statement", &error),
        }
    }
}

fn constraint(code: i32, message: &str) -> DataError {
    let detail = message.split_once(": ").map_or("", |(_, detail)| detail);
    match code {
        ffi::SQLITE_CONSTRAINT_UNIQUE
        | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
        | ffi::SQLITE_CONSTRAINT_ROWID => DataError::Conflict(unique(detail)),
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => DataError::foreign_key(),
        ffi::SQLITE_CONSTRAINT_NOTNULL => match column(detail) {
            Some((table, column)) => {
                DataError::Unprocessable(format!("`{column}` must not be null (table: {table})"))
            }
            None => DataError::Unprocessable("A value must not be null".to_owned()),
        },
        ffi::SQLITE_CONSTRAINT_CHECK if is_name(detail) => {
            DataError::Unprocessable(format!("Check failed: `{detail}`"))
        }
        ffi::SQLITE_CONSTRAINT_CHECK => DataError::Unprocessable("Check failed".to_owned()),
        ffi::SQLITE_CONSTRAINT_DATATYPE => {
            let place = message.rsplit(' ').next().and_then(column);
            DataError::Unprocessable(match place {
                Some((table, column)) => format!("`{column}` has another type (table: {table})"),
                None => "A value has the wrong type".to_owned(),
            })
        }
        // RAISE(ABORT, '…') in a trigger: the text is written by the project's author, for its callers.
        ffi::SQLITE_CONSTRAINT_TRIGGER => DataError::Unprocessable(message.to_owned()),
        _ => DataError::Unprocessable("A constraint failed".to_owned()),
    }
}

impl DataError {
    /// A foreign key without its row: a 422. SQLite does not say which key, so neither does the text.
    #[must_use]
    pub fn foreign_key() -> Self {
        Self::Unprocessable(
            "Foreign key failed: a record that is pointed to does not exist, or is still pointed to"
                .to_owned(),
        )
    }
}

/// `users.email, users.tenant` as a sentence; an index over expressions has no columns to name.
fn unique(detail: &str) -> String {
    let columns: Vec<_> = detail.split(", ").filter_map(column).collect();
    match columns.as_slice() {
        [] => "Already exists".to_owned(),
        [(table, _), ..] => {
            let names: Vec<_> = columns
                .iter()
                .map(|(_, name)| format!("`{name}`"))
                .collect();
            format!("Already exists: {} (table: {table})", names.join(", "))
        }
    }
}

fn column(place: &str) -> Option<(&str, &str)> {
    let (table, column) = place.split_once('.')?;
    (is_name(table) && is_name(column)).then_some((table, column))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn answer(schema: &str, statement: &str) -> DataError {
        let conn = rusqlite::Connection::open_in_memory().unwrap();
        conn.execute_batch(&format!("PRAGMA foreign_keys = ON; {schema}"))
            .unwrap();
        conn.execute_batch(statement).unwrap_err().into()
    }

    #[test]
    fn constraints_name_columns_and_hold_no_sql() {
        let schema = "CREATE TABLE p (id INTEGER PRIMARY KEY);
            CREATE TABLE t (a INTEGER UNIQUE, b TEXT NOT NULL DEFAULT '', c INTEGER CHECK (c > 1 AND c < 9),
              d INTEGER, e REFERENCES p(id), CONSTRAINT small CHECK (d < 10));
            CREATE TABLE s (n INTEGER) STRICT; INSERT INTO t (a) VALUES (1);
            CREATE TRIGGER no BEFORE DELETE ON t BEGIN SELECT RAISE(ABORT, 'rows stay'); END;";
        let cases = [
            (
                "INSERT INTO t (a) VALUES (1)",
                DataError::Conflict("Already exists: `a` (table: t)".into()),
            ),
            (
                "INSERT INTO t (b) VALUES (NULL)",
                DataError::Unprocessable("`b` must not be null (table: t)".into()),
            ),
            (
                "INSERT INTO t (c) VALUES (1)",
                DataError::Unprocessable("Check failed".into()),
            ),
            (
                "INSERT INTO t (d) VALUES (11)",
                DataError::Unprocessable("Check failed: `small`".into()),
            ),
            ("INSERT INTO t (e) VALUES (7)", DataError::foreign_key()),
            (
                "INSERT INTO s VALUES ('x')",
                DataError::Unprocessable("`n` has another type (table: s)".into()),
            ),
            (
                "DELETE FROM t",
                DataError::Unprocessable("rows stay".into()),
            ),
            ("SELECT * FROM missing", DataError::Internal),
        ];
        for (statement, expected) in cases {
            assert_eq!(answer(schema, statement), expected, "{statement}");
        }
    }
}
