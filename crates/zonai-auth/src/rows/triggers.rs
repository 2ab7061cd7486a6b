//! What ends the sessions of an account, whoever changes its row: the routes, `/db`, a job's SQL, a program beside the server.
//!
//! Triggers in the database, because nothing else sees all of these. Must never change the rows of accounts.

use rusqlite::{Connection, OptionalExtension};

use super::accounts::quote;

/// Lays the triggers of an auth table, where they are not there already: its tokens and challenges go with the account, so that
/// whoever gets its number later does not inherit them, and its tokens go when its password changes.
pub(crate) fn lay(
    connection: &Connection,
    table: &str,
    key: &str,
    password: Option<&str>,
) -> rusqlite::Result<()> {
    let (quoted, key) = (quote(table), quote(key));
    let literal = format!("'{}'", table.replace('\'', "''"));
    let of_account = format!(r#""table" = {literal} AND user_id = CAST(old.{key} AS TEXT)"#);
    lay_one(
        connection,
        &format!("_auth_gone_{table}"),
        &format!("AFTER DELETE ON {quoted}"),
        &format!(
            "DELETE FROM _jwt WHERE {of_account}; DELETE FROM _auth_challenges WHERE {of_account};"
        ),
    )?;
    let Some(password) = password.map(quote) else {
        return Ok(());
    };
    lay_one(
        connection,
        &format!("_auth_password_{table}"),
        &format!(
            "AFTER UPDATE OF {password} ON {quoted} WHEN old.{password} IS NOT new.{password}"
        ),
        &format!("DELETE FROM _jwt WHERE {of_account};"),
    )
}

/// A trigger that says something else under that name was laid by an earlier version, or for a table that was called so before.
fn lay_one(connection: &Connection, name: &str, when: &str, then: &str) -> rusqlite::Result<()> {
    let name = (name, quote(name));
    let wanted = format!("CREATE TRIGGER {} {when} BEGIN {then} END", name.1);
    let found: Option<String> = connection
        .query_row(
            "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = ?1",
            [name.0],
            |row| row.get(0),
        )
        .optional()?;
    if found.as_deref() == Some(wanted.as_str()) {
        return Ok(());
    }
    connection.execute_batch(&format!("DROP TRIGGER IF EXISTS {}; {wanted}", name.1))
}
