//! The server as its callers meet it: whole requests over real sockets, under a clock that is set by hand.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "tests"
)]

mod accounts;
mod bodies;
mod chaos;
mod closing;
mod concurrency;
mod counting;
mod explaining;
mod full;
mod health;
mod hooks_of_reads;
mod operations;
mod operations_in_code;
mod proxies;
mod refusal;
mod reload;
mod repeats;
mod steering;
mod stop;
mod streams;

use serde_json::{Value, json};
use zonai_test::{Client, Reply};

/// The limit that applies without configuration.
const DEFAULT: usize = 100;

/// `GET /db/list` of a table.
async fn list(client: &Client, table: &str) -> Reply {
    client.get("/db/list", &json!({"table": table})).await
}

/// Uses up a counter: `count` requests that are all counted, whatever they are answered with.
async fn use_up(client: &Client, method: &str, path: &str, body: &Value, count: usize) {
    for number in 1..=count {
        let reply = send(client, method, path, body).await;
        assert_ne!(
            reply.status,
            429,
            "request {number} of {method} {path}: {}",
            reply.text()
        );
    }
}

/// As many lists of a table.
async fn use_up_lists(client: &Client, table: &str, count: usize) {
    use_up(client, "GET", "/db/list", &json!({"table": table}), count).await;
}

/// A request with its payload where the route wants it.
async fn send(client: &Client, method: &str, path: &str, body: &Value) -> Reply {
    if matches!(method, "GET" | "HEAD") {
        client
            .send(method, &zonai_test::target(path, body), None)
            .await
    } else {
        client.json(method, path, body).await
    }
}
