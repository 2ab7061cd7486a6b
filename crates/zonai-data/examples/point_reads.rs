//! Measures what one `get` by key and one small `list` cost, from payload bytes to JSON, on one thread.
//!
//! `cargo run --release -p zonai-data --example point_reads`
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement for people"
)]

use std::collections::BTreeMap;
use std::sync::Arc;

use zonai_clock::Clock;
use zonai_data::{
    Action, Caller, Database, DatabaseOptions, EngineOptions, Payload, ReadKind, Rights, Table,
    Unseen, Verdict,
};
use zonai_limit::{Counters, Internal, Limiter, registry::Known};

struct Open;

impl Rights for Open {
    fn verdict(&self, _: &Table, _: Action, _: &Caller) -> Verdict {
        Verdict::Allow
    }
}

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(folder.path());
    let counters = Arc::new(Counters::new(16));
    let known = Known { tables: Vec::new() };
    let (_, pass) = Limiter::new(counters, known, Vec::new(), Vec::new()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        for (what, rounds) in [
            ("get", 300_000_u64),
            ("list of 20", 30_000),
            ("plan of a get", 300_000),
            ("parse", 300_000),
        ] {
            reads(&db, &pass, what, rounds).await;
        }
        creates(&db, Arc::new(pass)).await;
    });
}

fn open(folder: &std::path::Path) -> Database {
    let schemas = folder.join("schemas");
    std::fs::create_dir(&schemas).unwrap();
    std::fs::write(
        schemas.join("1.sql"),
        "CREATE TABLE items (id TEXT PRIMARY KEY, title TEXT, done BOOLEAN, n INTEGER, created_at INTEGER);
         WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 100000)
         INSERT INTO items SELECT printf('%015x_it', i), 'title ' || i, i % 2, i, i FROM c;
         CREATE INDEX by_time ON items (created_at);",
    )
    .unwrap();
    let db = Database::open(DatabaseOptions {
        path: folder.join("zonai.sqlite"),
        schemas,
        tables: BTreeMap::new(),
        engine: EngineOptions::default(),
        clock: Clock::system(),
        hash_password: None,
    })
    .unwrap();
    db.set_rights(Box::new(Open));
    db
}

async fn reads(db: &Database, pass: &Internal, what: &str, rounds: u64) {
    let nobody = Caller::Anonymous;
    let clock = Clock::system();
    let begin = clock.now();
    for round in 0..rounds {
        let id = round * 7_919 % 100_000 + 1;
        let text = if what == "list of 20" {
            r#"{"table":"items","limit":20,"where":{"n":{"gt":5}}}"#.to_owned()
        } else {
            format!(r#"{{"table":"items","where":{{"id":{{"eq":"{id:015x}_it"}}}}}}"#)
        };
        let payload = Payload::parse(text.as_bytes()).unwrap();
        match what {
            "get" => drop(db.get(pass, &nobody, &payload).await.unwrap()),
            "list of 20" => drop(db.list(pass, &nobody, &payload).await.unwrap()),
            "parse" => {}
            _ => drop(
                db.plan(&nobody, &payload, ReadKind::Get, Unseen::Fail)
                    .unwrap(),
            ),
        }
    }
    let micros = clock.now().since(begin) * 1_000;
    println!("{what}: {:.2} µs", micros as f64 / rounds as f64);
}

async fn creates(db: &Database, pass: Arc<Internal>) {
    let clock = Clock::system();
    let begin = clock.now();
    let mut writers = tokio::task::JoinSet::new();
    for _ in 0..64 {
        let (db, pass) = (db.clone(), Arc::clone(&pass));
        writers.spawn(async move {
            let text = br#"{"table":"items","object":{"title":"new","done":false,"n":1}}"#;
            for _ in 0..1_000 {
                let payload = Payload::parse(text).unwrap();
                let row = db.create(&*pass, &Caller::Anonymous, &payload).await;
                drop(row.unwrap());
            }
        });
    }
    writers.join_all().await;
    let micros = clock.now().since(begin) * 1_000;
    println!("create by 64 clients: {:.2} µs", micros as f64 / 64_000.0);
}
