//! Get, list and count: order, pages, groups, and how stored values look in JSON.

use std::collections::BTreeMap;

use serde_json::json;
use zonai_data::{Caller, DataError, EngineOptions};

use crate::support::{Data, bad, open, open_with, payload};

async fn tasks() -> Data {
    let data = open(
        "CREATE TABLE tasks (id INTEGER PRIMARY KEY, title TEXT, done BOOLEAN, list TEXT, created_at INTEGER);
         CREATE VIEW open_tasks AS SELECT id, title FROM tasks WHERE NOT done;",
    );
    data.sql(
        "INSERT INTO tasks VALUES (1, 'a', 0, 'x', 30), (2, 'b', 1, 'x', 10), (3, 'c', 0, 'y', 20), (4, 'd', 1, NULL, 20)",
    )
    .await;
    data
}

#[tokio::test]
async fn lists_are_newest_first_and_paged() {
    let data = tasks().await;
    let ids = |query| async { data.column("id", query).await };
    assert_eq!(ids(json!({"table": "tasks"})).await, [1, 4, 3, 2]);
    assert_eq!(
        ids(json!({"table": "tasks", "limit": 2, "offset": 1})).await,
        [4, 3]
    );
    assert_eq!(ids(json!({"table": "tasks", "limit": 0})).await, [0_i64; 0]);
    let by_title = json!({"table": "tasks", "order_by": [{"column": "done", "direction": "desc"}, {"column": "title"}]});
    assert_eq!(ids(by_title).await, [2, 4, 1, 3]);
    let page = data
        .list(json!({"table": "tasks", "limit": 1}))
        .await
        .unwrap();
    assert_eq!(page["total"], 4);
    let page = data
        .list(json!({"table": "tasks", "where": {"done": {"eq": false}}, "offset": 9}))
        .await
        .unwrap();
    assert_eq!(page, json!({"items": [], "total": 2}));
    let first = data
        .get(json!({"table": "tasks", "where": {}}))
        .await
        .unwrap();
    assert_eq!(first["id"], 1);
}

#[tokio::test]
async fn a_list_has_500_rows_at_most() {
    let data = tasks().await;
    data.sql("WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 700) INSERT INTO tasks (id) SELECT i FROM n").await;
    for query in [
        json!({"table": "tasks"}),
        json!({"table": "tasks", "limit": 100_000}),
    ] {
        let listed = data.list(query).await.unwrap();
        assert_eq!(listed["items"].as_array().unwrap().len(), 500);
        assert_eq!(listed["total"], 695);
    }
}

#[tokio::test]
async fn groups_are_counted() {
    let data = tasks().await;
    let listed = data
        .list(json!({"table": "tasks", "group_by": ["list", "done"]}))
        .await
        .unwrap();
    assert_eq!(
        listed,
        json!({"total": 4, "items": [
            {"list": null, "done": true, "count": 1}, {"list": "x", "done": false, "count": 1},
            {"list": "x", "done": true, "count": 1}, {"list": "y", "done": false, "count": 1},
        ]})
    );
    let by_count = json!({"table": "tasks", "group_by": "list", "limit": 1,
        "order_by": [{"column": "count", "direction": "desc"}]});
    let listed = data.list(by_count).await.unwrap();
    assert_eq!(
        listed,
        json!({"items": [{"list": "x", "count": 2}], "total": 3})
    );
    let other = json!({"table": "tasks", "group_by": ["list"], "order_by": [{"column": "title"}]});
    assert_eq!(
        bad(data.list(other).await),
        "order_by[0].column: `title` is not in `group_by`"
    );
}

#[tokio::test]
async fn what_is_missing_or_misspelled_is_told() {
    let data = tasks().await;
    assert_eq!(
        data.get(json!({"table": "tasks", "where": {"id": {"eq": 99}}}))
            .await
            .unwrap_err()
            .to_string(),
        "Record not found (table: tasks)"
    );
    for table in [
        "nothing",
        "Tasks",
        "_migrations",
        "sqlite_schema",
        "tasks; DROP TABLE tasks",
    ] {
        assert_eq!(
            data.list(json!({"table": table})).await,
            Err(DataError::NotFound),
            "{table}"
        );
    }
    let cases = [
        (json!({}), "table: is missing"),
        (
            json!({"table": 3}),
            "table: expected a text, found a number",
        ),
        (
            json!({"table": "tasks", "wher": {}}),
            "`wher`: unknown key; did you mean `where`?",
        ),
        (
            json!({"table": "tasks", "limit": -1}),
            "limit: expected a whole number from 0",
        ),
        (
            json!({"table": "tasks", "limit": 1.5}),
            "limit: expected a whole number from 0",
        ),
        (
            json!({"table": "tasks", "filter": 1}),
            "filter: expected true or false, found a number",
        ),
    ];
    for (query, expected) in cases {
        assert_eq!(bad(data.list(query).await), expected);
    }
    assert_eq!(
        bad(data.get(json!({"table": "tasks"})).await),
        "where: is missing"
    );
}

#[tokio::test]
async fn values_look_as_their_columns_say() {
    let data = open(
        "CREATE TABLE v (id INTEGER PRIMARY KEY, flag BOOLEAN, data JSON, raw BLOB, num REAL, big INTEGER, txt TEXT, any);",
    );
    data.sql(
        "INSERT INTO v VALUES (1, 1, '{\n\"a\": [1, 2.50]}', x'0001ff', 3, 9223372036854775807, 'q\"\u{1}\u{e9}', 'x'),
            (2, 7, 'no json', NULL, 9e999, NULL, CAST(x'ff' AS TEXT), 1.5)",
    )
    .await;
    let query = payload(json!({"table": "v", "order_by": [{"column": "id"}]}));
    let text = data
        .db
        .list(&data.pass, &Caller::Anonymous, &query)
        .await
        .unwrap();
    assert_eq!(
        text.as_str(),
        "{\"items\":[{\"id\":1,\"flag\":true,\"data\":{\"a\":[1,2.5]},\"raw\":\"AAH/\",\"num\":3.0,\
         \"big\":9223372036854775807,\"txt\":\"q\\\"\\u0001é\",\"any\":\"x\"},{\"id\":2,\"flag\":7,\"data\":\"no json\",\
         \"raw\":null,\"num\":null,\"big\":null,\"txt\":\"\u{fffd}\",\"any\":1.5}],\"total\":2}"
    );
}

#[tokio::test]
async fn views_can_be_read_and_not_written() {
    let data = tasks().await;
    let listed = data
        .list(json!({"table": "open_tasks", "order_by": [{"column": "title"}]}))
        .await
        .unwrap();
    assert_eq!(
        listed["items"],
        json!([{"id": 1, "title": "a"}, {"id": 3, "title": "c"}])
    );
    let text = bad(data
        .create(json!({"table": "open_tasks", "object": {}}))
        .await);
    assert_eq!(text, "table: `open_tasks` can only be read");
}

#[tokio::test]
async fn what_the_engine_turns_away_the_caller_hears() {
    let options = EngineOptions {
        reads: 0,
        write_queue: 0,
        ..EngineOptions::default()
    };
    let data = open_with(
        "CREATE TABLE t (id INTEGER PRIMARY KEY)",
        BTreeMap::new(),
        options,
    );
    let busy = Err(DataError::BusyReading);
    assert_eq!(data.list(json!({"table": "t"})).await, busy);
    let by_key = json!({"table": "t", "where": {"id": {"eq": 1}}});
    assert_eq!(data.get(by_key).await, busy);
    let row = json!({"table": "t", "object": {}});
    assert_eq!(data.create(row).await, Err(DataError::BusyWriting));
}
