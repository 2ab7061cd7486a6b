//! The change feed: after the commit, with what triggers and cascades did, and never for what was undone.

use tokio::time::{Duration, timeout};
use zonai_engine::{Change, ChangeReceiver, EngineOptions, Rows};

use crate::support::{Data, open, open_with};

async fn next(feed: &mut ChangeReceiver) -> Change {
    timeout(Duration::from_secs(20), feed.next())
        .await
        .expect("a change comes")
        .expect("the feed is open")
}

fn tables(change: &Change) -> Vec<(String, Rows)> {
    match change {
        Change::Tables(tables) => tables
            .iter()
            .map(|(name, rows)| (name.clone(), rows.clone()))
            .collect(),
        other => panic!("expected tables, found {other:?}"),
    }
}

fn schema() -> Data {
    open(
        "CREATE TABLE p (id INTEGER PRIMARY KEY, n INTEGER UNIQUE);
         CREATE TABLE c (id INTEGER PRIMARY KEY, p REFERENCES p ON DELETE CASCADE);
         CREATE TABLE w (k TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;",
    )
}

#[tokio::test]
async fn commits_tell_tables_and_rows() {
    let data = schema();
    let mut feed = data.engine.changes().subscribe();
    data.sql("INSERT INTO p (n) VALUES (1)").await;
    assert_eq!(
        tables(&next(&mut feed).await),
        [("p".to_owned(), Rows::Ids(vec![1]))]
    );
    data.sql("INSERT INTO c VALUES (7, 1), (8, 1)").await;
    assert_eq!(
        tables(&next(&mut feed).await),
        [("c".to_owned(), Rows::Ids(vec![7, 8]))]
    );
    data.sql("DELETE FROM p").await;
    assert_eq!(
        tables(&next(&mut feed).await),
        [
            ("c".to_owned(), Rows::Ids(vec![7, 8])),
            ("p".to_owned(), Rows::Ids(vec![1]))
        ]
    );
}

#[tokio::test]
async fn what_the_plain_hook_misses_is_seen() {
    let data = schema();
    data.sql("INSERT INTO p VALUES (1, 10), (2, 20)").await;
    let mut feed = data.engine.changes().subscribe();
    data.sql("REPLACE INTO p VALUES (3, 10)").await;
    assert_eq!(
        tables(&next(&mut feed).await),
        [("p".to_owned(), Rows::Ids(vec![1, 3]))]
    );
    data.sql("INSERT INTO w VALUES ('a', 1)").await;
    assert!(next(&mut feed).await.touches("w"));
    data.sql("DELETE FROM p").await;
    assert_eq!(
        tables(&next(&mut feed).await),
        [("p".to_owned(), Rows::Ids(vec![2, 3]))]
    );
}

#[tokio::test]
async fn what_is_undone_is_not_told() {
    let data = schema();
    let mut feed = data.engine.changes().subscribe();
    let clash = "INSERT INTO p (n) VALUES (5); INSERT INTO p (n) VALUES (5);";
    assert!(data.write(clash).await.is_err());
    data.sql("INSERT INTO w VALUES ('a', 1)").await;
    let change = next(&mut feed).await;
    assert!(change.touches("w") && !change.touches("p"), "{change:?}");
}

#[tokio::test]
async fn who_falls_behind_is_told_that_anything_may_have_changed() {
    let options = EngineOptions {
        change_backlog: 2,
        ..EngineOptions::default()
    };
    let data = open_with("CREATE TABLE t (n)", options);
    let mut feed = data.engine.changes().subscribe();
    for _ in 0..10 {
        data.sql("INSERT INTO t VALUES (1)").await;
    }
    assert_eq!(next(&mut feed).await, Change::Everything);
    assert!(next(&mut feed).await.touches("t"));
}

#[tokio::test]
async fn large_changes_are_bounded() {
    let data = schema();
    let mut feed = data.engine.changes().subscribe();
    data.sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO p (id) SELECT i FROM n").await;
    assert_eq!(
        tables(&next(&mut feed).await),
        [("p".to_owned(), Rows::Any)]
    );
    data.sql("WITH RECURSIVE n(i) AS (SELECT 10000 UNION ALL SELECT i + 1 FROM n WHERE i < 90000) INSERT INTO p (id) SELECT i FROM n").await;
    assert_eq!(next(&mut feed).await, Change::Everything);
}

#[tokio::test]
async fn writes_of_another_process_are_noticed() {
    let data = schema();
    let mut feed = data.engine.changes().subscribe();
    let other = rusqlite::Connection::open(data.engine.path()).unwrap();
    other.execute_batch("INSERT INTO p (n) VALUES (1)").unwrap();
    assert_eq!(next(&mut feed).await, Change::Everything);
    data.sql("INSERT INTO w VALUES ('a', 1)").await;
    assert!(matches!(next(&mut feed).await, Change::Tables(_)));
}
