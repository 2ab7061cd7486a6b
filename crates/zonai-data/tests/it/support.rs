//! A database in a temporary folder, and short ways to ask it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use zonai_clock::{Clock, Hand};
use zonai_data::{
    Action, Caller, DataError, Database, DatabaseOptions, EngineOptions, Json, Payload, Rights,
    Table, TableOptions, User, Verdict,
};
use zonai_limit::{Counters, Internal, Limiter, registry::Known};

/// Everything is allowed.
pub(crate) struct Open;

impl Rights for Open {
    fn verdict(&self, _: &Table, _: Action, _: &Caller) -> Verdict {
        Verdict::Allow
    }
}

pub(crate) struct Data {
    pub(crate) db: Database,
    pub(crate) pass: Internal,
    pub(crate) hand: Hand,
    pub(crate) folder: tempfile::TempDir,
}

pub(crate) fn pass() -> Internal {
    let counters = Arc::new(Counters::new(16));
    let known = Known { tables: Vec::new() };
    Limiter::new(counters, known, Vec::new(), Vec::new())
        .unwrap()
        .1
}

/// A database with this schema in which everybody may do everything.
pub(crate) fn open(schema: &str) -> Data {
    open_with(schema, BTreeMap::new(), EngineOptions::default())
}

pub(crate) fn open_with(
    schema: &str,
    tables: BTreeMap<String, TableOptions>,
    engine: EngineOptions,
) -> Data {
    let folder = tempfile::tempdir().unwrap();
    let schemas = folder.path().join("schemas");
    std::fs::create_dir(&schemas).unwrap();
    std::fs::write(schemas.join("1.sql"), schema).unwrap();
    let (clock, hand) = Clock::manual();
    let db = Database::open(DatabaseOptions {
        path: folder.path().join("zonai.sqlite"),
        schemas,
        tables,
        engine,
        clock,
        hash_password: None,
    })
    .unwrap();
    db.set_rights(Box::new(Open));
    Data {
        db,
        pass: pass(),
        hand,
        folder,
    }
}

pub(crate) fn payload(value: Value) -> Payload {
    Payload::parse(value.to_string().as_bytes()).unwrap()
}

pub(crate) fn user(id: &str) -> Caller {
    Caller::User(Arc::new(User {
        id: json!(id),
        table: "users".to_owned(),
        claims: Map::new(),
        row: Map::new(),
    }))
}

impl Data {
    pub(crate) async fn get(&self, value: Value) -> Result<Value, DataError> {
        self.db
            .get(&self.pass, &Caller::Anonymous, &payload(value))
            .await
            .map(tree)
    }

    pub(crate) async fn list(&self, value: Value) -> Result<Value, DataError> {
        self.db
            .list(&self.pass, &Caller::Anonymous, &payload(value))
            .await
            .map(tree)
    }

    /// One column of the listed rows.
    pub(crate) async fn column(&self, name: &str, value: Value) -> Vec<Value> {
        let listed = self.list(value).await.unwrap();
        listed["items"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row[name].clone())
            .collect()
    }

    pub(crate) async fn count(&self, value: Value) -> Result<Value, DataError> {
        self.db
            .count(&self.pass, &Caller::Anonymous, &payload(value))
            .await
            .map(tree)
    }

    pub(crate) async fn create(&self, value: Value) -> Result<Value, DataError> {
        self.db
            .create(&self.pass, &Caller::Anonymous, &payload(value))
            .await
            .map(tree)
    }

    pub(crate) async fn create_many(&self, value: Value) -> Result<Value, DataError> {
        self.db
            .create_many(&self.pass, &Caller::Anonymous, &payload(value))
            .await
            .map(tree)
    }

    pub(crate) async fn update(&self, value: Value) -> Result<Value, DataError> {
        self.db
            .update(&self.pass, &Caller::Anonymous, &payload(value))
            .await
            .map(tree)
    }

    pub(crate) async fn update_many(&self, value: Value) -> Result<Value, DataError> {
        self.db
            .update_many(&self.pass, &Caller::Anonymous, &payload(value))
            .await
            .map(tree)
    }

    pub(crate) async fn delete(&self, value: Value) -> Result<(), DataError> {
        self.db
            .delete(&self.pass, &Caller::Anonymous, &payload(value))
            .await
    }

    pub(crate) async fn delete_many(&self, value: Value) -> Result<u64, DataError> {
        self.db
            .delete_many(&self.pass, &Caller::Anonymous, &payload(value))
            .await
    }

    /// SQL of the test's own, on the writer.
    pub(crate) async fn sql(&self, sql: &'static str) {
        self.db
            .engine()
            .write(&self.pass, move |conn| -> Result<(), DataError> {
                Ok(conn.execute_batch(sql)?)
            })
            .await
            .unwrap();
    }
}

fn tree(json: Json) -> Value {
    serde_json::from_str(json.as_str()).expect("what is answered is JSON")
}

/// The text of an error, which must be a 400.
pub(crate) fn bad(result: Result<Value, DataError>) -> String {
    match result.unwrap_err() {
        DataError::BadRequest(text) => text,
        other => panic!("expected a 400, found {other:?}"),
    }
}

/// The text of an error, which must be a 422.
pub(crate) fn unprocessable(result: Result<Value, DataError>) -> String {
    match result.unwrap_err() {
        DataError::Unprocessable(text) => text,
        other => panic!("expected a 422, found {other:?}"),
    }
}
