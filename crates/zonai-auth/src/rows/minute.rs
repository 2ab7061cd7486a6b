//! At most one mail a minute to an address, decided and noted in one statement.

use rusqlite::{Connection, params};

use crate::keyed::Digest;

/// The time between two mails to one address, in milliseconds.
pub(crate) const BETWEEN_MS: i64 = 60_000;

/// Takes the minute of an address. `false`: a mail went there less than a minute ago.
pub(crate) fn take(
    connection: &Connection,
    address: &Digest,
    now_ms: i64,
) -> rusqlite::Result<bool> {
    // A note from the future is of a clock that has been set back since; it must not bind for ever.
    let changed = connection
        .prepare_cached(
            "INSERT INTO _auth_mails (address, sent_at) VALUES (?1, ?2)
             ON CONFLICT (address) DO UPDATE SET sent_at = excluded.sent_at
             WHERE sent_at <= excluded.sent_at - ?3 OR sent_at > excluded.sent_at + ?3",
        )?
        .execute(params![address, now_ms, BETWEEN_MS])?;
    Ok(changed == 1)
}

/// Deletes the notes that bind nobody any more.
pub(crate) fn clean(connection: &Connection, now_ms: i64) -> rusqlite::Result<usize> {
    connection.execute(
        "DELETE FROM _auth_mails WHERE sent_at <= ?1 - ?2 OR sent_at > ?1 + ?2",
        params![now_ms, BETWEEN_MS],
    )
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
    fn one_a_minute_and_each_address_for_itself() {
        let db = test_database();
        let now = 1_000_000;
        assert!(take(&db, &[1; 32], now).unwrap());
        assert!(!take(&db, &[1; 32], now).unwrap());
        assert!(take(&db, &[2; 32], now).unwrap());
        assert!(!take(&db, &[1; 32], now + BETWEEN_MS - 1).unwrap());
        assert!(
            take(&db, &[1; 32], now + BETWEEN_MS).unwrap(),
            "a refused one does not move it"
        );
    }

    #[test]
    fn a_clock_set_back_does_not_lock_an_address_out() {
        let db = test_database();
        assert!(take(&db, &[1; 32], 10_000_000).unwrap());
        assert!(
            !take(&db, &[1; 32], 9_999_990).unwrap(),
            "a jitter is no licence"
        );
        assert!(take(&db, &[1; 32], 5_000_000).unwrap());
    }

    #[test]
    fn what_binds_nobody_is_deleted() {
        let db = test_database();
        take(&db, &[1; 32], 0).unwrap();
        take(&db, &[2; 32], 30_000).unwrap();
        assert_eq!(clean(&db, 60_000).unwrap(), 1);
    }
}
