//! Short names for what every test needs.

use std::collections::BTreeMap;
use std::future::Future;
use std::net::Ipv4Addr;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use zonai_limit::{
    Accounts, Ask, Bucket, Charge, Client, Counters, CustomNames, Ipv6Prefix, Kind, Known,
    KnownTable, Limit, Limiter, Mode, Moment, Operation, Origin, Outcome, RateLimitPolicy,
    Registration, Slot, TableLimits, Verdict,
};

pub(crate) const START: Moment = Moment::from_millis(1_000_000);

pub(crate) fn policy(max: u32, window_ms: u64) -> RateLimitPolicy {
    RateLimitPolicy::new(max, Duration::from_millis(window_ms)).unwrap()
}

pub(crate) fn charge(slot: u32, max: u32, window_ms: u64) -> Charge {
    Charge {
        slot: Slot::new(slot).unwrap(),
        policy: policy(max, window_ms),
        observe: false,
    }
}

/// The client `10.a.b.c` of a number.
pub(crate) fn v4(number: u32) -> Client {
    Client::from_ip(
        Ipv4Addr::from_bits(0x0a00_0000 + number).into(),
        Ipv6Prefix::DEFAULT,
    )
}

pub(crate) fn client(text: &str) -> Client {
    Client::parse(text, Ipv6Prefix::DEFAULT).unwrap()
}

/// Windows of `get` on `items`.
pub(crate) fn of_get(windows: &[RateLimitPolicy]) -> Vec<Registration> {
    vec![of_table(stated("items", &[(Operation::Get, windows)]))]
}

pub(crate) fn admits(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Admitted { .. })
}

pub(crate) fn refusal(verdict: Verdict) -> zonai_limit::Refusal {
    match verdict {
        Verdict::Refused(refusal) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

/// Runs a future whose only waits are yields.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    for _ in 0..1_000 {
        if let Poll::Ready(value) = future
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            return value;
        }
    }
    panic!("still not ready");
}

/// `items` and `notes`, the auth table `users`, and `open`, whose custom operations are not validated.
pub(crate) fn known() -> Known {
    let table = |name: &str, accounts, custom| KnownTable {
        name: name.to_owned(),
        accounts,
        custom,
    };
    let registered = |names: &[&str]| {
        CustomNames::Registered(names.iter().map(|&name| name.to_owned()).collect())
    };
    Known {
        tables: vec![
            table("items", Accounts::None, registered(&["fill", "drain"])),
            table("notes", Accounts::None, registered(&[])),
            table("users", Accounts::Users, registered(&[])),
            table("open", Accounts::None, CustomNames::Unvalidated),
        ],
    }
}

pub(crate) fn limit(windows: &[RateLimitPolicy]) -> Limit {
    Limit {
        windows: windows.to_vec(),
        mode: Mode::Enforce,
        origin: Origin::Default,
    }
}

pub(crate) fn file(line: u32) -> Origin {
    Origin::File {
        path: "limits.yaml".into(),
        line,
        column: 1,
    }
}

pub(crate) fn stated(table: &str, limits: &[(Operation, &[RateLimitPolicy])]) -> TableLimits {
    TableLimits {
        table: table.to_owned(),
        origin: file(1),
        operations: limits
            .iter()
            .map(|(operation, windows)| (*operation, limit(windows)))
            .collect(),
        custom: BTreeMap::new(),
        mode: Mode::Enforce,
    }
}

pub(crate) fn of_table(limits: TableLimits) -> Registration {
    Registration::stated(Kind::Table, limits)
}

pub(crate) fn of_auth(limits: TableLimits) -> Registration {
    Registration::stated(Kind::Auth, limits)
}

pub(crate) fn limiter(registrations: Vec<Registration>) -> Limiter {
    limiter_with(registrations, Vec::new())
}

pub(crate) fn limiter_with(
    registrations: Vec<Registration>,
    shared: Vec<(Operation, Limit)>,
) -> Limiter {
    Limiter::new(
        Arc::new(Counters::new(10_000)),
        known(),
        registrations,
        shared,
    )
    .unwrap()
    .0
}

pub(crate) fn bucket(limiter: &Limiter, table: &str) -> Bucket {
    Bucket::Table(limiter.table(table).unwrap())
}

/// How many of `tries` requests are admitted.
pub(crate) fn admitted(
    limiter: &Limiter,
    now: Moment,
    client: Client,
    ask: &Ask<'_>,
    tries: u32,
) -> u32 {
    (0..tries)
        .filter(|_| matches!(run(limiter.check(now, client, ask)), Verdict::Admitted(_)))
        .count() as u32
}
