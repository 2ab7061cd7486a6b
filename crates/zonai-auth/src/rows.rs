//! What accounts keep in the database, as plain functions over a connection.
//!
//! The callers open the transaction: where several of these must happen together or not at all, they do.

pub(crate) mod accounts;
pub(crate) mod challenges;
mod columns;
pub(crate) mod minute;
pub(crate) mod tokens;
mod triggers;

/// The internal tables. `IF NOT EXISTS`: it runs at every start.
pub(crate) const INTERNAL_TABLES: &str = r#"
CREATE TABLE IF NOT EXISTS _jwt (
    id TEXT PRIMARY KEY NOT NULL,
    "table" TEXT NOT NULL,
    user_id TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS _jwt_user ON _jwt ("table", user_id);
CREATE INDEX IF NOT EXISTS _jwt_expires ON _jwt (expires_at);

CREATE TABLE IF NOT EXISTS _auth_challenges (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    "table" TEXT NOT NULL,
    user_id TEXT NOT NULL,
    address BLOB NOT NULL,
    secret BLOB NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS _auth_challenges_user ON _auth_challenges (kind, "table", user_id);
CREATE INDEX IF NOT EXISTS _auth_challenges_address ON _auth_challenges (kind, address);
CREATE INDEX IF NOT EXISTS _auth_challenges_secret ON _auth_challenges (kind, secret);

CREATE TABLE IF NOT EXISTS _auth_mails (
    address BLOB PRIMARY KEY NOT NULL,
    sent_at INTEGER NOT NULL
) WITHOUT ROWID;
"#;

/// An in-memory database with the internal tables, for tests.
#[cfg(test)]
#[expect(clippy::expect_used, reason = "tests")]
pub(crate) fn test_database() -> rusqlite::Connection {
    let connection = rusqlite::Connection::open_in_memory().expect("memory");
    connection
        .execute_batch(INTERNAL_TABLES)
        .expect("internal tables");
    connection
}
