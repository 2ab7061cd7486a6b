//! A store over a temporary folder, with names and a clock that are set by hand.

use std::future::Future;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::park_timeout;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::Connection;
use tempfile::TempDir;
use zonai_clock::{Clock, Hand};
use zonai_limit::{
    Charge, Client, CounterKey, CounterState, Counters, Ipv6Prefix, Operation, Outcome,
    RateLimitPolicy, Slot,
};
use zonai_limit_sqlite::{Filter, Health, Options, SlotNames, SqliteStore, StoredName};

/// The slots of the tests, by number.
pub(crate) const CREATE: u32 = 0;
pub(crate) const SIGN_IN: u32 = 1;
pub(crate) const FAILED: u32 = 2;
pub(crate) const ARCHIVE: u32 = 3;
pub(crate) const LONG: u32 = 4;

pub(crate) const MINUTE: u64 = 60_000;
pub(crate) const DAY: u64 = 86_400_000;

pub(crate) struct Names(Mutex<Vec<Option<StoredName>>>);

impl Names {
    pub(crate) fn new() -> Self {
        let name = |table: &str, operation, window_ms| {
            Some(StoredName {
                table: table.into(),
                operation,
                window_ms,
            })
        };
        Self(Mutex::new(vec![
            name("items", Operation::Create, MINUTE),
            name("users", Operation::SignIn, 15 * MINUTE),
            name("users", Operation::FailedSignIn, 15 * MINUTE),
            name("items:archive", Operation::Custom, MINUTE),
            name("items", Operation::Delete, 30 * DAY),
        ]))
    }

    pub(crate) fn set_window(&self, number: u32, window_ms: u64) {
        let mut names = self.0.lock();
        names[number as usize].as_mut().unwrap().window_ms = window_ms;
    }

    pub(crate) fn remove(&self, number: u32) {
        self.0.lock()[number as usize] = None;
    }
}

impl SlotNames for Names {
    fn name_of(&self, slot: Slot) -> Option<StoredName> {
        let names = self.0.lock();
        (0..)
            .zip(names.iter())
            .find(|(number, _)| Slot::new(*number) == Some(slot))?
            .1
            .clone()
    }

    fn slot_of(&self, table: &str, operation: Operation, _window_ms: u64) -> Option<Slot> {
        let names = self.0.lock();
        let found = (0..).zip(names.iter()).find(|(_, name)| {
            name.as_ref()
                .is_some_and(|name| &*name.table == table && name.operation == operation)
        })?;
        Slot::new(found.0)
    }
}

/// One machine: what is left of it when the process ends, and what is in the process.
pub(crate) struct World {
    pub(crate) path: PathBuf,
    pub(crate) clock: Clock,
    pub(crate) hand: Hand,
    pub(crate) names: Arc<Names>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) options: Options,
    pub(crate) dir: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let (clock, hand) = Clock::manual();
        Self {
            path: dir.path().join(zonai_limit_sqlite::FILE_NAME),
            clock,
            hand,
            names: Arc::new(Names::new()),
            counters: Arc::new(Counters::new(100_000)),
            options: quick(),
            dir,
        }
    }

    pub(crate) fn open(&self) -> SqliteStore {
        let names = Arc::clone(&self.names);
        for number in CREATE..=LONG {
            let slot = slot(number);
            let window = names
                .name_of(slot)
                .map(|name| Duration::from_millis(name.window_ms));
            self.counters.set_window(slot, window);
        }
        SqliteStore::open(
            &self.path,
            Arc::clone(&self.counters),
            names,
            self.clock.clone(),
            self.options.clone(),
        )
    }

    /// A new process: nothing is left in memory.
    pub(crate) fn restart(&mut self) -> SqliteStore {
        self.counters = Arc::new(Counters::new(100_000));
        self.open()
    }

    /// One request of `client`; whether it is admitted under `max`.
    pub(crate) fn hit(&self, client: Client, number: u32, max: u32) -> bool {
        let slot = slot(number);
        let window = Duration::from_millis(self.names.name_of(slot).unwrap().window_ms);
        let policy = RateLimitPolicy::new(max, window).unwrap();
        let charge = Charge {
            slot,
            policy,
            observe: false,
        };
        matches!(
            self.counters
                .decide(self.clock.now(), client, &[charge], false),
            Outcome::Admitted { .. }
        )
    }

    pub(crate) fn get(&self, client: Client, number: u32) -> Option<CounterState> {
        self.counters.get(key(client, number))
    }

    /// The rows of the file as another program sees them: (client, table, operation, count, window).
    pub(crate) fn rows(&self) -> Vec<(String, String, String, u32, u64)> {
        let conn = self.second();
        let mut statement = conn
            .prepare(
                r#"SELECT client_ip, "table", operation, count, window_ms FROM _rate_limit
                   ORDER BY client_ip, "table", operation"#,
            )
            .unwrap();
        let rows = statement
            .query_map([], |row| {
                let window: i64 = row.get(4)?;
                Ok((
                    row.get(0)?,
                    row.get(1)?,
                    row.get(2)?,
                    row.get(3)?,
                    window.unsigned_abs(),
                ))
            })
            .unwrap();
        rows.map(Result::unwrap).collect()
    }

    /// The stored count of one client, whatever for.
    pub(crate) fn stored(&self, client: Client) -> Option<u32> {
        let client = client.to_string();
        self.rows()
            .into_iter()
            .find(|row| row.0 == client)
            .map(|row| row.3)
    }

    pub(crate) fn second(&self) -> Connection {
        let conn = Connection::open(&self.path).unwrap();
        conn.busy_timeout(Duration::from_secs(5)).unwrap();
        conn
    }
}

/// Options with which tests are quick, and a commit is waited for as long as it takes.
pub(crate) fn quick() -> Options {
    Options {
        commit_timeout: Duration::from_secs(20),
        busy_timeout: Duration::from_millis(5),
        idle_poll: Duration::from_millis(1),
        retry: (Duration::from_millis(1), Duration::from_millis(4)),
        ..Options::default()
    }
}

pub(crate) fn slot(number: u32) -> Slot {
    Slot::new(number).unwrap()
}

pub(crate) fn key(client: Client, number: u32) -> CounterKey {
    CounterKey {
        client,
        slot: slot(number),
        account: 0,
    }
}

/// The client number `n`.
pub(crate) fn client(n: u32) -> Client {
    Client::from_ip(
        Ipv4Addr::from_bits(0x0a00_0000 + n).into(),
        Ipv6Prefix::DEFAULT,
    )
}

pub(crate) fn named(text: &str) -> Client {
    Client::parse(text, Ipv6Prefix::DEFAULT).unwrap()
}

pub(crate) fn of(text: &str) -> Filter {
    Filter::client(named(text))
}

/// Waits for a value, at most about ten seconds.
pub(crate) fn until(what: &str, mut is: impl FnMut() -> bool) {
    for _ in 0..10_000 {
        if is() {
            return;
        }
        park_timeout(Duration::from_millis(1));
    }
    panic!("waited in vain until {what}");
}

pub(crate) fn until_written(store: &SqliteStore) {
    until("everything is written", || store.metrics().backlog == 0);
}

pub(crate) fn until_ok(store: &SqliteStore) {
    until("the file follows again", || store.health() == Health::Ok);
}

pub(crate) fn block<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
        .block_on(future)
}

/// A small generator of repeatable numbers.
pub(crate) struct Seeded(u64);

impl Seeded {
    /// The seed is printed, so that a failure can be repeated by setting `ZONAI_SEED`.
    pub(crate) fn new(fallback: u64) -> Self {
        let seed = std::env::var("ZONAI_SEED")
            .ok()
            .and_then(|seed| seed.parse().ok());
        let seed = seed.unwrap_or(fallback);
        println!("ZONAI_SEED={seed}");
        Self(seed)
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}
