//! The suite that every store of counters passes, on SQLite.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use tempfile::TempDir;
use zonai_clock::Clock;
use zonai_limit::{Changes, Client, CounterKey, Limiter, Moment};
use zonai_limit_sqlite::{CommitOutcome, Filter, SlotNames, SqliteStore};
use zonai_limit_suite::{Home, Store};

use crate::support::{block, quick, until_written};

struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }
}

struct OnDisk {
    store: SqliteStore,
    path: PathBuf,
}

impl Home for Folder {
    type Store = OnDisk;
    const SURVIVES: bool = true;

    fn open(&self, limiter: Arc<Limiter>, clock: Clock) -> OnDisk {
        let path = self.0.path().join(zonai_limit_sqlite::FILE_NAME);
        let counters = Arc::clone(limiter.counters());
        let names: Arc<dyn SlotNames> = limiter;
        let store = SqliteStore::open(&path, counters, names, clock, quick());
        OnDisk { store, path }
    }
}

impl OnDisk {
    fn second(&self) -> Connection {
        let conn = Connection::open(&self.path).unwrap();
        conn.busy_timeout(Duration::from_secs(5)).unwrap();
        conn
    }
}

impl Store for OnDisk {
    fn commit(&self, keys: &[CounterKey]) {
        assert_eq!(block(self.store.commit(keys)), CommitOutcome::Committed);
    }

    fn commit_all(&self) {
        until_written(&self.store);
    }

    fn free(&self, client: Client) {
        assert!(
            block(self.store.free(Filter::client(client)))
                .unwrap()
                .on_file
        );
    }

    fn sweep(&self, now: Moment) {
        block(self.store.delete_closed(now)).unwrap();
    }

    fn stored(&self) -> Option<usize> {
        let sql = "SELECT count(*) FROM _rate_limit";
        let rows: u32 = self.second().query_row(sql, [], |row| row.get(0)).unwrap();
        Some(rows as usize)
    }

    fn policies_changed(&self) {
        self.store.policies_changed(&Changes::default());
    }

    fn stop(self) {
        assert_eq!(self.store.close().unwritten, 0);
    }

    /// What is on the file at this moment is all that the next start finds.
    fn kill(self) {
        let file = |suffix: &str| {
            let mut name = self.path.clone().into_os_string();
            name.push(suffix);
            PathBuf::from(name)
        };
        let second = self.second();
        second.execute_batch("BEGIN IMMEDIATE").unwrap();
        let left = ["", "-wal"].map(|suffix| fs::read(file(suffix)).unwrap());
        second.execute_batch("ROLLBACK").unwrap();
        drop(second);
        let _ = self.store.close();
        for (suffix, bytes) in ["", "-wal"].iter().zip(left) {
            fs::write(file(suffix), bytes).unwrap();
        }
    }
}

zonai_limit_suite::conformance!(Folder::new());
