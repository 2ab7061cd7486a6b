//! A small database in a temporary folder that everybody may read and write, and short ways to ask it.
//!
//! One for the whole process. Must never be seen half changed: the targets put rows back before each input.

use std::collections::BTreeMap;
use std::fs;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::{Map, Value};
use tokio::runtime::{Builder, Runtime};
use zonai_clock::Clock;
use zonai_data::{
    Action, Caller, DataError, Database, DatabaseOptions, EngineOptions, HashPassword, Json,
    Payload, Rights, Table, TableOptions, Verdict,
};
use zonai_limit::{Counters, Internal, Known, Limiter};

/// A column of every kind, names that must be quoted, one that nobody may read, and one that nobody may write.
pub const SCHEMA: &str = r#"
CREATE TABLE t (
    id INTEGER PRIMARY KEY, s TEXT, n INTEGER, r REAL, b BOOLEAN, j JSON, x BLOB, d DATE, a NUMERIC, free,
    type TEXT, "a ""b" TEXT COLLATE NOCASE, must TEXT NOT NULL DEFAULT 'm', secret TEXT,
    twice INTEGER GENERATED ALWAYS AS (n), updatedAt TEXT
);
INSERT INTO t (id) VALUES (1);
INSERT INTO t (id, s, n, r, b, j, x, d, a, free, type, "a ""b", must, secret, updatedAt) VALUES
    (2, 'text', 3, 1.5, 1, '{"a": [1, "x"], "n": null}', x'00ff', '2026-01-02', 7, 'free', 'eq', 'AbC', 'm', 'hidden', ''),
    (3, '', -1, -0.0, 0, '[1, 1.0, "1", null, [], {}]', x'', 20260102, 0.1, 1.5, '', '%_', 'n', '', 'then'),
    (4, '100%', 9223372036854775807, 1e308, NULL, '"a text"', NULL, '', '1e3', x'41', NULL, 'abc', '', NULL, NULL),
    (5, char(8364, 39, 34, 92), -9223372036854775808, 5e-324, 1, 'no JSON', x'27', -1, -1, '', 'not', '''', 'é', 'x', '1');
"#;

/// The tables of a schema, with everything allowed.
pub struct Data {
    db: Database,
    pass: Internal,
    runtime: Runtime,
    _folder: tempfile::TempDir,
}

struct Open;

impl Rights for Open {
    fn verdict(&self, _: &Table, _: Action, _: &Caller) -> Verdict {
        Verdict::Allow
    }
}

struct NoHash;

impl HashPassword for NoHash {
    fn hash<'a>(&'a self, plain: &'a str) -> Hashing<'a> {
        Box::pin(async move { Ok(format!("hash of {plain}")) })
    }
}

type Hashing<'a> = Pin<Box<dyn Future<Output = Result<String, DataError>> + Send + 'a>>;

impl Data {
    /// Opens a new database with [`SCHEMA`].
    pub fn open() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let schemas = folder.path().join("schemas");
        fs::create_dir(&schemas).unwrap();
        fs::write(schemas.join("1.sql"), SCHEMA).unwrap();
        let (clock, _) = Clock::manual();
        let engine = EngineOptions {
            readers: 1,
            ..EngineOptions::default()
        };
        let options = DatabaseOptions {
            path: folder.path().join("zonai.sqlite"),
            schemas,
            tables: BTreeMap::from([("t".to_owned(), hides_secret())]),
            engine,
            clock,
            hash_password: Some(Arc::new(NoHash)),
        };
        let db = Database::open(options).unwrap();
        db.set_rights(Box::new(Open));
        let counters = Arc::new(Counters::new(16));
        let known = Known { tables: Vec::new() };
        let limiter = Limiter::new(counters, known, Vec::new(), Vec::new());
        Self {
            db,
            pass: limiter.unwrap().1,
            runtime: Builder::new_current_thread().build().unwrap(),
            _folder: folder,
        }
    }

    /// `{items, total}` of all rows that meet `condition`.
    pub fn list(&self, condition: &Value) -> Result<Value, DataError> {
        let asked = payload([("where", condition.clone())]);
        self.runtime
            .block_on(self.db.list(&self.pass, &Caller::Anonymous, &asked))
            .map(tree)
    }

    /// How many rows meet `condition`.
    pub fn count(&self, condition: &Value) -> Result<Value, DataError> {
        let asked = payload([("where", condition.clone())]);
        self.runtime
            .block_on(self.db.count(&self.pass, &Caller::Anonymous, &asked))
            .map(tree)
    }

    /// The row with this id.
    pub fn row(&self, id: i64) -> Map<String, Value> {
        let found = self.list(&serde_json::json!({"id": {"eq": id}})).unwrap();
        found["items"][0].as_object().unwrap().clone()
    }

    /// Changes the row with this id.
    pub fn update(&self, id: i64, updates: &Value) -> Result<Value, DataError> {
        let asked = payload([
            ("where", serde_json::json!({"id": {"eq": id}})),
            ("updates", updates.clone()),
        ]);
        self.runtime
            .block_on(self.db.update(&self.pass, &Caller::Anonymous, &asked))
            .map(tree)
    }

    /// Runs SQL of the target's own.
    pub fn sql(&self, sql: &'static str) {
        let job = move |conn: &rusqlite::Connection| -> Result<(), DataError> {
            Ok(conn.execute_batch(sql)?)
        };
        self.runtime
            .block_on(self.db.engine().write(&self.pass, job))
            .unwrap();
    }
}

/// The options of `t`.
pub fn hides_secret() -> TableOptions {
    TableOptions {
        secret_columns: vec!["secret".to_owned()],
        ..TableOptions::default()
    }
}

/// A JSON text as the server reads payloads: nothing twice, no U+0000, not too deep.
pub fn value(text: &[u8]) -> Option<Value> {
    let wrapped = [b"{\"v\":", text, b"}"].concat();
    let payload = Payload::parse(&wrapped).ok()?;
    // The text could have closed the object itself.
    (payload.members().len() == 1).then(|| payload.get("v").cloned())?
}

fn payload<const N: usize>(members: [(&str, Value); N]) -> Payload {
    let mut all = Map::from_iter([("table".to_owned(), Value::from("t"))]);
    all.extend(members.map(|(key, value)| (key.to_owned(), value)));
    Payload::from_members(all)
}

fn tree(json: Json) -> Value {
    serde_json::from_str(json.as_str())
        .unwrap_or_else(|error| panic!("{error} in the answer {json}"))
}
