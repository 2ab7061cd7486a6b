//! The 429: its bytes, its seconds, and that it is the same everywhere.

use serde_json::json;
use zonai_test::{Project, TestServer};

use crate::{DEFAULT, list, send, use_up, use_up_lists};

/// Section 4 of the promises: the refusal to the letter.
#[tokio::test(flavor = "multi_thread")]
async fn the_101st_request_is_refused_byte_for_byte() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    for _ in 0..DEFAULT {
        assert_eq!(list(&client, "notes").await.status, 200);
    }
    server.hand.advance_ms(17_400);
    let reset = (zonai_clock::Hand::WALL_MS + 60_000 + 999) / 1_000;
    let expected = format!(
        "429\nretry-after: 43\nx-ratelimit-limit: 100\nx-ratelimit-remaining: 0\nx-ratelimit-reset: {reset}\n\
         content-type: application/json\ncontent-length: 87\n\n\
         {{\"error\":\"Rate limit exceeded\",\"collection\":\"notes\",\"operation\":\"list\",\"retryAfter\":43}}"
    );
    assert_eq!(list(&client, "notes").await.shown(), expected);
}

/// Promise 4.3: a success carries none of the headers.
#[tokio::test(flavor = "multi_thread")]
async fn a_success_carries_no_rate_limit_header() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let reply = list(&server.client(), "notes").await;
    assert_eq!(reply.status, 200);
    let names: Vec<&str> = reply
        .headers
        .iter()
        .map(|(name, _)| name.as_str())
        .collect();
    assert_eq!(names, ["content-type", "content-length", "date"]);
}

/// The 429 of every route has one shape.
#[tokio::test(flavor = "multi_thread")]
async fn every_route_refuses_alike() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let table = json!({"table": "notes"});
    let routes = [
        ("GET", "/db", "get"),
        ("GET", "/db/list", "list"),
        ("GET", "/db/count", "count"),
        ("POST", "/db", "create"),
        ("PATCH", "/db", "update"),
        ("DELETE", "/db", "delete"),
    ];
    for (index, (method, path, operation)) in routes.into_iter().enumerate() {
        let client = server.client_at(&format!("127.0.1.{index}"));
        use_up(&client, method, path, &table, DEFAULT).await;
        let reply = send(&client, method, path, &table).await;
        let body = format!(
            "{{\"error\":\"Rate limit exceeded\",\"collection\":\"notes\",\"operation\":\"{operation}\",\"retryAfter\":60}}"
        );
        assert_eq!(
            (reply.status, reply.text()),
            (429, body.as_str()),
            "{method} {path}"
        );
        assert_eq!(reply.header("retry-after"), Some("60"));
        assert_eq!(reply.header("x-ratelimit-remaining"), Some("0"));
    }
}

/// The many routes share their counters with the single ones.
#[tokio::test(flavor = "multi_thread")]
async fn a_many_request_costs_one() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let two = json!({"table": "tasks", "objects": [{"title": "a"}, {"title": "b"}]});
    use_up(&client, "POST", "/db/many", &two, 9).await;
    let one = json!({"table": "tasks", "object": {"title": "c"}});
    assert_eq!(client.json("POST", "/db", &one).await.status, 200);
    assert_eq!(client.json("POST", "/db", &one).await.status, 429);
    assert_eq!(client.json("POST", "/db/many", &two).await.status, 429);
    let count = client.get("/db/count", &json!({"table": "tasks"})).await;
    assert_eq!(count.json(), json!({"data": 19}));
}

/// Cases 18 to 20: exact at the limit; waiting what the header says is enough, and a moment less is not.
#[tokio::test(flavor = "multi_thread")]
async fn waiting_what_it_says_is_enough_and_less_is_not() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    use_up_lists(&client, "notes", DEFAULT).await;
    server.hand.advance_ms(59_700);
    let refused = list(&client, "notes").await;
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (429, Some("1"))
    );
    server.hand.advance_ms(299);
    assert_eq!(list(&client, "notes").await.status, 429);
    server.hand.advance_ms(1);
    assert_eq!(list(&client, "notes").await.status, 200);
}

/// Promise 2.2: refused requests neither count nor move the window; each names the same reset.
#[tokio::test(flavor = "multi_thread")]
async fn retrying_does_not_move_the_reset() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    use_up_lists(&client, "notes", DEFAULT).await;
    let first = list(&client, "notes").await;
    let reset = first.header("x-ratelimit-reset").map(str::to_owned);
    for second in 1..60 {
        server.hand.advance_ms(1_000);
        let reply = list(&client, "notes").await;
        if second < 60 {
            assert_eq!(reply.status, 429);
            assert_eq!(reply.header("x-ratelimit-reset").map(str::to_owned), reset);
            assert_eq!(
                reply.header("retry-after"),
                Some((60 - second).to_string().as_str())
            );
        }
    }
}

/// Promise 4.5: a page of an allowed origin can read the refusal.
#[tokio::test(flavor = "multi_thread")]
async fn a_cross_origin_refusal_can_be_read() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client().with("origin", "http://localhost:5173");
    use_up_lists(&client, "notes", DEFAULT).await;
    let reply = list(&client, "notes").await;
    assert_eq!(reply.status, 429);
    assert_eq!(
        reply.header("access-control-allow-origin"),
        Some("http://localhost:5173")
    );
    let exposed = reply
        .header("access-control-expose-headers")
        .unwrap()
        .to_ascii_lowercase();
    for name in [
        "retry-after",
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
    ] {
        assert!(exposed.contains(name), "{name} in {exposed}");
    }
    let stranger = server.client().with("origin", "https://evil.example");
    assert_eq!(
        list(&stranger, "notes")
            .await
            .header("access-control-allow-origin"),
        None
    );
}
