//! The server notices that it stands behind a proxy that nobody told it of, and says so once.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use zonai_test::{Client, TestServer, read_reply};

use super::{log, trusting};
use crate::list;

/// More than the server looks at before it judges, twice.
const MANY: usize = 4_100;

/// Requests on one connection, as a proxy that keeps it sends them; `of(n)` has the headers of the n-th.
async fn send(server: &TestServer, requests: usize, of: impl Fn(&Client, usize) -> Client) {
    let target = zonai_test::target("/db/list", &serde_json::json!({"table": "notes"}));
    let proxy = server.client();
    let mut stream: TcpStream = proxy.connect().await;
    for number in 0..requests {
        let request = of(&proxy, number).request("GET", &target, None);
        stream.write_all(&request).await.unwrap();
        read_reply(&mut stream, false).await;
    }
}

fn only(warnings: &[String]) -> &str {
    let [warning] = warnings else {
        panic!("{warnings:#?}");
    };
    warning
}

/// Promise 5.6: forwarded headers keep arriving, no proxy is configured.
#[test]
fn forwarded_headers_without_a_proxy_are_one_warning() {
    let warnings = log::of_trusted_proxy(async {
        let project = super::project("listen: [\"127.0.0.1:0\"]\n");
        let server = TestServer::start(&project).await;
        send(&server, MANY, |proxy, n| {
            proxy.with("x-forwarded-for", &format!("198.51.100.{}", n % 200))
        })
        .await;
        assert!(server.running.stop().await);
    });
    let warning = only(&warnings);
    assert!(warning.contains("`app.trustedProxy`"), "{warning}");
    assert!(warning.contains("no proxy is configured"), "{warning}");
}

/// Promise 5.6: nearly all traffic has one address, here a second proxy that `proxies` does not list.
#[test]
fn one_address_behind_the_proxy_is_one_warning() {
    let warnings = log::of_trusted_proxy(async {
        let project = trusting("{headers: [X-Forwarded-For], proxies: [127.0.0.1]}");
        let server = TestServer::start(&project).await;
        send(&server, MANY, |proxy, n| {
            let client = if n % 50 == 49 { n % 200 } else { 7 };
            proxy.with("x-forwarded-for", &format!("203.0.113.{client}"))
        })
        .await;
        assert!(server.running.stop().await);
    });
    let warning = only(&warnings);
    assert!(warning.contains("`app.trustedProxy"), "{warning}");
    assert!(warning.contains("203.0.113.7"), "{warning}");
}

/// promises 5.6: a proxy on this machine that sends no headers is spoken of too, once.
#[test]
fn one_address_is_one_warning_also_on_loopback() {
    let warnings = log::of_trusted_proxy(async {
        let project = super::project("listen: [\"127.0.0.1:0\"]\n");
        let server = TestServer::start(&project).await;
        send(&server, MANY + MANY, |proxy, _| proxy.clone()).await;
        assert!(server.running.stop().await);
    });
    let warning = only(&warnings);
    assert!(warning.contains("nearly all traffic"), "{warning}");
    assert!(warning.contains("127.0.0.1"), "{warning}");
}

/// A proxy that is configured as it should be, with many clients, is no reason to say anything.
#[test]
fn a_good_configuration_is_not_spoken_of() {
    let warnings = log::of_trusted_proxy(async {
        let project = trusting("{headers: [X-Forwarded-For], proxies: [127.0.0.1]}");
        let server = TestServer::start(&project).await;
        send(&server, MANY, |proxy, n| {
            proxy.with("x-forwarded-for", &format!("198.51.100.{}", n % 200))
        })
        .await;
        // A program on the same machine, without a proxy.
        for _ in 0..20 {
            list(&server.client_at("127.0.8.1"), "notes").await;
        }
        assert!(server.running.stop().await);
    });
    assert_eq!(warnings, [""; 0]);
}
