//! What headers may say, of whom, and what is believed.

use zonai_test::TestServer;

use super::{is_one_client, project, trusting};
use crate::{DEFAULT, list};

/// `exempt` is of addresses that are known. A peer that sends forwarded headers while no proxy is configured may
/// be a proxy, on loopback too.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_exempt_by_a_header_or_behind_an_unknown_proxy() {
    let project = project("listen: [\"127.0.0.1:0\"]\nrateLimit: {exempt: [127.0.0.1]}\n");
    let server = TestServer::start(&project).await;
    let claims = |peer: &str| server.client_at(peer).with("x-forwarded-for", "127.0.0.1");
    is_one_client(|_| claims("127.0.9.1")).await;
    is_one_client(|_| claims("127.0.0.1")).await;
    // The machine itself, without a header, goes on.
    assert_eq!(list(&server.client(), "notes").await.status, 200);
}

/// Ports and brackets are no part of an address, and bare IPv6 stays whole.
#[tokio::test(flavor = "multi_thread")]
async fn spellings_of_an_address_are_one_client() {
    let project = trusting("{headers: [X-Forwarded-For], proxies: [127.0.0.1]}");
    let server = TestServer::start(&project).await;
    let says = |text: &str| server.client().with("x-forwarded-for", text);
    is_one_client(|number| says(&format!("203.0.113.7:{}", 51_234 + number))).await;
    assert_eq!(list(&says("203.0.113.7"), "notes").await.status, 429);
    let spelled = ["[2001:db8::1]:443", "2001:db8::1", "[2001:db8::1]"];
    is_one_client(|number| says(spelled[number % spelled.len()])).await;
    assert_eq!(list(&says("203.0.113.8:51234"), "notes").await.status, 200);
}

/// What is no address is the peer's, and no fault of the server's.
#[tokio::test(flavor = "multi_thread")]
async fn junk_is_the_peer() {
    let project = trusting("{headers: [X-Forwarded-For], proxies: [127.0.0.1]}");
    let server = TestServer::start(&project).await;
    let junk = "x".repeat(10_000);
    let said = [
        "unknown",
        "",
        ",",
        junk.as_str(),
        "fe80::1%eth0.100",
        "203.0.113.7, unknown",
    ];
    is_one_client(|number| {
        server
            .client()
            .with("x-forwarded-for", said[number % said.len()])
    })
    .await;
    assert_eq!(list(&server.client(), "notes").await.status, 429);
}

/// Several lines of one header are one list, and `Forwarded` is read with its quotes.
#[tokio::test(flavor = "multi_thread")]
async fn lines_are_joined_and_forwarded_is_understood() {
    let project =
        trusting("{headers: [Forwarded, X-Forwarded-For], proxies: [127.0.0.1, 10.0.0.0/8]}");
    let server = TestServer::start(&project).await;
    for number in 0..DEFAULT / 2 {
        let proxy = server.client();
        let lines = proxy
            .with(
                "x-forwarded-for",
                &format!("198.51.100.{number}, 2001:db8::7"),
            )
            .with("x-forwarded-for", "10.0.0.2");
        assert_eq!(list(&lines, "notes").await.status, 200);
        let forwarded = proxy
            .with("x-forwarded-for", "198.51.100.1")
            .with(
                "forwarded",
                &format!(
                    "for=198.51.100.{number}, for=\"[2001:db8::7]:{}\";proto=http",
                    1_000 + number
                ),
            )
            .with("forwarded", "for=10.0.0.2");
        assert_eq!(list(&forwarded, "notes").await.status, 200);
    }
    let again = server.client().with("forwarded", "for=\"[2001:db8::8]\"");
    assert_eq!(list(&again, "notes").await.status, 429);
}
