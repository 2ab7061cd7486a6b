//! An engine over a data file in a temporary folder, and short ways to use it.

use std::sync::Arc;

use zonai_clock::{Clock, Hand};
use zonai_engine::{DataError, Engine, EngineOptions};
use zonai_limit::{Counters, Internal, Limiter, registry::Known};

pub(crate) struct Data {
    pub(crate) engine: Engine,
    pub(crate) pass: Internal,
    pub(crate) hand: Hand,
    _folder: tempfile::TempDir,
}

fn pass() -> Internal {
    let counters = Arc::new(Counters::new(16));
    let known = Known { tables: Vec::new() };
    Limiter::new(counters, known, Vec::new(), Vec::new())
        .unwrap()
        .1
}

/// A data file with these tables.
pub(crate) fn open(schema: &str) -> Data {
    open_with(schema, EngineOptions::default())
}

pub(crate) fn open_with(schema: &str, mut options: EngineOptions) -> Data {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zonai.sqlite");
    let (clock, hand) = Clock::manual();
    options.clock = clock;
    zonai_engine::engine::open_for_setup(&path, &options)
        .unwrap()
        .execute_batch(schema)
        .unwrap();
    Data {
        engine: Engine::open(&path, &options).unwrap(),
        pass: pass(),
        hand,
        _folder: folder,
    }
}

impl Data {
    /// Runs statements as one job of the writer.
    pub(crate) async fn write(&self, sql: impl Into<String>) -> Result<(), DataError> {
        let sql = sql.into();
        self.engine
            .write(&self.pass, move |conn| Ok(conn.execute_batch(&sql)?))
            .await
    }

    /// Statements that must succeed.
    pub(crate) async fn sql(&self, sql: &str) {
        self.write(sql).await.unwrap();
    }

    /// Makes a row of the table `t`.
    pub(crate) async fn insert(&self, n: i64) -> Result<(), DataError> {
        self.write(format!("INSERT INTO t (n) VALUES ({n})")).await
    }

    /// The column `n` of the table `t`, from the least.
    pub(crate) fn numbers(&self) -> Result<Vec<i64>, DataError> {
        self.engine.read_here(&self.pass, |conn| {
            let mut statement = conn.prepare("SELECT n FROM t ORDER BY n")?;
            let rows = statement.query_map([], |row| row.get(0))?;
            Ok(rows.collect::<Result<_, _>>()?)
        })
    }
}
