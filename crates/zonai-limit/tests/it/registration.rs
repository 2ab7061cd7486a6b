//! Registering (promise 3.6): a second one fails every check, a wrong one is not taken.

use std::sync::Arc;

use zonai_limit::{
    Accounts, Ask, AuthTableRateLimits, Bucket, Client, Counters, CustomNames, KnownTable, Limiter,
    NotTaken, Operation, RateLimitPolicy, Registration, RegistryFault, Shared, TableRateLimits,
    Verdict,
};

use crate::common::{
    START, admitted, bucket, file, known, limit, limiter, of_auth, of_table, policy, run, stated,
    v4,
};

struct Items;

impl TableRateLimits for Items {
    const TABLE: &'static str = "items";
}

fn misregistered(limiter: &Limiter, ask: &Ask<'_>) -> String {
    match run(limiter.check(START, v4(1), ask)) {
        Verdict::Misregistered(misregistered) => misregistered.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn s3_6_a_second_registration_fails_every_check() {
    let mut second = stated("items", &[]);
    second.origin = file(9);
    let limiter = limiter(vec![of_table(stated("items", &[])), of_table(second)]);
    let text = "Table rate limits already registered for items";
    assert_eq!(
        misregistered(
            &limiter,
            &Ask::new(bucket(&limiter, "items"), &[Operation::Get])
        ),
        text
    );
    assert_eq!(
        misregistered(
            &limiter,
            &Ask::new(bucket(&limiter, "notes"), &[Operation::List])
        ),
        text
    );
    assert_eq!(
        misregistered(
            &limiter,
            &Ask::new(Bucket::Shared(Shared::Unknown), &[Operation::Unknown])
        ),
        text
    );
    let users = limiter.table("users").unwrap();
    let Err(NotTaken::Misregistered(_)) = run(limiter.take_failed_sign_in(START, v4(1), users, 1))
    else {
        panic!()
    };
    let both = limiter.misregistered();
    assert_eq!(
        (both[0].first.to_string(), both[0].second.to_string()),
        ("limits.yaml:1:1".into(), "limits.yaml:9:1".into())
    );
    assert!(limiter.counters().is_empty());
}

#[test]
fn s3_6_code_and_a_file_for_one_table_are_two_and_auth_has_its_own_text() {
    let limiter_code = limiter(vec![
        of_table(stated("items", &[])),
        Registration::table(Items),
    ]);
    let ask = Ask::new(bucket(&limiter_code, "items"), &[Operation::Get]);
    assert_eq!(
        misregistered(&limiter_code, &ask),
        "Table rate limits already registered for items"
    );
    let limiter_auth = limiter(vec![
        of_auth(stated("users", &[])),
        of_auth(stated("users", &[])),
    ]);
    assert_eq!(
        misregistered(&limiter_auth, &ask),
        "Auth table rate limits already registered for users"
    );
    let fine = limiter(vec![
        of_auth(stated("users", &[])),
        of_table(stated("users", &[])),
    ]);
    assert!(fine.misregistered().is_empty());
    assert_eq!(admitted(&fine, START, v4(1), &ask, 101), 100);
}

#[test]
fn s3_6_a_change_can_bring_it_and_take_it_away_and_counts_are_kept() {
    let limiter = limiter(vec![of_table(stated("items", &[]))]);
    let ask = Ask::new(bucket(&limiter, "items"), &[Operation::Get]);
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 60), 60);
    limiter
        .replace(
            zonai_limit::Moment::from_millis(0),
            vec![
                of_table(stated("items", &[])),
                of_table(stated("items", &[])),
            ],
            Vec::new(),
        )
        .unwrap();
    assert_eq!(
        misregistered(&limiter, &ask),
        "Table rate limits already registered for items"
    );
    limiter
        .replace(
            zonai_limit::Moment::from_millis(0),
            vec![of_table(stated("items", &[]))],
            Vec::new(),
        )
        .unwrap();
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 100), 40);
}

fn faults(
    registrations: Vec<Registration>,
    shared: Vec<(Operation, zonai_limit::Limit)>,
) -> Vec<RegistryFault> {
    Limiter::new(Arc::new(Counters::new(10)), known(), registrations, shared).unwrap_err()
}

#[test]
fn s3_6_a_table_that_does_not_exist_is_a_fault_that_tells_those_that_do() {
    let found = faults(vec![of_table(stated("itmes", &[]))], Vec::new());
    let [RegistryFault::UnknownTable { table, known, .. }] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(table, "itmes");
    assert!(known.contains(&"items".to_owned()));
}

#[test]
fn all_faults_are_told_at_once() {
    let mut items = stated("items", &[(Operation::SignIn, &[RateLimitPolicy::DEFAULT])]);
    items
        .operations
        .insert(Operation::Get, limit(&[policy(1, 1_000); 9]));
    items.custom.insert("fil".to_owned(), limit(&[]));
    let mut open = stated("open", &[]);
    open.custom.insert("any".to_owned(), limit(&[]));
    let shared = vec![
        (Operation::Get, limit(&[])),
        (Operation::Admin, limit(&[])),
        (Operation::Admin, limit(&[])),
    ];
    let found = faults(
        vec![
            of_table(items),
            of_auth(stated("notes", &[])),
            of_table(open),
        ],
        shared,
    );
    let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "default: `get` has 9 windows, at most 8 are possible",
            "default: `signIn` cannot be limited here",
            "default: `items` has no custom operation `fil`",
            "limits.yaml:1:1: `notes` is no auth table",
            "default: `open` has no custom operation `any`",
            "default: `get` cannot be limited here",
            "default: `admin` is limited twice",
        ]
    );
}

struct Staff;

impl AuthTableRateLimits for Staff {
    const TABLE: &'static str = "staff";
    const CONSTANT: bool = true;

    async fn sign_in_policy(&self) -> Option<RateLimitPolicy> {
        Some(policy(3, 1_000))
    }

    async fn failed_sign_in_policy(&self) -> Option<RateLimitPolicy> {
        Some(policy(3, 1_000))
    }
}

#[test]
fn s3_3_a_limit_that_admins_would_not_be_held_to_is_a_fault() {
    let mut known = known();
    known.tables.push(KnownTable {
        name: "staff".to_owned(),
        accounts: Accounts::Admins,
        custom: CustomNames::Registered(Vec::new()),
    });
    let make = |registration| {
        let counters = Arc::new(Counters::new(10));
        Limiter::new(counters, known.clone(), vec![registration], Vec::new())
    };
    let window: &[RateLimitPolicy] = &[policy(3, 1_000)];
    let both = stated(
        "staff",
        &[
            (Operation::SignIn, window),
            (Operation::FailedSignIn, window),
        ],
    );
    for registration in [of_auth(both), Registration::auth(Staff)] {
        let found = make(registration).unwrap_err();
        let [RegistryFault::CountedForAdmins { operation, .. }] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(*operation, Operation::SignIn);
    }
    let failed = stated("staff", &[(Operation::FailedSignIn, window)]);
    let (limiter, _) = make(of_auth(failed)).unwrap();
    let effective = run(limiter.effective());
    let of_accounts: Vec<_> = effective
        .iter()
        .filter(|limit| &*limit.collection == "staff")
        .map(|limit| limit.operation)
        .filter(|operation| Operation::AUTH.contains(operation))
        .collect();
    assert_eq!(of_accounts, [Operation::FailedSignIn]);
}

#[test]
fn a_change_with_a_fault_changes_nothing() {
    let limiter = limiter(vec![of_table(stated(
        "items",
        &[(Operation::Get, &[policy(5, 60_000)])],
    ))]);
    let version = limiter.version();
    assert!(
        limiter
            .replace(
                zonai_limit::Moment::from_millis(0),
                vec![of_table(stated("nothing", &[]))],
                Vec::new()
            )
            .is_err()
    );
    assert_eq!(limiter.version(), version);
    let ask = Ask::new(bucket(&limiter, "items"), &[Operation::Get]);
    assert_eq!(admitted(&limiter, START, Client::Local, &ask, 10), 5);
}
