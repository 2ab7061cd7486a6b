//! The routes that mail, through a real mail server on loopback.

use serde_json::{Value, json};
use tokio::task::JoinSet;
use zonai_test::{Arrived, Client, MailServer, Mood, Project, Reply, Seen, TestServer};

use super::{GOOD, look, project_with, session, sign_in, sign_up, sql};

const MINUTE_MS: u64 = 60_000;

struct World {
    mail: MailServer,
    project: Project,
    server: TestServer,
    client: Client,
}

/// A server that mails, and the account of Ada.
async fn world() -> (World, String) {
    let mail = MailServer::start(Mood::Kind).await;
    let project = project_with("", Some(&mail), &[]);
    let server = TestServer::start(&project).await;
    let client = server.client();
    let token = sign_up(&client, "ada@x.org").await;
    (
        World {
            mail,
            project,
            server,
            client,
        },
        token,
    )
}

async fn post(client: &Client, path: &str, body: Value) -> Reply {
    client.json("POST", path, &body).await
}

async fn asked(client: &Client, path: &str, body: Value) {
    let reply = post(client, path, body).await;
    assert_eq!((reply.status, reply.text()), (200, r#"{"data":null}"#));
}

async fn confirm(client: &Client, body: Value) -> Reply {
    post(client, "/auth/confirm", body).await
}

fn code(code: &str) -> Value {
    json!({"type": "verifyOtp", "email": "ada@x.org", "code": code})
}

/// A code is good once and for three tries.
#[tokio::test(flavor = "multi_thread")]
async fn a_code_signs_in_once_and_three_wrong_tries_end_it() {
    let (world, _) = world().await;
    let ask = json!({"type": "sendOtp", "email": " ADA@x.org"});
    asked(&world.client, "/auth", ask.clone()).await;
    let first = world.mail.wait(1).await.remove(0).code();
    let token = session(&confirm(&world.client, code(&first)).await);
    assert_eq!(look(&world.client, &token).await, 200);
    assert_eq!(
        sql::<i64>(&world.project, "SELECT emailVerified FROM users"),
        1
    );
    let again = confirm(&world.client, code(&first)).await;
    assert_eq!(
        (again.status, again.text()),
        (401, r#"{"error":"Invalid or expired code"}"#)
    );

    world.server.hand.advance_ms(MINUTE_MS);
    asked(&world.client, "/auth", ask.clone()).await;
    let second = world.mail.wait(2).await.remove(1).code();
    let number: u32 = second.parse().unwrap();
    for nth in 1..=3 {
        let wrong = format!("{:06}", (number + nth) % 1_000_000);
        assert_eq!(confirm(&world.client, code(&wrong)).await.status, 401);
    }
    assert_eq!(
        confirm(&world.client, code(&second)).await.status,
        401,
        "the right one comes too late"
    );

    world.server.hand.advance_ms(MINUTE_MS);
    asked(&world.client, "/auth", ask).await;
    let third = world.mail.wait(3).await.remove(2).code();
    world.server.hand.advance_ms(10 * MINUTE_MS);
    assert_eq!(
        confirm(&world.client, code(&third)).await.status,
        401,
        "after ten minutes"
    );
}

/// A link signs in once, also in parallel; the one that verifies an address does so once.
#[tokio::test(flavor = "multi_thread")]
async fn links_are_good_once() {
    let (world, _) = world().await;
    asked(
        &world.client,
        "/auth",
        json!({"type": "sendMagicLink", "email": "ada@x.org"}),
    )
    .await;
    let secret = world.mail.wait(1).await.remove(0).secret("secret");
    let link = json!({"type": "verifyMagicLink", "secret": secret});
    let mut uses = JoinSet::new();
    for _ in 0..5 {
        let (client, link) = (world.client.clone(), link.clone());
        uses.spawn(async move { confirm(&client, link).await.status });
    }
    let mut statuses = uses.join_all().await;
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 401, 401, 401, 401]);

    let (hand, client) = (&world.server.hand, &world.client);
    hand.advance_ms(MINUTE_MS);
    asked(client, "/auth/verify-email", json!({"email": "ada@x.org"})).await;
    let token = world.mail.wait(2).await.remove(1).secret("token");
    let as_reset = json!({"type": "confirmResetPassword", "token": token, "newPassword": GOOD});
    assert_eq!(
        confirm(client, as_reset).await.status,
        401,
        "a link of one kind is none of another"
    );
    hand.advance_ms(24 * 60 * MINUTE_MS - 1);
    let verify = json!({"type": "confirmVerifyEmail", "token": token});
    let reply = confirm(client, verify.clone()).await;
    assert_eq!((reply.status, reply.text()), (200, r#"{"data":null}"#));
    assert_eq!(confirm(client, verify).await.status, 401);
}

/// A reset sets the password and ends every session; a new password that is refused does not use the link up.
#[tokio::test(flavor = "multi_thread")]
async fn a_reset_revokes_every_session() {
    let (world, first) = world().await;
    let client = &world.client;
    let second = session(&sign_in(client, "ada@x.org", GOOD).await);
    asked(
        client,
        "/auth/reset-password",
        json!({"email": "ada@x.org"}),
    )
    .await;
    let token = world.mail.wait(1).await.remove(0).secret("token");
    let reset = |password: &str| json!({"type": "confirmResetPassword", "token": token, "newPassword": password});
    for bad in ["short", "", &"x".repeat(2_000)] {
        let reply = confirm(client, reset(bad)).await;
        assert_eq!(reply.status, 400);
        assert!(reply.text().contains("`newPassword`"), "{}", reply.text());
    }
    assert_eq!(
        (look(client, &first).await, look(client, &second).await),
        (200, 200)
    );
    let reply = confirm(client, reset("a new horse battery")).await;
    assert_eq!((reply.status, reply.text()), (200, r#"{"data":null}"#));
    assert_eq!(
        (look(client, &first).await, look(client, &second).await),
        (401, 401)
    );
    assert_eq!(sign_in(client, "ada@x.org", GOOD).await.status, 401);
    session(&sign_in(client, "ada@x.org", "a new horse battery").await);
    assert_eq!(
        confirm(client, reset("another horse battery")).await.status,
        401
    );
}

/// One mail a minute to an address, with 50 requests of every kind from 50 clients at one moment; an
/// address without an account gets the same answer and no mail.
#[tokio::test(flavor = "multi_thread")]
async fn fifty_parallel_requests_are_one_mail_a_minute() {
    let (world, _) = world().await;
    sign_up(&world.client, "bob@x.org").await;
    let sent_to = |mails: &[Arrived], to: &str| mails.iter().filter(|mail| mail.to == [to]).count();
    for round in 1..=2 {
        let mut requests = JoinSet::new();
        for nth in 0..50 {
            let client = world.server.client_at(&format!("127.0.11.{}", nth + 1));
            let email = ["ada@x.org", "ADA@X.org ", "nobody@x.org", "ada@x.org"][nth / 4 % 4];
            requests.spawn(async move {
                let (path, body) = match nth % 4 {
                    0 => ("/auth", json!({"type": "sendOtp", "email": email})),
                    1 => ("/auth", json!({"type": "sendMagicLink", "email": email})),
                    2 => ("/auth/reset-password", json!({"email": email})),
                    _ => ("/auth/verify-email", json!({"email": email})),
                };
                post(&client, path, body).await.shown()
            });
        }
        let answers = requests.join_all().await;
        assert!(
            answers.iter().all(|answer| *answer == answers[0]),
            "{answers:?}"
        );
        assert!(
            answers[0].starts_with("200\n") && answers[0].ends_with(r#"{"data":null}"#),
            "{}",
            answers[0]
        );
        // Wishes are looked up in their order: with Bob's mail those before it are decided, in the same minute.
        asked(
            &world.client,
            "/auth",
            json!({"type": "sendOtp", "email": "bob@x.org"}),
        )
        .await;
        let both = |seen: &Seen| {
            ["ada@x.org", "bob@x.org"]
                .iter()
                .all(|to| sent_to(&seen.mails, to) >= round)
        };
        world.mail.wait_for(both).await;
        world.server.hand.advance_ms(MINUTE_MS);
    }
    // A stop hands over what was asked for, so that nothing is still to come.
    assert!(world.server.running.stop().await);
    let mails = world.mail.seen().mails;
    assert_eq!(
        (
            sent_to(&mails, "ada@x.org"),
            sent_to(&mails, "bob@x.org"),
            mails.len()
        ),
        (2, 2, 4)
    );
}
