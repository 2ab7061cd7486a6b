//! Related rows: paths, depth, and the rights on each.

use serde_json::json;
use zonai_data::{Action, Caller, DataError, Rights, RowExpr, Table, Verdict};

use crate::support::{Data, bad, open};

async fn blog() -> Data {
    let data = open(
        "CREATE TABLE teams (id INTEGER PRIMARY KEY, name TEXT);
         CREATE TABLE people (id TEXT PRIMARY KEY, name TEXT, team_id INTEGER REFERENCES teams(id), boss TEXT REFERENCES people(id));
         CREATE TABLE posts (id INTEGER PRIMARY KEY, title TEXT, author TEXT REFERENCES people);",
    );
    data.sql(
        "INSERT INTO teams VALUES (1, 'red'); INSERT INTO people VALUES ('ann', 'Ann', 1, NULL), ('bob', 'Bob', NULL, 'ann');
         INSERT INTO posts VALUES (1, 'one', 'ann'), (2, 'two', 'bob'), (3, 'three', NULL)",
    )
    .await;
    data
}

#[tokio::test]
async fn paths_are_followed_and_shared() {
    let data = blog().await;
    let query = json!({"table": "posts", "expand": ["author.team", "author.boss.team"], "order_by": [{"column": "id"}]});
    let red = json!({"id": 1, "name": "red"});
    let listed = data.list(query).await.unwrap();
    assert_eq!(
        listed["items"],
        json!([
            {"id": 1, "title": "one", "author": "ann", "expanded": {"author":
                {"id": "ann", "name": "Ann", "team_id": 1, "boss": null, "expanded": {"team": red, "boss": null}}}},
            {"id": 2, "title": "two", "author": "bob", "expanded": {"author":
                {"id": "bob", "name": "Bob", "team_id": null, "boss": "ann", "expanded": {"team": null, "boss":
                    {"id": "ann", "name": "Ann", "team_id": 1, "boss": null, "expanded": {"team": red}}}}}},
            {"id": 3, "title": "three", "author": null, "expanded": {"author": null}},
        ])
    );
    let one = data
        .get(json!({"table": "posts", "where": {"id": {"eq": 1}}, "expand": "author"}))
        .await
        .unwrap();
    assert_eq!(one["expanded"]["author"]["name"], "Ann");
}

#[tokio::test]
async fn paths_that_are_none_are_refused() {
    let data = blog().await;
    let cases = [
        (json!(["title"]), "expand[0]: `title` is no foreign key"),
        (
            json!(["autor"]),
            "expand[0]: unknown column `autor`; did you mean `author`?",
        ),
        (
            json!(["author.boss.boss.boss.boss"]),
            "expand[0]: more than 4 deep",
        ),
        (json!([3]), "expand[0]: expected a text, found a number"),
        (json!([""]), "expand[0]: unknown column ``"),
    ];
    for (expand, expected) in cases {
        assert_eq!(
            bad(data.list(json!({"table": "posts", "expand": expand})).await),
            expected
        );
    }
    let deep = data
        .list(json!({"table": "posts", "expand": ["author.boss.boss.boss"]}))
        .await;
    assert!(deep.is_ok());
}

/// Posts are open; of people only Ann; of teams none.
struct OnlyAnn;

impl Rights for OnlyAnn {
    fn verdict(&self, table: &Table, _: Action, _: &Caller) -> Verdict {
        match table.name.as_str() {
            "posts" => Verdict::Allow,
            "people" => Verdict::Rows(RowExpr {
                sql: "\"_row\".\"id\" = ?".to_owned(),
                values: vec!["ann".to_owned().into()],
                reads: Vec::new(),
            }),
            _ => Verdict::Deny,
        }
    }
}

#[tokio::test]
async fn related_rows_need_rights_of_their_own() {
    let data = blog().await;
    data.db.set_rights(Box::new(OnlyAnn));
    let get = |id: i64, expand: &str| {
        data.get(json!({"table": "posts", "where": {"id": {"eq": id}}, "expand": expand}))
    };
    assert_eq!(
        get(1, "author").await.unwrap()["expanded"]["author"]["id"],
        "ann"
    );
    assert_eq!(get(2, "author").await, Err(DataError::Forbidden));
    assert_eq!(get(1, "author.team").await, Err(DataError::Forbidden));
    assert_eq!(
        get(3, "author.team").await.unwrap()["expanded"],
        json!({"author": null})
    );
    let filtered = json!({"table": "posts", "expand": ["author"], "filter": true, "order_by": [{"column": "id"}]});
    let listed = data.list(filtered).await.unwrap();
    assert_eq!(listed["items"][1]["expanded"], json!({"author": null}));
    assert_eq!(
        data.list(json!({"table": "posts", "expand": ["author"]}))
            .await,
        Err(DataError::Forbidden)
    );
}
