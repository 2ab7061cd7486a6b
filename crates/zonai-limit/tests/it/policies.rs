//! Policies and where they come from (promises 3.1 to 3.3, 3.7, 3.8 and 6.1).

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use zonai_limit::{
    Ask, AuthTableRateLimits, Bucket, CustomBucket, Operation, Origin, PolicyError,
    RateLimitPolicy, Registration, Shared, TableRateLimits, Verdict,
};

use crate::common::{
    START, admitted, bucket, limit, limiter, limiter_with, of_table, policy, refusal, run, stated,
    v4,
};

#[test]
fn s3_1_invalid_policies_cannot_be_built() {
    let day = Duration::from_secs(86_400);
    assert_eq!(
        RateLimitPolicy::new(1, Duration::ZERO),
        Err(PolicyError::WindowTooShort)
    );
    assert_eq!(
        RateLimitPolicy::new(1, Duration::from_micros(1_500)),
        Err(PolicyError::WindowNotWhole)
    );
    assert_eq!(
        RateLimitPolicy::new(1, day * 366 + Duration::from_millis(1)),
        Err(PolicyError::WindowTooLong)
    );
    assert!(RateLimitPolicy::new(1, day * 366).is_ok());
    assert!(RateLimitPolicy::new(0, Duration::from_millis(1)).is_ok());
}

#[test]
fn s3_1_none_disables_limiting_and_counts_nothing() {
    let limiter = limiter(vec![of_table(stated("items", &[(Operation::Get, &[])]))]);
    let ask = Ask::new(bucket(&limiter, "items"), &[Operation::Get]);
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 1_000), 1_000);
    assert!(limiter.counters().is_empty());
}

struct Tasks {
    asked: Arc<AtomicU32>,
}

impl TableRateLimits for Tasks {
    const TABLE: &'static str = "items";

    async fn create_policy(&self) -> Option<RateLimitPolicy> {
        Later(2).await;
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        Some(RateLimitPolicy::per_minute(if asked < 5 { 10 } else { 3 }))
    }

    async fn delete_policy(&self) -> Option<RateLimitPolicy> {
        None
    }

    async fn custom_policy(&self, operation: Option<&str>) -> Option<RateLimitPolicy> {
        Some(RateLimitPolicy::per_minute(if operation == Some("fill") {
            2
        } else {
            7
        }))
    }
}

/// Does work for some polls.
struct Later(u32);

impl Future for Later {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        self.0 = self.0.saturating_sub(1);
        if self.0 == 0 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

#[test]
fn s3_2_methods_answer_for_their_operation_and_default_where_left_out() {
    let asked = Arc::new(AtomicU32::new(0));
    let limiter = limiter(vec![Registration::table(Tasks {
        asked: Arc::clone(&asked),
    })]);
    let items = bucket(&limiter, "items");
    assert_eq!(
        admitted(
            &limiter,
            START,
            v4(1),
            &Ask::new(items, &[Operation::Get]),
            150
        ),
        100
    );
    assert_eq!(
        admitted(
            &limiter,
            START,
            v4(1),
            &Ask::new(items, &[Operation::Delete]),
            150
        ),
        150
    );
    // Asked each time: the sixth answer lowers the limit, which then binds.
    assert_eq!(
        admitted(
            &limiter,
            START,
            v4(1),
            &Ask::new(items, &[Operation::Create]),
            20
        ),
        5
    );
    assert_eq!(asked.load(Ordering::Relaxed), 20);
    let custom = |name| {
        let table = limiter.table("items").unwrap();
        Ask {
            custom: limiter.custom(table, name),
            ..Ask::new(items, &[Operation::Custom])
        }
    };
    assert_eq!(admitted(&limiter, START, v4(1), &custom("fill"), 20), 2);
    assert_eq!(admitted(&limiter, START, v4(1), &custom("drain"), 20), 7);
    assert_eq!(
        admitted(
            &limiter,
            START,
            v4(1),
            &Ask::new(bucket(&limiter, "notes"), &[Operation::Create]),
            150
        ),
        100
    );
}

struct Fixed {
    asked: Arc<AtomicU32>,
}

impl TableRateLimits for Fixed {
    const TABLE: &'static str = "items";
    const CONSTANT: bool = true;

    async fn get_policy(&self) -> Option<RateLimitPolicy> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Some(RateLimitPolicy::per_minute(4))
    }
}

#[test]
fn s3_8_a_policy_that_never_changes_is_asked_once() {
    let asked = Arc::new(AtomicU32::new(0));
    let limiter = limiter(vec![Registration::table(Fixed {
        asked: Arc::clone(&asked),
    })]);
    let ask = Ask::new(bucket(&limiter, "items"), &[Operation::Get]);
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 20), 4);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
}

#[test]
fn s3_8_while_a_policy_is_asked_others_are_decided() {
    let asked = Arc::new(AtomicU32::new(0));
    let limiter = limiter(vec![Registration::table(Tasks { asked })]);
    let items = bucket(&limiter, "items");
    let create = Ask::new(items, &[Operation::Create]);
    let mut waiting = Box::pin(limiter.check(START, v4(1), &create));
    let mut context = Context::from_waker(std::task::Waker::noop());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    assert_eq!(
        admitted(
            &limiter,
            START,
            v4(1),
            &Ask::new(items, &[Operation::Get]),
            1
        ),
        1
    );
    limiter
        .replace(zonai_limit::Moment::from_millis(0), Vec::new(), Vec::new())
        .unwrap();
    assert!(matches!(run(waiting), Verdict::Admitted(_)));
}

struct Users;

impl AuthTableRateLimits for Users {
    const TABLE: &'static str = "users";
    const CONSTANT: bool = true;

    async fn sign_in_policy(&self) -> Option<RateLimitPolicy> {
        Some(policy(2, 60_000))
    }
}

#[test]
fn s3_3_auth_limits_cover_the_auth_routes_only() {
    let db = stated("users", &[(Operation::Get, &[policy(7, 60_000)])]);
    let limiter = limiter(vec![Registration::auth(Users), of_table(db)]);
    let users = bucket(&limiter, "users");
    for (operation, expected) in [
        (Operation::SignIn, 2),
        (Operation::SignUp, 100),
        (Operation::Authenticate, 100),
        (Operation::SendOtp, 5),
        (Operation::SendMagicLink, 5),
        (Operation::SendResetPassword, 5),
        (Operation::SendVerifyEmail, 5),
        (Operation::Get, 7),
        (Operation::Create, 100),
    ] {
        let operations = [operation];
        let ask = Ask::new(users, &operations);
        assert_eq!(
            admitted(&limiter, START, v4(1), &ask, 150),
            expected,
            "{}",
            operation.name()
        );
    }
    let origins = run(limiter.effective());
    let sign_in = origins
        .iter()
        .find(|limit| limit.operation == Operation::SignIn)
        .unwrap();
    let Origin::Code { type_name } = &sign_in.origin else {
        panic!("{:?}", sign_in.origin)
    };
    assert!(type_name.ends_with("Users"), "{type_name}");
}

#[test]
fn s3_3_the_windows_of_the_defaults() {
    let quarter = 15 * 60_000;
    for (operation, max, window_ms) in [
        (Operation::Get, 100, 60_000),
        (Operation::SignIn, 100, 60_000),
        (Operation::FailedSignIn, 10, quarter),
        (Operation::SendOtp, 5, quarter),
        (Operation::SendMagicLink, 5, quarter),
        (Operation::SendResetPassword, 5, 3_600_000),
        (Operation::SendVerifyEmail, 5, 3_600_000),
        (Operation::AdminAuthenticate, 10, quarter),
        (Operation::Unknown, 100, 60_000),
        (Operation::Admin, 600, 60_000),
    ] {
        assert_eq!(
            operation.default_policy(),
            policy(max, window_ms),
            "{}",
            operation.name()
        );
    }
}

#[test]
fn s3_7_only_registered_custom_operations_are_buckets() {
    let mut limits = stated("items", &[(Operation::Custom, &[policy(6, 60_000)])]);
    limits
        .custom
        .insert("fill".to_owned(), limit(&[policy(2, 60_000)]));
    let limiter = limiter(vec![of_table(limits)]);
    let table = limiter.table("items").unwrap();
    assert_eq!(
        limiter.custom_bucket(table, "invented"),
        CustomBucket::Unknown
    );
    assert_eq!(limiter.custom_bucket(table, "Fill"), CustomBucket::Unknown);
    for (name, expected) in [("fill", 2), ("drain", 6)] {
        let CustomBucket::Registered(custom) = limiter.custom_bucket(table, name) else {
            panic!("{name}")
        };
        let ask = Ask {
            custom: Some(custom),
            ..Ask::new(Bucket::Table(table), &[Operation::Custom])
        };
        assert_eq!(
            admitted(&limiter, START, v4(1), &ask, 20),
            expected,
            "{name}"
        );
        assert_eq!(
            refusal(run(limiter.check(START, v4(1), &ask)))
                .custom
                .as_deref(),
            Some(name)
        );
    }
}

#[test]
fn s3_7_where_names_are_not_validated_all_share_one_counter() {
    let limiter = limiter(vec![of_table(stated(
        "open",
        &[(Operation::Custom, &[policy(3, 60_000)])],
    ))]);
    let table = limiter.table("open").unwrap();
    assert_eq!(
        limiter.custom_bucket(table, "anything"),
        CustomBucket::Unvalidated
    );
    let ask = Ask::new(Bucket::Table(table), &[Operation::Custom]);
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 20), 3);
    assert_eq!(refusal(run(limiter.check(START, v4(1), &ask))).custom, None);
}

#[test]
fn s6_shared_buckets_have_their_defaults_and_can_be_set() {
    let limiter = limiter_with(
        Vec::new(),
        vec![(Operation::Logout, limit(&[policy(4, 60_000)]))],
    );
    for (shared, operation, name, expected) in [
        (
            Shared::AuthConfirm,
            Operation::Confirm,
            "__auth_confirm__",
            100,
        ),
        (
            Shared::AuthHeader,
            Operation::RefreshToken,
            "__auth_header__",
            100,
        ),
        (Shared::AuthHeader, Operation::Logout, "__auth_header__", 4),
        (
            Shared::AuthHeader,
            Operation::LogoutAll,
            "__auth_header__",
            100,
        ),
        (
            Shared::AdminAuth,
            Operation::AdminAuthenticate,
            "__admin_auth__",
            10,
        ),
        (Shared::Unknown, Operation::Unknown, "__unknown__", 100),
        (Shared::Admin, Operation::Admin, "__admin__", 600),
    ] {
        let operations = [operation];
        let ask = Ask::new(Bucket::Shared(shared), &operations);
        assert_eq!(
            admitted(&limiter, START, v4(1), &ask, 700),
            expected,
            "{}",
            operation.name()
        );
        let refusal = refusal(run(limiter.check(START, v4(1), &ask)));
        assert_eq!((&*refusal.collection, refusal.operation), (name, operation));
    }
}

#[test]
fn how_a_client_stands_is_told_for_the_tightest_counter() {
    let windows = [policy(10, 1_000), policy(4, 60_000)];
    let limiter = limiter(vec![of_table(stated(
        "items",
        &[(Operation::Get, &windows), (Operation::List, &[])],
    ))]);
    let items = bucket(&limiter, "items");
    let ask = Ask::new(items, &[Operation::Get]);
    assert_eq!(admitted(&limiter, START, v4(1), &ask, 1), 1);
    let standing = run(limiter.standing(START, v4(1), &ask)).unwrap();
    assert_eq!(
        (standing.policy, standing.remaining, standing.reset),
        (windows[1], 3, START.plus(60_000))
    );
    assert_eq!(
        run(limiter.standing(START, v4(1), &Ask::new(items, &[Operation::List]))),
        None
    );
}
