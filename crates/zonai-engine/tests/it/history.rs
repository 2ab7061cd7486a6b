//! Jobs of users: their statements hold together, and the history says why they failed.

use zonai_engine::history::History;

use crate::support::open;

#[tokio::test]
async fn a_statement_that_fails_undoes_those_before_it_and_says_why() {
    let data = open("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER UNIQUE)");
    let history = History::open(data.engine.clone(), &data.pass, 1)
        .await
        .unwrap();
    let sql = "INSERT INTO t (n) VALUES (1); INSERT INTO missing VALUES (2);";
    let failed = history.run_sql(&data.pass, sql).await.unwrap_err();
    assert!(failed.contains("no such table: missing"), "{failed}");
    assert_eq!(data.numbers(), Ok(Vec::new()));

    let run = history.begin(&data.pass, "job", "hand", 2).await.unwrap();
    history
        .end(&data.pass, run, Err(failed.clone()), 3)
        .await
        .unwrap();
    let runs = history.runs(&data.pass, "job", 1).unwrap();
    assert_eq!(runs[0].status, "failed");
    assert_eq!(runs[0].message, Some(failed));

    let sql = "INSERT INTO t (n) VALUES (1); INSERT INTO t (n) VALUES (2);";
    assert_eq!(history.run_sql(&data.pass, sql).await, Ok(2));
    assert_eq!(data.numbers(), Ok(vec![1, 2]));
}
