//! Whose request it is, over real sockets: behind real proxies, on every kind of listener, and past the proxy.

mod dual_stack;
mod headers;
mod log;
mod programs;
mod proxy_header;
mod self_check;
mod through;
mod unix;
mod wire;

use std::path::PathBuf;

use serde_json::{Value, json};
use zonai_test::{Client, Project};

use crate::{DEFAULT, list};

/// `notes` (no policy), `tasks` (`create` at 10 a minute), and this `zonai.yaml`.
fn project(config: &str) -> Project {
    let project = Project::tasks();
    project.file("zonai.yaml", config);
    project
}

/// A listener on loopback, and this `trustedProxy`.
fn trusting(trusted_proxy: &str) -> Project {
    project(&format!(
        "listen: [\"127.0.0.1:0\"]\napp:\n  trustedProxy: {trusted_proxy}\n"
    ))
}

/// Listening on a Unix socket inside of the project (a path from the file, as all are), with more of `zonai.yaml`.
fn on_unix(listen: &str, rest: &str) -> (Project, PathBuf) {
    let listen = listen.replace("SOCKET", "\"unix:zonai.sock\"");
    let project = project(&format!("listen: [{listen}]\n{rest}"));
    let socket = project.path("zonai.sock");
    (project, socket)
}

/// Sends `DEFAULT` requests that must be served and one that must not: `of(n)` is the client of the n-th.
async fn is_one_client(mut of: impl FnMut(usize) -> Client) {
    for number in 0..DEFAULT {
        let status = list(&of(number), "notes").await.status;
        assert_eq!(status, 200, "request {number}");
    }
    let refused = list(&of(DEFAULT), "notes").await;
    assert_eq!(refused.status, 429, "{}", refused.text());
}

/// A row of `tasks`, whose `create` is limited to 10.
fn task() -> Value {
    json!({"table": "tasks", "object": {"title": "x"}})
}

/// Every header that a proxy may say the client with, saying `address`.
fn forging(client: &Client, address: &str) -> Client {
    let names = [
        "x-forwarded-for",
        "x-real-ip",
        "cf-connecting-ip",
        "true-client-ip",
        "x-client-ip",
        "x-cluster-client-ip",
        "fly-client-ip",
        "x-envoy-external-address",
    ];
    let forging = names
        .iter()
        .fold(client.clone(), |client, name| client.with(name, address));
    forging.with("forwarded", &format!("for={address}"))
}
