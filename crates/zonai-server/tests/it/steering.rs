//! Observe before you enforce: modes, exemptions, several windows, and headers that tell clients how they stand.

use serde_json::json;
use zonai_test::{Project, TestServer};

use crate::{DEFAULT, list, use_up, use_up_lists};

fn with_limits(limits: &str) -> Project {
    let project = Project::tasks();
    project.file(
        "lib/src/rate_limit/tasks.yaml",
        &format!("table: tasks\n{limits}"),
    );
    project
}

/// `mode: observe` counts and reports what it would have refused, and refuses nothing.
#[tokio::test(flavor = "multi_thread")]
async fn an_observed_limit_refuses_nothing_and_reports() {
    let project = with_limits("limits:\n  list: {maxRequests: 3, window: 1m, mode: observe}\n");
    let server = TestServer::start(&project).await;
    let client = server.client();
    use_up_lists(&client, "tasks", 10).await;
    let explain = zonai_server::explain::Explain {
        method: "GET".to_owned(),
        path: zonai_test::target("/db/list", &json!({"table": "tasks"})),
        peer: Some([127, 0, 0, 1].into()),
        ..Default::default()
    };
    let said = server.running.explain(&explain).await.unwrap();
    let counter = &said["counters"][0];
    assert_eq!(said["outcome"], "admit", "{said}");
    assert_eq!(
        (&counter["mode"], &counter["full"]),
        (&json!("observe"), &json!(true)),
        "{said}"
    );
    assert_eq!(server.running.would_refuse(), 7);
    // The other operations are enforced.
    use_up(
        &client,
        "GET",
        "/db/count",
        &json!({"table": "tasks"}),
        DEFAULT,
    )
    .await;
    assert_eq!(
        client
            .get("/db/count", &json!({"table": "tasks"}))
            .await
            .status,
        429
    );
}

/// `exempt` is never refused and still counted; not while a forwarded header may hide anybody.
#[tokio::test(flavor = "multi_thread")]
async fn an_exempt_network_is_counted_and_never_refused() {
    let project = Project::tasks();
    project.file(
        "zonai.yaml",
        "listen: [\"127.0.0.1:0\"]\nrateLimit: {exempt: [127.0.0.8/32]}\n",
    );
    let server = TestServer::start(&project).await;
    let exempt = server.client_at("127.0.0.8");
    use_up_lists(&exempt, "notes", DEFAULT + 20).await;
    assert_eq!(server.running.would_refuse(), 20, "it was counted");
    for (name, value) in [
        ("x-forwarded-for", "198.51.100.1"),
        ("x-forwarded-proto", "https"),
        ("via", "1.1 proxy"),
    ] {
        let hidden = exempt.with(name, value);
        assert_eq!(list(&hidden, "notes").await.status, 429, "{name}");
    }
    let other = server.client_at("127.0.0.9");
    use_up_lists(&other, "notes", DEFAULT).await;
    assert_eq!(list(&other, "notes").await.status, 429);
}

/// Several windows: all must admit, and the refusal names the one that was hit. A refusal costs in none.
#[tokio::test(flavor = "multi_thread")]
async fn of_several_windows_the_refusal_names_the_one_that_was_hit() {
    let project = with_limits("limits:\n  list: [3/1s, 5/1h]\n");
    let server = TestServer::start(&project).await;
    let client = server.client();
    use_up_lists(&client, "tasks", 3).await;
    let reply = list(&client, "tasks").await;
    assert_eq!(
        (
            reply.status,
            reply.header("x-ratelimit-limit"),
            reply.header("retry-after")
        ),
        (429, Some("3"), Some("1"))
    );
    server.hand.advance_ms(1_000);
    use_up_lists(&client, "tasks", 2).await;
    let reply = list(&client, "tasks").await;
    assert_eq!(
        (
            reply.status,
            reply.header("x-ratelimit-limit"),
            reply.header("retry-after")
        ),
        (429, Some("5"), Some("3599"))
    );
}

/// `headers: draft` on every limited response, and on none by default.
#[tokio::test(flavor = "multi_thread")]
async fn draft_headers_tell_how_the_client_stands() {
    let project = with_limits("limits:\n  list: 2/1m\n");
    let server = TestServer::start(&project).await;
    let reply = list(&server.client(), "tasks").await;
    assert_eq!(
        (reply.header("ratelimit"), reply.header("ratelimit-policy")),
        (None, None),
        "off by default"
    );
    assert!(server.running.stop().await);
    project.file(
        "zonai.yaml",
        "listen: [\"127.0.0.1:0\"]\nrateLimit: {headers: draft}\n",
    );
    let server = TestServer::start(&project).await;
    let client = server.client_at("127.0.0.5");
    let reply = list(&client, "tasks").await;
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.header("ratelimit-policy"),
        Some("\"tasks:list\";q=2;w=60")
    );
    assert_eq!(reply.header("ratelimit"), Some("\"tasks:list\";r=1;t=60"));
    list(&client, "tasks").await;
    let refused = list(&client, "tasks").await;
    assert_eq!(
        (refused.status, refused.header("ratelimit")),
        (429, Some("\"tasks:list\";r=0;t=60"))
    );
    assert_eq!(
        client
            .send("GET", "/health", None)
            .await
            .header("ratelimit"),
        None,
        "not limited"
    );
}
