//! With the limiter itself: its names, its durable counters, its changes of policy.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use zonai_limit::{
    Accounts, Admitted, Ask, Bucket, Client, Counters, CustomNames, Kind, Known, KnownTable, Limit,
    Limiter, Mode, Operation, Origin, RateLimitPolicy, Registration, TableLimits, Verdict,
};
use zonai_limit_sqlite::{CommitOutcome, SqliteStore};

use crate::support::{MINUTE, World, block, client, until, until_written};

fn known() -> Known {
    Known {
        tables: vec![KnownTable {
            name: "items".into(),
            accounts: Accounts::None,
            custom: CustomNames::Registered(vec!["archive".into()]),
        }],
    }
}

/// `items` with these windows for `create`: (requests, minutes).
fn limits(create: &[(u32, u64)]) -> Vec<Registration> {
    let windows = create
        .iter()
        .map(|(max, minutes)| {
            RateLimitPolicy::new(*max, Duration::from_secs(60 * minutes)).unwrap()
        })
        .collect();
    let limit = Limit {
        windows,
        mode: Mode::Enforce,
        origin: Origin::Default,
    };
    let limits = TableLimits {
        table: "items".into(),
        origin: Origin::Default,
        operations: BTreeMap::from([(Operation::Create, limit)]),
        custom: BTreeMap::new(),
        mode: Mode::Enforce,
    };
    vec![Registration::stated(Kind::Table, limits)]
}

struct Server {
    limiter: Arc<Limiter>,
    store: SqliteStore,
}

fn start(world: &World, create: &[(u32, u64)]) -> Server {
    let counters = Arc::new(Counters::new(10_000));
    let (limiter, _) =
        Limiter::new(Arc::clone(&counters), known(), limits(create), Vec::new()).unwrap();
    let limiter = Arc::new(limiter);
    let store = SqliteStore::open(
        &world.path,
        counters,
        Arc::clone(&limiter) as Arc<dyn zonai_limit_sqlite::SlotNames>,
        world.clock.clone(),
        world.options.clone(),
    );
    Server { limiter, store }
}

impl Server {
    fn ask(&self, world: &World, client: Client, operation: Operation) -> Option<Admitted> {
        let table = self.limiter.table("items").unwrap();
        let custom = self
            .limiter
            .custom(table, "archive")
            .filter(|_| operation == Operation::Custom);
        let bucket = match operation {
            Operation::Confirm => Bucket::Shared(zonai_limit::Shared::AuthConfirm),
            _ => Bucket::Table(table),
        };
        let operations = [operation];
        let ask = Ask {
            custom,
            ..Ask::new(bucket, &operations)
        };
        match block(self.limiter.check(world.clock.now(), client, &ask)) {
            Verdict::Admitted(admitted) => Some(admitted),
            _ => None,
        }
    }
}

#[test]
fn every_bucket_is_stored_under_its_name_and_counted_after_a_restart() {
    let world = World::new();
    let server = start(&world, &[(1, 1)]);
    assert!(server.ask(&world, client(1), Operation::Create).is_some());
    assert!(server.ask(&world, client(1), Operation::Custom).is_some());
    let confirmed = server.ask(&world, client(1), Operation::Confirm).unwrap();
    assert_eq!(confirmed.durable().len(), 1);
    assert_eq!(
        block(server.store.commit(confirmed.durable())),
        CommitOutcome::Committed
    );
    until_written(&server.store);
    let names: Vec<_> = world.rows().into_iter().map(|row| (row.1, row.2)).collect();
    let name = |table: &str, operation: &str| (table.to_owned(), operation.to_owned());
    assert_eq!(
        names,
        [
            name("__auth_confirm__", "confirm"),
            name("items", "create"),
            name("items:archive", "custom")
        ]
    );
    drop(server);
    let server = start(&world, &[(1, 1)]);
    assert_eq!(server.store.metrics().restored, 3);
    assert!(server.ask(&world, client(1), Operation::Create).is_none());
    assert!(server.ask(&world, client(2), Operation::Create).is_some());
}

#[test]
fn a_change_of_windows_is_followed_on_the_file_before_anybody_counts_again() {
    let world = World::new();
    let server = start(&world, &[(1, 1), (100, 60)]);
    assert!(server.ask(&world, client(1), Operation::Create).is_some());
    until_written(&server.store);
    let changes = server
        .limiter
        .replace(
            zonai_limit::Moment::from_millis(0),
            limits(&[(1, 5), (100, 60)]),
            Vec::new(),
        )
        .unwrap();
    assert_eq!(changes.renamed.len(), 1);
    server.store.policies_changed(&changes);
    until("the row has the new window", || {
        let mut windows: Vec<_> = world.rows().into_iter().map(|row| row.4).collect();
        windows.sort_unstable();
        windows == [5 * MINUTE, 60 * MINUTE]
    });
    drop(server);
    world.hand.advance_ms(2 * MINUTE);
    let server = start(&world, &[(1, 5), (100, 60)]);
    assert!(server.ask(&world, client(1), Operation::Create).is_none());
}

#[test]
fn what_is_not_limited_any_more_goes_and_counting_starts_anew_when_it_is_again() {
    let world = World::new();
    let server = start(&world, &[(1, 1)]);
    assert!(server.ask(&world, client(1), Operation::Create).is_some());
    until_written(&server.store);
    let changes = server
        .limiter
        .replace(zonai_limit::Moment::from_millis(0), limits(&[]), Vec::new())
        .unwrap();
    assert_eq!(changes.retired.len(), 1);
    server.store.policies_changed(&changes);
    until("the row goes", || world.rows().is_empty());
    drop(server);
    let server = start(&world, &[(1, 1)]);
    assert!(server.ask(&world, client(1), Operation::Create).is_some());
}
