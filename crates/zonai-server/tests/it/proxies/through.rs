//! Through nginx, HAProxy and Caddy, with clients of different addresses of 127.0.0.0/8.

use std::net::SocketAddr;

use zonai_test::{Client, TestServer};

use super::programs::Proxy;
use super::{forging, is_one_client, on_unix, task, trusting, wire};
use crate::list;

/// What `docs/proxies.md` names for a proxy on the same machine. The clients' addresses are not in it.
const HTTP: &str = r#"{headers: [X-Forwarded-For], proxies: [127.0.0.1, "::1"]}"#;
const PROXY_PROTOCOL: &str = r#"{proxyProtocol: true, proxies: [127.0.0.1, "::1"]}"#;

#[tokio::test(flavor = "multi_thread")]
async fn nginx() {
    let project = trusting(HTTP);
    let server = TestServer::start(&project).await;
    if let Some(proxy) = Proxy::nginx(&server.address().to_string()).await {
        holds(&server, proxy.address).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn haproxy_http() {
    let project = trusting(HTTP);
    let server = TestServer::start(&project).await;
    if let Some(proxy) = Proxy::haproxy_http(&server.address().to_string()).await {
        holds(&server, proxy.address).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn caddy() {
    let project = trusting(HTTP);
    let server = TestServer::start(&project).await;
    if let Some(proxy) = Proxy::caddy(&server.address().to_string()).await {
        holds(&server, proxy.address).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn haproxy_with_the_proxy_protocol() {
    let project = trusting(PROXY_PROTOCOL);
    let server = TestServer::start(&project).await;
    let Some(proxy) = Proxy::haproxy_proxy_v2(&server.address().to_string()).await else {
        return;
    };
    holds(&server, proxy.address).await;
    // A caller's own PROXY header comes after the proxy's, where a request belongs.
    let mut stream = Client::from(proxy.address, [127, 0, 5, 1].into())
        .connect()
        .await;
    let mut forged = b"PROXY TCP4 198.51.100.1 127.0.0.1 1 2\r\n".to_vec();
    forged.extend(wire::list_notes(""));
    assert_eq!(
        wire::status(&wire::exchange(&mut stream, &forged).await),
        400
    );
}

/// nginx on a Unix socket, which has no addresses: the header alone tells clients apart.
#[tokio::test(flavor = "multi_thread")]
async fn nginx_over_a_unix_socket() {
    let trusted = "app:\n  trustedProxy: {headers: [X-Forwarded-For], proxies: [\"unix:\"]}\n";
    let (project, socket) = on_unix("SOCKET", trusted);
    let server = TestServer::start(&project).await;
    let Some(proxy) = Proxy::nginx(&format!("unix:{}", socket.display())).await else {
        return;
    };
    is_one_client(|number| forging(&at(proxy.address, [127, 0, 2, 1]), &forged(number))).await;
    assert_eq!(
        list(&at(proxy.address, [127, 0, 2, 2]), "notes")
            .await
            .status,
        200
    );
    assert!(server.running.stop().await);
}

fn at(proxy: SocketAddr, ip: [u8; 4]) -> Client {
    Client::from(proxy, ip.into())
}

/// Another address each time; loopback and the proxy's own among them.
fn forged(number: usize) -> String {
    match number % 10 {
        0 => "127.0.0.1".to_owned(),
        1 => "unknown".to_owned(),
        _ => format!("198.51.100.{number}"),
    }
}

/// All that issue and cases ask of a proxy.
async fn holds(server: &TestServer, proxy: SocketAddr) {
    // Many clients, one request each, over connections that the proxy keeps.
    for client in 1..=150 {
        let reply = list(&at(proxy, [127, 0, 1, client]), "notes").await;
        assert_eq!(reply.status, 200, "client {client}: {}", reply.text());
        assert!(reply.json()["data"]["items"].is_array());
    }
    is_one_client(|_| at(proxy, [127, 0, 2, 1])).await;
    assert_eq!(list(&at(proxy, [127, 0, 2, 2]), "notes").await.status, 200);
    assert_eq!(
        list(&at(proxy, [127, 0, 1, 150]), "notes").await.status,
        200
    );

    // What the caller writes changes nothing for it ...
    is_one_client(|number| forging(&at(proxy, [127, 0, 3, 1]), &forged(number))).await;
    // ... and nothing for the one that it names.
    let (forger, victim) = (at(proxy, [127, 0, 3, 2]), at(proxy, [127, 0, 3, 3]));
    for _ in 0..10 {
        let reply = forging(&forger, "127.0.3.3")
            .json("POST", "/db", &task())
            .await;
        assert_eq!(reply.status, 200);
    }
    let refused = forging(&forger, "127.0.3.3")
        .json("POST", "/db", &task())
        .await;
    assert_eq!(refused.status, 429);
    for _ in 0..10 {
        assert_eq!(victim.json("POST", "/db", &task()).await.status, 200);
    }

    // Past the proxy: nobody there is believed.
    is_one_client(|number| forging(&server.client_at("127.0.4.1"), &forged(number))).await;
    assert_eq!(
        list(&server.client_at("127.0.4.2"), "notes").await.status,
        200
    );
}
