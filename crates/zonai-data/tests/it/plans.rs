//! Plans of reads: what live queries watch, and when two of them can share a result.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use serde_json::{Value, json};
use zonai_data::{Caller, DataError, EngineOptions, ReadKind, ReadPlan, Unseen};

use crate::rules;
use crate::support::{Data, open, open_with, payload};

const BLOG: &str = "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE posts (id INTEGER PRIMARY KEY, author_id REFERENCES people);
    CREATE VIEW recent AS SELECT * FROM posts;";

fn blog() -> Data {
    open(BLOG)
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

/// The caller's thread reads one row by its key, and nothing else: more may take long, and async threads must not wait.
#[tokio::test]
async fn only_one_row_by_its_key_is_read_at_once() {
    let engine = EngineOptions {
        readers: 1,
        ..EngineOptions::default()
    };
    let data = open_with(BLOG, BTreeMap::new(), engine);
    data.sql("INSERT INTO people (id) VALUES (1); INSERT INTO posts VALUES (1, 1);")
        .await;
    let by_key = json!({"table": "posts", "where": {"id": {"eq": 1}}});
    let expanded = json!({"table": "posts", "where": {"id": {"eq": 1}}, "expand": ["author"]});

    // While the one reader is held, only what needs no reader is answered.
    let (release, held) = std::sync::mpsc::sync_channel::<()>(0);
    let holding = data.db.engine().read(&data.pass, move |_| {
        let _ = held.recv_timeout(std::time::Duration::from_secs(20));
        Ok(())
    });
    let mut holding = pin!(holding);
    let mut context = Context::from_waker(Waker::noop());
    assert!(holding.as_mut().poll(&mut context).is_pending());
    let mut at_once = |query: &Value| {
        let plan = plan(&data, ReadKind::Get, query.clone());
        let run = pin!(data.db.run(&data.pass, plan));
        matches!(run.poll(&mut context), Poll::Ready(Ok(_)))
    };
    assert!(at_once(&by_key));
    assert!(!at_once(&expanded), "related rows are looked up");
    rules::set(&data, &[("posts.view", "id < 5")]);
    assert!(at_once(&by_key), "the rule looks at the row alone");
    let rule = "exists(select 1 from people where people.id = author_id)";
    rules::set(&data, &[("posts.view", rule)]);
    assert!(!at_once(&by_key), "the rule reads another table");
    drop(release);
    holding.await.unwrap();
}
