//! Plans of reads: what live queries watch, and when two of them can share a result.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use zonai_data::{Caller, DataError, ReadKind, ReadPlan, Unseen};

use crate::support::{Data, open, payload};

fn blog() -> Data {
    open(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT);
         CREATE TABLE posts (id INTEGER PRIMARY KEY, author_id REFERENCES people);
         CREATE VIEW recent AS SELECT * FROM posts;",
    )
}

fn plan(data: &Data, kind: ReadKind, query: Value) -> ReadPlan {
    data.db
        .plan(&Caller::Anonymous, &payload(query), kind, Unseen::LeaveOut)
        .unwrap()
}

#[tokio::test]
async fn a_plan_names_the_tables_it_reads() {
    let data = blog();
    let list = plan(&data, ReadKind::List, json!({"table": "posts"}));
    assert_eq!(list.tables(), Some(BTreeSet::from(["posts"])));
    let expanded = plan(
        &data,
        ReadKind::List,
        json!({"table": "posts", "expand": ["author"]}),
    );
    assert_eq!(expanded.tables(), Some(BTreeSet::from(["people", "posts"])));
    let view = plan(&data, ReadKind::Count, json!({"table": "recent"}));
    assert_eq!(view.tables(), None);
}

#[tokio::test]
async fn plans_with_one_result_have_one_key() {
    let data = blog();
    let key = |query| plan(&data, ReadKind::List, query).key();
    let typed = json!({"table": "posts", "where": {"type": "eq", "column": "id", "value": 1}});
    let short = json!({"limit": 500, "where": {"id": {"eq": 1}}, "table": "posts"});
    assert_eq!(key(typed.clone()), key(short));
    for other in [
        json!({"table": "posts", "where": {"id": {"eq": 2}}}),
        json!({"table": "posts", "where": {"id": {"eq": "1"}}}),
        json!({"table": "posts", "where": {"id": {"eq": 1}}, "limit": 1}),
        json!({"table": "posts", "where": {"id": {"eq": 1}}, "expand": ["author"]}),
    ] {
        assert_ne!(key(typed.clone()), key(other));
    }
}

#[tokio::test]
async fn a_plan_can_be_run_again() {
    let data = blog();
    let one = plan(
        &data,
        ReadKind::Get,
        json!({"table": "people", "where": {"id": {"eq": 1}}}),
    );
    let none = data.db.run(&data.pass, one.clone()).await;
    assert!(matches!(none, Err(DataError::RecordNotFound { .. })));
    data.sql("INSERT INTO people VALUES (1, 'Ann')").await;
    let found = data.db.run(&data.pass, one).await.unwrap();
    assert_eq!(found.as_str(), "{\"id\":1,\"name\":\"Ann\"}");
}
