//! The rows of `_jwt`: a token is good while its row is there.

use rusqlite::{Connection, OptionalExtension, params};

use crate::UserId;

/// Notes a token.
pub(crate) fn insert(
    connection: &Connection,
    id: &str,
    table: &str,
    user: &UserId,
    now_ms: i64,
    expires_at: i64,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            r#"INSERT INTO _jwt (id, "table", user_id, created_at, expires_at)
               VALUES (?1, ?2, ?3, ?4, ?5)"#,
        )?
        .execute(params![id, table, user.to_string(), now_ms, expires_at])?;
    Ok(())
}

/// Whether the token of that account is neither revoked nor over.
pub(crate) fn is_live(
    connection: &Connection,
    id: &str,
    table: &str,
    user: &UserId,
    now_ms: i64,
) -> rusqlite::Result<bool> {
    let found = connection
        .prepare_cached(
            r#"SELECT 1 FROM _jwt
               WHERE id = ?1 AND "table" = ?2 AND user_id = ?3 AND expires_at > ?4"#,
        )?
        .query_row(params![id, table, user.to_string(), now_ms], |_| Ok(()))
        .optional()?;
    Ok(found.is_some())
}

/// Revokes one token. `false`: it was not there, so that of two refreshes only one goes on.
pub(crate) fn delete(connection: &Connection, id: &str) -> rusqlite::Result<bool> {
    Ok(connection
        .prepare_cached("DELETE FROM _jwt WHERE id = ?1")?
        .execute([id])?
        == 1)
}

/// Revokes all tokens of an account.
pub(crate) fn delete_all(
    connection: &Connection,
    table: &str,
    user: &UserId,
) -> rusqlite::Result<usize> {
    connection
        .prepare_cached(r#"DELETE FROM _jwt WHERE "table" = ?1 AND user_id = ?2"#)?
        .execute(params![table, user.to_string()])
}

/// Runs `change` without the tokens of an account being ended by it, though it writes the password: the same password under a
/// newer secret ends no session.
pub(crate) fn kept_through(
    connection: &Connection,
    table: &str,
    user: &UserId,
    change: impl FnOnce() -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    // No table is called so; nobody else sees it, as all is one transaction.
    const ASIDE: &str = "";
    let user = user.to_string();
    let move_to = |from: &str, to: &str| {
        connection
            .prepare_cached(r#"UPDATE _jwt SET "table" = ?1 WHERE "table" = ?2 AND user_id = ?3"#)?
            .execute(params![to, from, user])
    };
    move_to(table, ASIDE)?;
    change()?;
    move_to(ASIDE, table)?;
    Ok(())
}

/// Deletes the rows of tokens that are over.
pub(crate) fn delete_expired(connection: &Connection, now_ms: i64) -> rusqlite::Result<usize> {
    connection.execute("DELETE FROM _jwt WHERE expires_at <= ?1", [now_ms])
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "tests"
    )]
    use super::*;
    use crate::rows::test_database;

    #[test]
    fn a_token_is_good_for_its_account_until_its_time_or_its_end() {
        let db = test_database();
        let (ada, bob) = (UserId::Text("ada".to_owned()), UserId::Integer(7));
        for (id, user) in [("a1", &ada), ("a2", &ada), ("b1", &bob)] {
            insert(&db, id, "users", user, 0, 100).unwrap();
        }
        assert!(is_live(&db, "a1", "users", &ada, 99).unwrap());
        assert!(!is_live(&db, "a1", "users", &ada, 100).unwrap());
        assert!(!is_live(&db, "a1", "users", &bob, 0).unwrap());
        assert!(!is_live(&db, "a1", "admins", &ada, 0).unwrap());
        assert!(delete(&db, "a1").unwrap());
        assert!(!delete(&db, "a1").unwrap());
        assert_eq!(delete_all(&db, "users", &ada).unwrap(), 1);
        assert!(is_live(&db, "b1", "users", &bob, 0).unwrap());
        assert_eq!(delete_expired(&db, 99).unwrap(), 0);
        assert_eq!(delete_expired(&db, 100).unwrap(), 1);
    }
}
