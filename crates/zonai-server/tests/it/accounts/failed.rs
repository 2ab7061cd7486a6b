//! Failed sign-ins: per client and account, whether or not there is such an account.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use tokio::task::JoinSet;
use zonai_clock::Hand;
use zonai_limit::{AuthTableRateLimits, RateLimitPolicy, Registration};
use zonai_server::Additions;
use zonai_test::TestServer;

use super::{BAD, GOOD, door, project, project_with, refusal, refused, sign_in, sign_up};

const WINDOW_MS: u64 = 15 * 60_000;

/// Promise 3.5: by default the 11th bad guess is refused, at every door and in every spelling of the
/// address; the owner elsewhere, and other accounts from here, are served.
#[tokio::test(flavor = "multi_thread")]
async fn the_11th_bad_guess_is_refused_and_the_owner_elsewhere_signs_in() {
    let project = project(&[]);
    let server = TestServer::start(&project).await;
    let (owner, guesser) = (server.client_at("127.0.5.1"), server.client_at("127.0.5.2"));
    sign_up(&owner, "ada@x.org").await;
    sign_up(&owner, "bob@x.org").await;
    for nth in 0..10 {
        let (path, body) = door(
            nth,
            if nth % 2 == 0 {
                "ada@x.org"
            } else {
                " ADA@x.ORG\n"
            },
            BAD,
        );
        assert_eq!(
            guesser.json("POST", path, &body).await.status,
            401,
            "guess {nth}"
        );
    }
    for nth in 0..4 {
        // The right one is refused, too: nothing is hashed any more.
        let (path, body) = door(nth, "Ada@x.org", if nth % 2 == 0 { BAD } else { GOOD });
        let reply = guesser.json("POST", path, &body).await;
        assert_eq!(
            refusal(&reply),
            refused("users", "failedSignIn", 10, 900),
            "{path}"
        );
    }
    assert_eq!(
        sign_in(&guesser, "bob@x.org", GOOD).await.status,
        200,
        "another account"
    );
    assert_eq!(
        sign_in(&owner, "ada@x.org", GOOD).await.status,
        200,
        "the owner elsewhere"
    );
    server.hand.advance_ms(WINDOW_MS - 1);
    assert_eq!(sign_in(&guesser, "ada@x.org", GOOD).await.status, 429);
    server.hand.advance_ms(1);
    assert_eq!(sign_in(&guesser, "ada@x.org", GOOD).await.status, 200);
}

/// Nothing in the answers tells whether there is an account, before and after the limit.
#[tokio::test(flavor = "multi_thread")]
async fn known_and_invented_accounts_get_the_same_answers() {
    let project = project(&["failedSignIn: 2/15m"]);
    let server = TestServer::start(&project).await;
    let client = server.client();
    sign_up(&client, "ada@x.org").await;
    for nth in 0..4 {
        let known = sign_in(&client, "ada@x.org", BAD).await;
        let invented = sign_in(&client, "eve@x.org", BAD).await;
        assert_eq!(known.status, if nth < 2 { 401 } else { 429 });
        assert_eq!(known.shown(), invented.shown());
    }
}

/// A place is taken before the hash: of many guesses at one moment exactly the limit is tried.
#[tokio::test(flavor = "multi_thread")]
async fn of_parallel_guesses_exactly_the_limit_is_tried() {
    let project = project(&["failedSignIn: 3/15m"]);
    let server = TestServer::start(&project).await;
    let mut guesses = JoinSet::new();
    for nth in 0..40 {
        let client = server.client();
        let (path, body) = door(nth - nth % 2, "ada@x.org", BAD);
        // Only an account that is there is a sign-in at the door of sign-ups.
        let path = if path == "/auth/sign-up" {
            "/auth/sign-in"
        } else {
            path
        };
        guesses.spawn(async move { client.json("POST", path, &body).await.status });
    }
    let statuses = guesses.join_all().await;
    let count = |status| statuses.iter().filter(|&&s| s == status).count();
    assert_eq!((count(401), count(429)), (3, 37), "{statuses:?}");
}

/// Promise 3.5: neither `exempt` nor `mode: observe` switches it off.
#[tokio::test(flavor = "multi_thread")]
async fn neither_exempt_nor_observe_switches_it_off() {
    let project = project_with("rateLimit: {exempt: [127.0.0.0/8]}\n", None, &[]);
    let limits = "table: users\nmode: observe\nauth:\n  signIn: 1/1h\n  failedSignIn: 2/15m\n";
    project.file("lib/src/rate_limit/users.yaml", limits);
    let server = TestServer::start(&project).await;
    for _ in 0..2 {
        assert_eq!(
            sign_in(&server.client(), "ada@x.org", BAD).await.status,
            401,
            "signIn is only observed"
        );
    }
    let reply = sign_in(&server.client(), "ada@x.org", BAD).await;
    assert_eq!(refusal(&reply), refused("users", "failedSignIn", 2, 900));
}

/// promises 2.2 and 2.4: what `failedSignIn` refuses is counted in none of the counters that had let it pass.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_refused_as_a_failed_sign_in_is_not_counted_as_a_sign_in() {
    let limits = [
        "signIn: 3/1h",
        "signUp: 2/1h",
        "authenticate: 4/1h",
        "failedSignIn: 1/15m",
    ];
    let project = project(&limits);
    let server = TestServer::start(&project).await;
    let client = server.client();
    assert_eq!(sign_in(&client, "ada@x.org", BAD).await.status, 401);
    for nth in 0..12 {
        let (path, body) = door(nth, "ada@x.org", BAD);
        let reply = client.json("POST", path, &body).await;
        assert_eq!(refusal(&reply), refused("users", "failedSignIn", 1, 900));
    }
    // The counts have been on disk before the refusals.
    let server = server.restart(&project).await;
    let client = server.client();
    for account in ["bob@x.org", "eve@x.org"] {
        assert_eq!(sign_in(&client, account, BAD).await.status, 401);
    }
    let reply = sign_in(&client, "mia@x.org", BAD).await;
    assert_eq!(refusal(&reply), refused("users", "signIn", 3, 3_600));
}

/// Limits in code, the first of which takes its time over a decision.
#[derive(Clone, Default)]
struct Slow {
    hand: Arc<OnceLock<Hand>>,
    ms: Arc<AtomicU64>,
}

impl AuthTableRateLimits for Slow {
    const TABLE: &'static str = "users";

    async fn sign_in_policy(&self) -> Option<RateLimitPolicy> {
        tokio::task::yield_now().await;
        if let Some(hand) = self.hand.get() {
            hand.advance_ms(self.ms.load(Ordering::Relaxed));
        }
        Some(RateLimitPolicy::per_minute(2))
    }

    async fn failed_sign_in_policy(&self) -> Option<RateLimitPolicy> {
        Some(RateLimitPolicy::per_minute(1))
    }
}

/// promises 4.1: the seconds are counted from the refusal, whatever was waited for before it.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_after_a_wait_names_the_time_that_is_left() {
    let (project, slow) = (project(&[]), Slow::default());
    let mut additions = Additions::default();
    additions.rate_limits.push(Registration::auth(slow.clone()));
    let server = TestServer::start_with(&project, additions).await;
    let client = server.client();
    assert!(slow.hand.set(server.hand.clone()).is_ok());
    assert_eq!(sign_in(&client, "ada@x.org", BAD).await.status, 401);
    slow.ms.store(10_000, Ordering::Relaxed);
    let reply = sign_in(&client, "ada@x.org", BAD).await;
    assert_eq!(refusal(&reply), refused("users", "failedSignIn", 1, 50));
    assert_eq!(sign_in(&client, "bob@x.org", BAD).await.status, 401);
    let reply = sign_in(&client, "bob@x.org", BAD).await;
    assert_eq!(refusal(&reply), refused("users", "signIn", 2, 30));
}
