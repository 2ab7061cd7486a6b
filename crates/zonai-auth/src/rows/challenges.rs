//! The rows of `_auth_challenges`: codes and links that were mailed and not yet used.
//!
//! Only keyed hashes are stored. A challenge is used up by deleting it, and the delete decides who used it.
//! Must never store a code or a link itself.

use rusqlite::{Connection, OptionalExtension, params};
use subtle::ConstantTimeEq;

use crate::UserId;
use crate::keyed::{Digest, Keyring};
use crate::mail::MailKind;

/// How often a code may be tried.
pub(crate) const TRIES: i64 = 3;

/// Whose address a challenge is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct For<'a> {
    pub(crate) table: &'a str,
    pub(crate) user: &'a UserId,
    pub(crate) address: &'a str,
}

/// The challenge that was used up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Used {
    pub(crate) table: String,
    pub(crate) user: String,
    address: Vec<u8>,
}

impl Used {
    /// Whether the account still has the address that the mail went to.
    pub(crate) fn was_sent_to(&self, keys: &Keyring, address: &str) -> bool {
        let parts = [self.table.as_str(), address];
        keys.candidates(ADDRESS, &parts)
            .iter()
            .any(|digest| self.address == digest)
    }
}

const ADDRESS: &str = "challenge address";

/// Stores a challenge; an older one of that kind for that account is good no more.
pub(crate) fn insert(
    connection: &Connection,
    keys: &Keyring,
    kind: MailKind,
    whose: For<'_>,
    secret: &str,
    now_ms: i64,
) -> rusqlite::Result<()> {
    let lifetime = i64::try_from(kind.lifetime().as_millis()).unwrap_or(i64::MAX);
    let address = keys.digest(ADDRESS, &[whose.table, whose.address]);
    let hash = secret_hash(keys, kind, whose, secret);
    connection
        .prepare_cached(
            r#"INSERT INTO _auth_challenges
                   (kind, "table", user_id, address, secret, tries, created_at, expires_at)
               VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7)
               ON CONFLICT (kind, "table", user_id) DO UPDATE SET
                   address = excluded.address, secret = excluded.secret, tries = 0,
                   created_at = excluded.created_at, expires_at = excluded.expires_at"#,
        )?
        .execute(params![
            kind.name(),
            whose.table,
            whose.user.to_string(),
            address,
            hash,
            now_ms,
            now_ms.saturating_add(lifetime)
        ])?;
    Ok(())
}

/// Tries a code. The try is counted first, so that parallel ones are too; the caller must commit in any case.
pub(crate) fn try_code(
    connection: &Connection,
    keys: &Keyring,
    table: &str,
    address: &str,
    code: &str,
    now_ms: i64,
) -> rusqlite::Result<Option<Used>> {
    let addresses = keys.candidates(ADDRESS, &[table, address]);
    let codes = keys.candidates(MailKind::Otp.name(), &[table, address, code]);
    for (address, code) in addresses.iter().zip(&codes) {
        let tried = connection
            .prepare_cached(
                "UPDATE _auth_challenges SET tries = tries + 1
                 WHERE kind = 'otp' AND address = ?1 AND expires_at > ?2 AND tries < ?3
                 RETURNING id, user_id, secret, tries",
            )?
            .query_row(params![address, now_ms, TRIES], |row| {
                Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
            })
            .optional()?;
        let Some((id, user, secret, tries)): Option<(i64, String, Vec<u8>, i64)> = tried else {
            continue;
        };
        let right: bool = secret.as_slice().ct_eq(code).into();
        if right || tries >= TRIES {
            connection.execute("DELETE FROM _auth_challenges WHERE id = ?1", [id])?;
        }
        let used = Used {
            table: table.to_owned(),
            user,
            address: address.to_vec(),
        };
        return Ok(right.then_some(used));
    }
    Ok(None)
}

/// Uses up a link.
pub(crate) fn use_link(
    connection: &Connection,
    keys: &Keyring,
    kind: MailKind,
    secret: &str,
    now_ms: i64,
) -> rusqlite::Result<Option<Used>> {
    let sql = r#"DELETE FROM _auth_challenges WHERE kind = ?1 AND secret = ?2 AND expires_at > ?3
                 RETURNING "table", user_id, address"#;
    find_link(connection, sql, keys, kind, secret, now_ms)
}

/// Looks whether a link is good, without using it up.
pub(crate) fn peek_link(
    connection: &Connection,
    keys: &Keyring,
    kind: MailKind,
    secret: &str,
    now_ms: i64,
) -> rusqlite::Result<Option<Used>> {
    let sql = r#"SELECT "table", user_id, address FROM _auth_challenges
                 WHERE kind = ?1 AND secret = ?2 AND expires_at > ?3"#;
    find_link(connection, sql, keys, kind, secret, now_ms)
}

/// Deletes all challenges of an account.
pub(crate) fn delete_all(
    connection: &Connection,
    table: &str,
    user: &UserId,
) -> rusqlite::Result<usize> {
    connection
        .prepare_cached(r#"DELETE FROM _auth_challenges WHERE "table" = ?1 AND user_id = ?2"#)?
        .execute(params![table, user.to_string()])
}

/// Deletes the challenges whose time is over.
pub(crate) fn clean(connection: &Connection, now_ms: i64) -> rusqlite::Result<usize> {
    connection.execute(
        "DELETE FROM _auth_challenges WHERE expires_at <= ?1",
        [now_ms],
    )
}

/// A code is one of a million and needs its address beside it; a link is found by its own 256 bits.
fn secret_hash(keys: &Keyring, kind: MailKind, whose: For<'_>, secret: &str) -> Digest {
    match kind {
        MailKind::Otp => keys.digest(kind.name(), &[whose.table, whose.address, secret]),
        _ => keys.digest(kind.name(), &[secret]),
    }
}

fn find_link(
    connection: &Connection,
    sql: &str,
    keys: &Keyring,
    kind: MailKind,
    secret: &str,
    now_ms: i64,
) -> rusqlite::Result<Option<Used>> {
    for hash in keys.candidates(kind.name(), &[secret]) {
        let used = connection
            .prepare_cached(sql)?
            .query_row(params![kind.name(), hash, now_ms], |row| {
                Ok(Used {
                    table: row.get(0)?,
                    user: row.get(1)?,
                    address: row.get(2)?,
                })
            })
            .optional()?;
        if used.is_some() {
            return Ok(used);
        }
    }
    Ok(None)
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
    use crate::Secrets;
    use crate::rows::test_database;

    const TEN_MINUTES: i64 = 600_000;
    const OLD: &str = "an old password secret 0123456789";
    const NEW: &str = "a new password secret 0123456789!";
    const JWT: &str = "a token secret 0123456789 abcdefg";

    fn keys(password: &str, previous: &str) -> Keyring {
        Keyring::new(&Secrets::parse(JWT, password, "", previous).unwrap())
    }

    fn send(db: &Connection, keys: &Keyring, kind: MailKind, secret: &str) {
        let user = UserId::Text("ada".to_owned());
        let whose = For {
            table: "users",
            user: &user,
            address: "ada@x.org",
        };
        insert(db, keys, kind, whose, secret, 0).unwrap();
    }

    fn code(db: &Connection, keys: &Keyring, code: &str, now: i64) -> bool {
        try_code(db, keys, "users", "ada@x.org", code, now)
            .unwrap()
            .is_some()
    }

    #[test]
    fn a_code_is_good_once_and_for_ten_minutes() {
        let (db, keys) = (test_database(), keys(NEW, ""));
        send(&db, &keys, MailKind::Otp, "123456");
        assert!(!code(&db, &keys, "123456", TEN_MINUTES));
        assert!(
            try_code(&db, &keys, "users", "bob@x.org", "123456", 0)
                .unwrap()
                .is_none()
        );
        assert!(
            try_code(&db, &keys, "staff", "ada@x.org", "123456", 0)
                .unwrap()
                .is_none()
        );
        assert!(code(&db, &keys, "123456", TEN_MINUTES - 1));
        assert!(!code(&db, &keys, "123456", 0));
    }

    #[test]
    fn the_third_wrong_try_uses_a_code_up() {
        let (db, keys) = (test_database(), keys(NEW, ""));
        send(&db, &keys, MailKind::Otp, "123456");
        assert!(!code(&db, &keys, "000000", 0) && !code(&db, &keys, "000001", 0));
        assert!(
            code(&db, &keys, "123456", 0),
            "the third may still be right"
        );
        send(&db, &keys, MailKind::Otp, "123456");
        for wrong in ["000000", "000001", "000002"] {
            assert!(!code(&db, &keys, wrong, 0));
        }
        assert!(!code(&db, &keys, "123456", 0));
    }

    #[test]
    fn a_link_is_good_once_for_its_kind_and_the_address_it_went_to() {
        let (db, keys) = (test_database(), keys(NEW, ""));
        send(&db, &keys, MailKind::ResetPassword, "s");
        let take = |kind, now| use_link(&db, &keys, kind, "s", now).unwrap();
        assert_eq!(take(MailKind::MagicLink, 0), None);
        assert_eq!(take(MailKind::ResetPassword, TEN_MINUTES), None);
        assert!(
            peek_link(&db, &keys, MailKind::ResetPassword, "s", 0)
                .unwrap()
                .is_some()
        );
        let used = take(MailKind::ResetPassword, TEN_MINUTES - 1).unwrap();
        assert!(used.was_sent_to(&keys, "ada@x.org") && !used.was_sent_to(&keys, "eve@x.org"));
        assert_eq!(take(MailKind::ResetPassword, 0), None);
        send(&db, &keys, MailKind::VerifyEmail, "s");
        assert!(take(MailKind::VerifyEmail, 24 * 3_600_000 - 1).is_some());
    }

    #[test]
    fn the_newest_mail_counts() {
        let (db, keys) = (test_database(), keys(NEW, ""));
        send(&db, &keys, MailKind::MagicLink, "one");
        send(&db, &keys, MailKind::MagicLink, "two");
        assert_eq!(
            use_link(&db, &keys, MailKind::MagicLink, "one", 0).unwrap(),
            None
        );
        assert!(
            use_link(&db, &keys, MailKind::MagicLink, "two", 0)
                .unwrap()
                .is_some()
        );
    }

    #[test]
    fn what_was_mailed_before_a_rotation_is_good_after_it() {
        let db = test_database();
        send(&db, &keys(OLD, ""), MailKind::Otp, "123456");
        send(&db, &keys(OLD, ""), MailKind::MagicLink, "s");
        let rotated = keys(NEW, OLD);
        assert!(
            use_link(&db, &keys(NEW, ""), MailKind::MagicLink, "s", 0)
                .unwrap()
                .is_none()
        );
        let used = use_link(&db, &rotated, MailKind::MagicLink, "s", 0)
            .unwrap()
            .unwrap();
        assert!(used.was_sent_to(&rotated, "ada@x.org"));
        assert!(code(&db, &rotated, "123456", 0));
    }

    #[test]
    fn nothing_readable_is_stored_and_the_old_is_deleted() {
        let (db, keys) = (test_database(), keys(NEW, ""));
        send(&db, &keys, MailKind::Otp, "123456");
        let sql = "SELECT count(*) FROM _auth_challenges
                   WHERE instr(CAST(secret AS TEXT), '123456') OR instr(CAST(address AS TEXT), 'ada')";
        assert_eq!(
            db.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap(),
            0
        );
        assert_eq!(clean(&db, TEN_MINUTES - 1).unwrap(), 0);
        assert_eq!(clean(&db, TEN_MINUTES).unwrap(), 1);
    }
}
