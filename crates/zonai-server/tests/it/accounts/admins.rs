//! Admins sign in, in a bucket of their own that nothing widens.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use zonai_test::TestServer;

use super::{
    BAD, GOOD, also_staff, look, project, project_with, refusal, refused, session, sign_up,
};

/// An admin signs in at `/auth/admin` and with `table` at the other doors; no door opens another table.
#[tokio::test(flavor = "multi_thread")]
async fn an_admin_signs_in_and_is_one() {
    let project = project(&[]);
    let server = TestServer::start(&project).await;
    let client = server.client();
    let user = sign_up(&server.client_at("127.0.9.1"), "ada@x.org").await;
    also_staff(&project, "ada@x.org");
    let right = json!({"type": "adminSignIn", "email": "ada@x.org", "password": GOOD});
    let admin = session(&client.json("POST", "/auth/admin", &right).await);
    let metrics = |token: &str| {
        let client = client.with("authorization", &format!("Bearer {token}"));
        async move { client.send("GET", "/metrics", None).await.status }
    };
    assert_eq!(metrics(&admin).await, 200);
    assert_eq!(
        metrics(&user).await,
        403,
        "the same person as a user is none"
    );
    let right = json!({"table": "staff", "email": "ada@x.org", "password": GOOD});
    session(&client.json("POST", "/auth/sign-in", &right).await);
    let sign_up = json!({"table": "staff", "email": "eve@x.org", "password": GOOD});
    assert_eq!(
        client.json("POST", "/auth/sign-up", &sign_up).await.status,
        403,
        "sign-up is closed"
    );
    assert_eq!(look(&client, &admin).await, 200);
}

/// What is read now and what is counted are one text in one format, and a figure that only rises is a counter.
#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_in_the_format_that_they_say() {
    let project = project(&[]);
    let server = TestServer::start(&project).await;
    sign_up(&server.client_at("127.0.9.1"), "ada@x.org").await;
    also_staff(&project, "ada@x.org");
    let right = json!({"type": "adminSignIn", "email": "ada@x.org", "password": GOOD});
    let admin = session(&server.client().json("POST", "/auth/admin", &right).await);
    let client = server
        .client()
        .with("authorization", &format!("Bearer {admin}"));
    let reply = client.send("GET", "/metrics", None).await;
    assert_eq!(
        reply.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    let text = reply.text();
    assert!(text.ends_with("\n# EOF\n"), "{text}");
    let mut kinds = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for line in text.lines() {
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').unwrap();
            assert!(kinds.insert(name, kind).is_none(), "{name} stands twice");
        } else if !line.starts_with('#') {
            let name = line.split([' ', '{']).next().unwrap();
            let family = name.strip_suffix("_total").unwrap_or(name);
            let kind = if family == name { "gauge" } else { "counter" };
            assert_eq!(kinds.get(family), Some(&kind), "{line}");
            seen.insert(name);
        }
    }
    for name in [
        "zonai_connections",
        "zonai_crowded_total",
        "zonai_counter_faults_total",
        "zonai_counter_commit_timeouts_total",
        "zonai_sql_jobs_total",
        "zonai_rules_asked_total",
        "zonai_answers_total",
        "zonai_policy_version",
    ] {
        assert!(seen.contains(name), "{name}: {text}");
    }
}

/// The admin bucket is no second budget for the secrets of other tables.
#[tokio::test(flavor = "multi_thread")]
async fn users_cannot_be_guessed_or_mailed_through_the_admin_bucket() {
    let project = project(&["signIn: 1/1h"]);
    let server = TestServer::start(&project).await;
    let client = server.client();
    sign_up(&client, "ada@x.org").await;
    let by = |kind: &str| json!({"table": "users", "type": kind, "email": "ada@x.org", "password": GOOD});
    let tries = [
        ("/auth/admin", by("adminSignIn"), 404),
        ("/auth/admin", by("adminSendOtp"), 404),
        ("/auth/admin", by("adminSendMagicLink"), 404),
        ("/auth/sign-in", by("adminSignIn"), 400),
        ("/auth/sign-up", by("admin"), 400),
        ("/auth/reset-password", by("admin"), 400),
        ("/auth/verify-email", by("admin"), 400),
        ("/auth", by("adminSignIn"), 400),
    ];
    for (path, body, status) in tries {
        let reply = client.json("POST", path, &body).await;
        assert_eq!(reply.status, status, "{path} {body}: {}", reply.text());
    }
}

/// Promises 3.4 and 5.7: all doors for admins share 10 in 15 minutes, and `exempt` does not help.
#[tokio::test(flavor = "multi_thread")]
async fn anything_for_an_admin_counts_in_one_bucket_and_exempt_does_not_help() {
    let project = project_with(
        "rateLimit: {exempt: [127.0.0.0/8]}\n",
        None,
        &["signIn: 5/1m"],
    );
    let server = TestServer::start(&project).await;
    let client = server.client();
    let doors = [
        ("/auth/admin", json!({"type": "adminSignIn"})),
        ("/auth/sign-in", json!({"table": "staff"})),
        ("/auth", json!({"type": "adminSignIn"})),
        ("/auth", json!({"type": "sendOtp", "table": "staff"})),
        ("/auth/reset-password", json!({"table": "staff"})),
        ("/auth/confirm", json!({"table": "staff"})),
        ("/auth/sign-up", json!({"type": "adminSignUp"})),
    ];
    for (path, body) in doors.iter().cycle().take(10) {
        let reply = client.json("POST", path, body).await;
        assert_eq!(reply.status, 400, "{path} {body}: {}", reply.text());
    }
    for (path, body) in &doors {
        let reply = client.json("POST", path, body).await;
        assert_eq!(
            refusal(&reply),
            refused("__admin_auth__", "adminAuthenticate", 10, 900),
            "{path} {body}"
        );
    }
    for _ in 0..8 {
        let reply = client.json("POST", "/auth/sign-in", &json!({})).await;
        assert_eq!(
            reply.status, 400,
            "for everything else the client is exempt"
        );
    }
    server.hand.advance_ms(900_000);
    assert_eq!(
        client.json("POST", doors[0].0, &doors[0].1).await.status,
        400
    );
}

/// Guessing an admin's password fails per client and account as well, and a full admin bucket is refused without its body.
#[tokio::test(flavor = "multi_thread")]
async fn an_admin_is_refused_as_soon_as_the_route_is_known() {
    let project = project_with(
        "rateLimit: {shared: {adminAuthenticate: 2/15m}}\n",
        None,
        &[],
    );
    let server = TestServer::start(&project).await;
    let client = server.client();
    let wrong = json!({"type": "adminSignIn", "email": "ada@x.org", "password": BAD});
    for _ in 0..2 {
        let reply = client.json("POST", "/auth/admin", &wrong).await;
        assert_eq!(
            (reply.status, reply.text()),
            (401, r#"{"error":"Invalid email or password"}"#)
        );
    }
    let mut stream = client.connect().await;
    let head = b"POST /auth/admin HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n{";
    tokio::io::AsyncWriteExt::write_all(&mut stream, head)
        .await
        .unwrap();
    let reply = zonai_test::read_reply(&mut stream, false).await;
    assert_eq!(
        refusal(&reply),
        refused("__admin_auth__", "adminAuthenticate", 2, 900)
    );
}
