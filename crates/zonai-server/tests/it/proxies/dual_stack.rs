//! `[::]`: IPv6 and IPv4 on one listener, and networks of IPv6.

use std::net::{Ipv6Addr, SocketAddr, TcpListener};

use zonai_test::{Client, TestServer};

use super::{is_one_client, project};
use crate::list;

/// A server on `[::]` with a port of the system's choice; `None` on a machine without IPv6.
async fn server() -> Option<(TestServer, zonai_test::Project)> {
    if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
        println!("skipped: this machine has no IPv6");
        return None;
    }
    let project = project(
        "listen: [\"[::]:0\"]\napp:\n  trustedProxy: {headers: [X-Forwarded-For], proxies: [127.0.0.1, \"::1\"]}\n",
    );
    Some((TestServer::start(&project).await, project))
}

fn v6(server: &TestServer) -> SocketAddr {
    (Ipv6Addr::LOCALHOST, server.address().port()).into()
}

fn v4(server: &TestServer) -> SocketAddr {
    ([127, 0, 0, 1], server.address().port()).into()
}

/// IPv4 clients of a dual-stack listener have their own counters.
#[tokio::test(flavor = "multi_thread")]
async fn ipv4_clients_are_told_apart() {
    let Some((server, _project)) = server().await else {
        return;
    };
    is_one_client(|_| Client::from(v4(&server), [127, 0, 5, 1].into())).await;
    let other = Client::from(v4(&server), [127, 0, 5, 2].into());
    assert_eq!(list(&other, "notes").await.status, 200);
}

/// An IPv4-mapped address is the IPv4 address, for the proxy (`127.0.0.1` comes as `::ffff:127.0.0.1`) as for
/// the client, through either family.
#[tokio::test(flavor = "multi_thread")]
async fn a_mapped_address_is_the_ipv4_address() {
    let Some((server, _project)) = server().await else {
        return;
    };
    let spelled = [
        "1.2.3.4",
        "::ffff:1.2.3.4",
        "[::ffff:102:304]:443",
        "1.2.3.4:80",
    ];
    is_one_client(|number| {
        let proxy = if number % 2 == 0 {
            Client::from(v4(&server), [127, 0, 0, 1].into())
        } else {
            Client::from(v6(&server), Ipv6Addr::LOCALHOST.into())
        };
        proxy.with("x-forwarded-for", spelled[number % spelled.len()])
    })
    .await;
}

/// A /64 is one client, its neighbour another.
#[tokio::test(flavor = "multi_thread")]
async fn addresses_of_one_network_are_one_client() {
    let Some((server, _project)) = server().await else {
        return;
    };
    let proxy = Client::from(v6(&server), Ipv6Addr::LOCALHOST.into());
    let of = |address: String| proxy.with("x-forwarded-for", &address);
    is_one_client(|number| of(format!("2001:db8:0:1:{number:x}::{number:x}"))).await;
    for number in 101..150 {
        assert_eq!(
            list(&of(format!("2001:db8:0:1::{number:x}")), "notes")
                .await
                .status,
            429
        );
    }
    assert_eq!(
        list(&of("2001:db8:0:2::1".to_owned()), "notes")
            .await
            .status,
        200
    );
}
