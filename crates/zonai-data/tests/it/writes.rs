//! Creating and deleting: what the server adds, what it keeps from callers, and constraints as answers.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::json;
use zonai_clock::Hand;
use zonai_data::{
    Caller, DataError, Database, DatabaseOptions, EngineOptions, HashPassword, TableOptions,
};

use crate::support::{bad, open, open_with, payload, unprocessable};

#[tokio::test]
async fn ids_and_timestamps_are_made_by_the_server() {
    let data = open(
        "CREATE TABLE tasks (id TEXT PRIMARY KEY, title TEXT, createdAt TEXT, updated_at INTEGER);",
    );
    let object = json!({"title": "x", "id": "mine", "createdAt": "never", "updated_at": 1});
    let row = data
        .create(json!({"table": "tasks", "object": object}))
        .await
        .unwrap();
    let id = row["id"].as_str().unwrap().to_owned();
    assert!(id.len() == 18 && id.ends_with("_ta"), "{id}");
    assert_eq!(row["updated_at"], Hand::WALL_MS);
    assert!(row["createdAt"].as_str().unwrap().ends_with('Z'), "{row}");
    data.hand.set_wall_ms(Hand::WALL_MS + 5_000);
    let change = json!({"table": "tasks", "where": {"id": {"eq": id}},
        "updates": {"type": "object", "object": {"title": "y", "createdAt": "now", "updated_at": 3}}});
    let changed = data.update(change).await.unwrap();
    assert_eq!(changed["createdAt"], row["createdAt"]);
    assert_eq!(
        (&changed["title"], &changed["updated_at"]),
        (&json!("y"), &json!(Hand::WALL_MS + 5_000))
    );
    let key = json!({"table": "tasks", "where": {}, "updates": [{"column": "id", "value": "z"}]});
    assert_eq!(
        bad(data.update(key).await),
        "updates[0].column: `id` is the key and cannot be changed"
    );
}

#[tokio::test]
async fn the_suffix_of_ids_can_be_set() {
    let options = TableOptions {
        id_suffix: Some("tsk".to_owned()),
        ..TableOptions::default()
    };
    let tables = BTreeMap::from([("tasks".to_owned(), options)]);
    let data = open_with(
        "CREATE TABLE tasks (id TEXT PRIMARY KEY)",
        tables,
        EngineOptions::default(),
    );
    let row = data
        .create(json!({"table": "tasks", "object": {}}))
        .await
        .unwrap();
    assert!(row["id"].as_str().unwrap().ends_with("_tsk"), "{row}");
}

#[tokio::test]
async fn values_are_stored_by_type_or_refused() {
    let data = open(
        "CREATE TABLE v (id INTEGER PRIMARY KEY, flag BOOLEAN, data JSON, raw BLOB, num REAL, n INTEGER, txt TEXT, day DATE);",
    );
    let object = json!({"flag": true, "data": {"z": 1, "a": [null]}, "raw": "AAH/", "num": 2, "n": 3.0, "txt": "é", "day": "2026-01-02"});
    let row = data
        .create(json!({"table": "v", "object": object}))
        .await
        .unwrap();
    let stored = json!({"id": 1, "flag": true, "data": {"z": 1, "a": [null]}, "raw": "AAH/", "num": 2.0, "n": 3, "txt": "é", "day": "2026-01-02"});
    assert_eq!(row, stored);
    let cases = [
        (
            json!({"flag": "yes"}),
            "`flag` takes true or false, not a text like this",
        ),
        (
            json!({"flag": 2}),
            "`flag` takes true or false, not a number",
        ),
        (
            json!({"n": 1.5}),
            "`n` takes a whole number, not a fraction",
        ),
        (
            json!({"n": 9_223_372_036_854_775_808_u64}),
            "`n` takes a whole number, not one beyond 64 bits",
        ),
        (
            json!({"n": true}),
            "`n` takes a whole number, not true or false",
        ),
        (json!({"txt": 5}), "`txt` takes a text, not a number"),
        (json!({"txt": ["a"]}), "`txt` takes a text, not a list"),
        (
            json!({"raw": "not base64"}),
            "`raw` takes bytes as a base64 text, not a text like this",
        ),
        (
            json!({"num": "1"}),
            "`num` takes a number, not a text like this",
        ),
        (
            json!({"day": {}}),
            "`day` takes a text or a number, not an object",
        ),
    ];
    for (object, expected) in cases {
        assert_eq!(
            unprocessable(data.create(json!({"table": "v", "object": object})).await),
            expected
        );
    }
    let unknown = data
        .create(json!({"table": "v", "object": {"tit": 1}}))
        .await;
    assert_eq!(bad(unknown), "object.tit: unknown column `tit`");
}

#[tokio::test]
async fn many_are_all_or_none() {
    let data = open("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER UNIQUE)");
    let rows = data
        .create_many(json!({"table": "t", "objects": [{"n": 1}, {"n": 2}, {}]}))
        .await
        .unwrap();
    assert_eq!(
        rows,
        json!([{"id": 1, "n": 1}, {"id": 2, "n": 2}, {"id": 3, "n": null}])
    );
    let clash = data
        .create_many(json!({"table": "t", "objects": [{"n": 3}, {"n": 1}]}))
        .await;
    assert_eq!(
        clash,
        Err(DataError::Conflict(
            "Already exists: `n` (table: t)".to_owned()
        ))
    );
    assert_eq!(data.count(json!({"table": "t"})).await, Ok(json!(3)));
    assert_eq!(
        data.create_many(json!({"table": "t", "objects": []})).await,
        Ok(json!([]))
    );
    let fault = data
        .create_many(json!({"table": "t", "objects": [{}, 3]}))
        .await;
    assert_eq!(bad(fault), "objects[1]: expected an object, found a number");
}

#[tokio::test]
async fn constraints_are_the_callers_to_mend() {
    let data = open(
        "CREATE TABLE p (id INTEGER PRIMARY KEY);
         CREATE TABLE t (id INTEGER PRIMARY KEY, p REFERENCES p(id), name TEXT NOT NULL, n INTEGER CHECK (n > 0 OR n IS NULL));",
    );
    let create = |object| data.create(json!({"table": "t", "object": object}));
    assert_eq!(
        unprocessable(create(json!({})).await),
        "`name` must not be null (table: t)"
    );
    assert_eq!(
        unprocessable(create(json!({"name": "a", "p": 7})).await),
        "Foreign key failed: `p` points to a record that does not exist (table: p)"
    );
    data.sql("INSERT INTO p VALUES (1)").await;
    create(json!({"name": "b", "p": 1})).await.unwrap();
    let moved = json!({"table": "t", "where": {}, "updates": [{"column": "p", "value": 8}]});
    assert_eq!(
        unprocessable(data.update(moved).await),
        "Foreign key failed: `p` points to a record that does not exist (table: p)"
    );
    let pointed_to = data.delete(json!({"table": "p", "where": {}})).await;
    assert!(
        matches!(pointed_to, Err(DataError::Unprocessable(text)) if text.ends_with("still pointed to"))
    );
    assert_eq!(
        unprocessable(create(json!({"name": "a", "n": -1})).await),
        "Check failed"
    );
    create(json!({"name": "a", "id": 5})).await.unwrap();
    assert_eq!(
        create(json!({"name": "a", "id": 5})).await,
        Err(DataError::Conflict(
            "Already exists: `id` (table: t)".to_owned()
        ))
    );
}

#[tokio::test]
async fn deletes_take_the_newest_or_all() {
    let data = open("CREATE TABLE t (id INTEGER PRIMARY KEY, k TEXT)");
    data.sql("INSERT INTO t (k) VALUES ('a'), ('a'), ('b'), ('a'), ('b')")
        .await;
    data.delete(json!({"table": "t", "where": {"k": {"eq": "a"}}}))
        .await
        .unwrap();
    assert_eq!(data.column("id", json!({"table": "t"})).await, [5, 3, 2, 1]);
    let gone = data
        .delete(json!({"table": "t", "where": {"k": {"eq": "z"}}}))
        .await;
    assert_eq!(gone.unwrap_err().to_string(), "Record not found (table: t)");
    assert_eq!(
        data.delete_many(json!({"table": "t", "where": {"k": {"eq": "z"}}}))
            .await,
        Ok(0)
    );
    assert_eq!(
        data.delete_many(json!({"table": "t", "where": {}, "limit": 1}))
            .await,
        Ok(1)
    );
    let missing = data.delete_many(json!({"table": "t"})).await;
    assert_eq!(
        missing,
        Err(DataError::BadRequest("where: is missing".to_owned()))
    );
    assert_eq!(
        data.delete_many(json!({"table": "t", "where": {}})).await,
        Ok(3)
    );
}

#[tokio::test]
async fn tables_without_a_rowid_or_with_two_keys_work_alike() {
    let data = open(
        "CREATE TABLE w (a TEXT, b INTEGER, n INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID;
         CREATE TABLE c (a TEXT, b INTEGER, n INTEGER, PRIMARY KEY (a, b));
         CREATE TABLE hidden (rowid TEXT, _rowid_ TEXT, oid TEXT PRIMARY KEY);",
    );
    for table in ["w", "c"] {
        for b in 1..=3 {
            let row = data
                .create(json!({"table": table, "object": {"a": "x", "b": b, "n": 0}}))
                .await
                .unwrap();
            assert_eq!(row, json!({"a": "x", "b": b, "n": 0}));
        }
        assert_eq!(data.column("b", json!({"table": table})).await, [3, 2, 1]);
        let change = json!({"table": table, "where": {"b": {"eq": 2}}, "updates": [{"column": "n", "value": {"increment": 5}}]});
        assert_eq!(
            data.update(change).await,
            Ok(json!({"a": "x", "b": 2, "n": 5}))
        );
        assert_eq!(
            data.delete_many(json!({"table": table, "where": {"n": {"eq": 0}}, "limit": 9}))
                .await,
            Ok(2)
        );
    }
    let row = data
        .create(json!({"table": "hidden", "object": {"rowid": "r"}}))
        .await
        .unwrap();
    assert_eq!(row["rowid"], "r");
    let change =
        json!({"table": "hidden", "where": {}, "updates": [{"column": "rowid", "value": "s"}]});
    assert_eq!(data.update(change).await.unwrap()["rowid"], "s");
}

struct Reverse;

impl HashPassword for Reverse {
    fn hash<'a>(
        &'a self,
        plain: &'a str,
    ) -> Pin<Box<dyn Future<Output = Result<String, DataError>> + Send + 'a>> {
        Box::pin(async move { Ok(plain.chars().rev().collect()) })
    }
}

#[tokio::test]
async fn passwords_go_in_hashed_and_never_come_out() {
    let auth = TableOptions {
        auth: true,
        ..TableOptions::default()
    };
    let schema = "CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT UNIQUE, password TEXT);";
    let tables = BTreeMap::from([("users".to_owned(), auth)]);
    let closed = open_with(schema, tables.clone(), EngineOptions::default());
    let object = json!({"email": "a@b.c", "password": "secret"});
    let refused = closed
        .create(json!({"table": "users", "object": object}))
        .await;
    assert_eq!(bad(refused), "object: `password` cannot be written here");

    let mut data = open_with(schema, tables.clone(), EngineOptions::default());
    data.db = Database::open(DatabaseOptions {
        path: data.folder.path().join("zonai.sqlite"),
        schemas: data.folder.path().join("schemas"),
        tables,
        engine: EngineOptions::default(),
        clock: zonai_clock::Clock::manual().0,
        hash_password: Some(Arc::new(Reverse)),
    })
    .unwrap();
    data.db.set_rights(Box::new(crate::support::Open));
    let row = data
        .create(json!({"table": "users", "object": {"email": " A@b.C ", "password": "secret"}}))
        .await;
    assert_eq!(row, Ok(json!({"id": 1, "email": "a@b.c"})));
    let change = json!({"table": "users", "where": {"email": {"eq": "A@B.C"}}, "updates": [{"column": "password", "value": "terces"}]});
    assert_eq!(
        data.update(change).await,
        Ok(json!({"id": 1, "email": "a@b.c"}))
    );
    let stored = data.db.engine().read_here(&data.pass, |conn| {
        Ok(conn.query_row("SELECT password FROM users", [], |row| {
            row.get::<_, String>(0)
        })?)
    });
    assert_eq!(stored, Ok("secret".to_owned()));
    let query = payload(json!({"table": "users"}));
    let text = data
        .db
        .list(&data.pass, &Caller::Anonymous, &query)
        .await
        .unwrap();
    assert!(!text.as_str().contains("password"), "{text}");
}

/// Whether a table has a secret column is not told to who guesses its name.
#[tokio::test]
async fn a_secret_column_is_as_unknown_as_one_that_does_not_exist() {
    let auth = TableOptions {
        auth: true,
        ..TableOptions::default()
    };
    let data = open_with(
        "CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT UNIQUE, password TEXT);",
        BTreeMap::from([("users".to_owned(), auth)]),
        EngineOptions::default(),
    );
    let queries = |column: &str| {
        [
            json!({"table": "users", "where": {column: {"starts_with": "s"}}}),
            json!({"table": "users", "order_by": [{"column": column}]}),
            json!({"table": "users", "group_by": [column]}),
        ]
    };
    for (secret, unknown) in queries("password").into_iter().zip(queries("nickname")) {
        let secret = bad(data.list(secret).await);
        assert!(secret.ends_with("unknown column `password`"), "{secret}");
        let unknown = bad(data.list(unknown).await);
        assert_eq!(secret.replace("password", "nickname"), unknown);
    }
}
