//! `explain` names where the limit is written for every kind of refusal there is.

use serde_json::{Value, json};
use zonai_limit::{RateLimitPolicy, Registration, TableRateLimits};
use zonai_server::Additions;
use zonai_server::explain::Explain;
use zonai_test::{Client, Project, TestServer, target};

use crate::{list, send, use_up_lists};

struct NoteLimits;

impl TableRateLimits for NoteLimits {
    const TABLE: &'static str = "notes";

    async fn limit_policy(&self) -> Option<RateLimitPolicy> {
        Some(RateLimitPolicy::per_minute(2))
    }
}

fn project() -> Project {
    let project = Project::tasks();
    project.file(
        "zonai.yaml",
        "listen: [\"127.0.0.1:0\"]\nrateLimit:\n  shared:\n    unknown: 2/1m\n    admin: 1/1m\nserver: {streamsPerClient: 1}\n\
         app:\n  tables:\n    users: {auth: [password]}\n",
    );
    project.file(
        "lib/src/schemas/002_users.sql",
        "CREATE TABLE users (id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE, password TEXT);\n",
    );
    project.file(
        "lib/src/rate_limit/users.yaml",
        "table: users\nauth:\n  failedSignIn: 2/15m\n  sendResetPassword: 1/1h\n",
    );
    project
}

/// What explain says of a request, which was refused a moment ago.
async fn explain(server: &TestServer, method: &str, path: &str, body: Option<&Value>) -> Value {
    let request = Explain {
        method: method.to_owned(),
        path: path.to_owned(),
        body: body.map(Value::to_string),
        peer: Some([127, 0, 0, 1].into()),
        ..Explain::default()
    };
    server.running.explain(&request).await.unwrap()
}

/// Sends the request until it is refused, and holds against the refusal what explain says of the next.
async fn refused_by(
    server: &TestServer,
    method: &str,
    path: &str,
    body: &Value,
    most: usize,
) -> String {
    let client: Client = server.client();
    for number in 0..=most {
        let reply = send(&client, method, path, body).await;
        if reply.status == 429 {
            assert_eq!(number, most, "{}", reply.text());
            let (path, body) = match method {
                "GET" => (target(path, body), None),
                _ => (path.to_owned(), Some(body)),
            };
            let said = explain(server, method, &path, body).await;
            assert_eq!(said["outcome"], "refuse", "{said}");
            assert_eq!(said["retryAfter"], reply.json()["retryAfter"], "{said}");
            return said["refusedBy"].as_str().unwrap().to_owned();
        }
    }
    panic!("not refused: {method} {path}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_refusal_is_explained_with_its_place() {
    let project = project();
    let mut additions = Additions::default();
    additions.rate_limits.push(Registration::table(NoteLimits));
    let server = TestServer::start_with(&project, additions).await;
    let task = json!({"table": "tasks", "object": {"title": "x"}});
    let sign_in =
        json!({"table": "users", "email": "ann@example.org", "password": "wrong horse battery"});
    for (method, path, body, most, place) in [
        (
            "POST",
            "/db",
            &task,
            10,
            "lib/src/rate_limit/tasks.yaml:3:3",
        ),
        (
            "GET",
            "/db/list",
            &json!({"table": "tasks"}),
            100,
            "default",
        ),
        (
            "GET",
            "/db/list",
            &json!({"table": "notes"}),
            2,
            "NoteLimits",
        ),
        (
            "GET",
            "/db/list",
            &json!({"table": "ghosts"}),
            2,
            "zonai.yaml:4:5",
        ),
        ("GET", "/metrics", &json!({}), 1, "zonai.yaml:5:5"),
        (
            "POST",
            "/auth/reset-password",
            &json!({"table": "users", "email": "a@b.org"}),
            1,
            "lib/src/rate_limit/users.yaml:4:3",
        ),
        (
            "POST",
            "/auth/sign-in",
            &sign_in,
            2,
            "lib/src/rate_limit/users.yaml:3:3",
        ),
    ] {
        let said = refused_by(&server, method, path, body, most).await;
        assert!(said.ends_with(place), "{method} {path} {body}: {said}");
    }
}

/// A place of a stream is a setting, and no window.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_without_a_place_is_explained_with_the_setting() {
    let project = project();
    let server = TestServer::start(&project).await;
    let path = target("/db/stream/list", &json!({"table": "tasks"}));
    let client = server.client();
    let mut first = client.connect().await;
    tokio::io::AsyncWriteExt::write_all(&mut first, &client.request("GET", &path, None))
        .await
        .unwrap();
    let mut one = [0; 1];
    tokio::io::AsyncReadExt::read_exact(&mut first, &mut one)
        .await
        .unwrap();
    assert_eq!(client.send("GET", &path, None).await.status, 429);
    let said = explain(&server, "GET", &path, None).await;
    assert_eq!(
        (&said["outcome"], &said["refusedBy"]),
        (&json!("refuse"), &json!("server.streamsPerClient")),
        "{said}"
    );
    assert_eq!(said["retryAfter"], 5);
}

/// Explaining counts nothing.
#[tokio::test(flavor = "multi_thread")]
async fn explaining_counts_nothing() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let path = target("/db/list", &json!({"table": "notes"}));
    for _ in 0..200 {
        assert_eq!(
            explain(&server, "GET", &path, None).await["outcome"],
            "admit"
        );
    }
    use_up_lists(&server.client(), "notes", 100).await;
    assert_eq!(list(&server.client(), "notes").await.status, 429);
}
