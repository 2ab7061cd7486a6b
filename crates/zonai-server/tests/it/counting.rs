//! What counts, and in which counter.

use serde_json::json;
use zonai_test::{Project, TestServer, target};

use crate::{DEFAULT, list, use_up_lists};

/// Policy files: `create` at 10 refuses the 11th, and reads go on.
#[tokio::test(flavor = "multi_thread")]
async fn a_policy_file_limits_its_operation_only() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let task = json!({"table": "tasks", "object": {"title": "water the plants"}});
    for _ in 0..10 {
        assert_eq!(client.json("POST", "/db", &task).await.status, 200);
    }
    let refused = client.json("POST", "/db", &task).await;
    assert_eq!(
        (refused.status, refused.header("x-ratelimit-limit")),
        (429, Some("10"))
    );
    let read = list(&client, "tasks").await;
    assert_eq!(
        (read.status, read.json()["data"]["total"].clone()),
        (200, json!(10))
    );
}

/// Cases 1 and 4: forged headers make no new client, and none that is exempt.
#[tokio::test(flavor = "multi_thread")]
async fn forged_headers_gain_nothing() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    for number in 0..DEFAULT + 50 {
        let forged = format!("198.51.100.{number}");
        let client = server
            .client()
            .with(
                "x-forwarded-for",
                if number % 2 == 0 {
                    "127.0.0.1"
                } else {
                    &forged
                },
            )
            .with("x-real-ip", &forged)
            .with("forwarded", &format!("for={forged}"))
            .with("cf-connecting-ip", &forged)
            .with("true-client-ip", &forged)
            .with("host", &format!("host{number}.example"));
        let status = list(&client, "notes").await.status;
        assert_eq!(
            status,
            if number < DEFAULT { 200 } else { 429 },
            "request {number}"
        );
    }
}

/// Names that do not exist share one counter, and so do unknown routes and broken payloads.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_unknown_shares_one_counter() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let kinds = DEFAULT / 10;
    for number in 0..kinds {
        let table = format!("ghost{number}");
        assert_eq!(list(&client, &table).await.status, 404);
        assert_eq!(
            client
                .send("GET", &format!("/ghost/{number}"), None)
                .await
                .status,
            404
        );
        assert_eq!(client.send("PUT", "/db", None).await.status, 405);
        assert_eq!(
            client
                .send("GET", "/db/list?body=%7Bbroken", None)
                .await
                .status,
            400
        );
        assert_eq!(client.send("GET", "/db/list", None).await.status, 400);
        assert_eq!(
            client
                .json("POST", "/db", &json!({"object": {}}))
                .await
                .status,
            400
        );
        assert_eq!(
            client
                .json("POST", "/db", &json!({"table": 7}))
                .await
                .status,
            400
        );
        assert_eq!(
            list(&client, "NOTES").await.status,
            404,
            "another letter case is another name"
        );
        assert_eq!(
            client
                .send("GET", "/DB/list?body=%7B%22table%22%3A%22notes%22%7D", None)
                .await
                .status,
            404
        );
        assert_eq!(
            client
                .json("PATCH", "/db/custom/ghost", &json!({"table": "notes"}))
                .await
                .status,
            404
        );
    }
    let refused = list(&client, "another").await;
    let body = "{\"error\":\"Rate limit exceeded\",\"collection\":\"__unknown__\",\"operation\":\"unknown\",\"retryAfter\":60}";
    assert_eq!((refused.status, refused.text()), (429, body));
    assert_eq!(
        list(&client, "notes").await.status,
        200,
        "a real table has a counter of its own"
    );
}

/// HEAD counts as its GET, once.
#[tokio::test(flavor = "multi_thread")]
async fn head_counts_as_its_get() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let target = target("/db/list", &json!({"table": "notes"}));
    for _ in 0..DEFAULT / 2 {
        let head = client.send("HEAD", &target, None).await;
        assert_eq!((head.status, head.body.len()), (200, 0));
        assert_eq!(client.send("GET", &target, None).await.status, 200);
    }
    assert_eq!(client.send("HEAD", &target, None).await.status, 429);
    assert_eq!(client.send("GET", &target, None).await.status, 429);
}

/// Cases 23 and 32: preflights and `/health` are free.
#[tokio::test(flavor = "multi_thread")]
async fn preflights_and_health_are_free() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let preflight = server
        .client()
        .with("origin", "http://localhost:3000")
        .with("access-control-request-method", "POST")
        .with("access-control-request-headers", "content-type");
    for _ in 0..500 {
        let reply = preflight.send("OPTIONS", "/db", None).await;
        assert_eq!(reply.status, 204);
        assert_eq!(
            reply.header("access-control-allow-origin"),
            Some("http://localhost:3000")
        );
    }
    let client = server.client();
    for _ in 0..1_000 {
        assert_eq!(client.send("GET", "/health", None).await.status, 200);
    }
    use_up_lists(&client, "notes", DEFAULT).await;
    assert_eq!(list(&client, "notes").await.status, 429);
}

/// Requests that fail later were counted.
#[tokio::test(flavor = "multi_thread")]
async fn requests_that_fail_later_were_counted() {
    let project = Project::tasks();
    project.file(
        "lib/src/schemas/002_more.sql",
        "CREATE TABLE unique_things (id TEXT PRIMARY KEY, name TEXT UNIQUE);\nCREATE TABLE closed (id TEXT PRIMARY KEY);\n",
    );
    project.open_to_all("unique_things");
    let server = TestServer::start(&project).await;
    let client = server.client();
    let thing = json!({"table": "unique_things", "object": {"name": "one"}});
    assert_eq!(client.json("POST", "/db", &thing).await.status, 200);
    for _ in 0..49 {
        assert_eq!(client.json("POST", "/db", &thing).await.status, 409);
    }
    for _ in 0..48 {
        let wrong = json!({"table": "unique_things", "object": {"nmae": "x"}});
        assert_eq!(client.json("POST", "/db", &wrong).await.status, 400);
    }
    let mut large = br#"{"table":"unique_things","object":{"name":""#.to_vec();
    large.resize((1 << 20) + 10, b'x');
    assert_eq!(client.send("POST", "/db", Some(&large)).await.status, 413);
    assert_eq!(
        client
            .with("content-type", "text/plain")
            .json("POST", "/db", &thing)
            .await
            .status,
        415
    );
    assert_eq!(client.json("POST", "/db", &thing).await.status, 429);

    for _ in 0..DEFAULT {
        assert_eq!(list(&client, "closed").await.status, 403);
    }
    assert_eq!(list(&client, "closed").await.status, 429);
    for _ in 0..DEFAULT {
        let get = json!({"table": "unique_things", "where": {"id": {"eq": "none"}}});
        assert_eq!(client.get("/db", &get).await.status, 404);
    }
    assert_eq!(list(&client, "unique_things").await.status, 200);
}

/// Promise 1.6: `table` named twice counts on the first and is 400.
#[tokio::test(flavor = "multi_thread")]
async fn a_table_named_twice_counts_on_the_first() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let twice = br#"{"table":"tasks","table":"notes","object":{"title":"x","text":"y"}}"#;
    for _ in 0..10 {
        assert_eq!(client.send("POST", "/db", Some(twice)).await.status, 400);
    }
    assert_eq!(
        client.send("POST", "/db", Some(twice)).await.json()["collection"],
        "tasks"
    );
    let note = json!({"table": "notes", "object": {"text": "y"}});
    assert_eq!(client.json("POST", "/db", &note).await.status, 200);
    let escaped = br#"{"t\u0061ble":"tasks","object":{"title":"x"}}"#;
    assert_eq!(client.send("POST", "/db", Some(escaped)).await.status, 429);
}

/// Cases 3 and 22: clients and tables have counters of their own.
#[tokio::test(flavor = "multi_thread")]
async fn one_client_and_one_table_do_not_touch_another() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    use_up_lists(&client, "notes", DEFAULT).await;
    assert_eq!(list(&client, "notes").await.status, 429);
    assert_eq!(list(&client, "tasks").await.status, 200);
    assert_eq!(
        list(&server.client_at("127.0.0.2"), "notes").await.status,
        200
    );
}
