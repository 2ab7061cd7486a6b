//! Unix sockets: limited like any other way in.

use std::path::Path;

use tokio::net::UnixStream;
use zonai_test::TestServer;

use super::{log, on_unix, wire};
use crate::{DEFAULT, list};

async fn status_of(socket: &Path, headers: &str) -> u16 {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    wire::status(&wire::exchange(&mut stream, &wire::list_notes(headers)).await)
}

/// No address and no trusted header is one shared client and one warning, whatever the headers say.
#[test]
fn without_a_trusted_header_all_requests_share_one_counter_and_one_warning() {
    let warnings = log::of_trusted_proxy(async {
        let (project, socket) = on_unix("SOCKET", "");
        let server = TestServer::start(&project).await;
        for number in 0..DEFAULT {
            let headers = format!("x-forwarded-for: 198.51.100.{number}\r\n");
            assert_eq!(status_of(&socket, &headers).await, 200);
        }
        for number in 0..50 {
            let headers = format!("x-forwarded-for: 192.0.2.{number}\r\n");
            assert_eq!(status_of(&socket, &headers).await, 429);
        }
        assert!(server.running.stop().await);
        assert!(!socket.exists(), "the socket's file stays behind");
    });
    let [warning] = warnings.as_slice() else {
        panic!("{warnings:?}");
    };
    assert!(
        warning.contains("Unix socket") && warning.contains("app.trustedProxy"),
        "{warning}"
    );
}

/// A list of proxies that forgets the socket's own peers is told at start.
#[test]
fn a_list_of_proxies_without_unix_is_one_warning() {
    let warnings = log::of_trusted_proxy(async {
        let trusted = "app:\n  trustedProxy: {headers: [X-Forwarded-For], proxies: [127.0.0.1]}\n";
        let (project, socket) = on_unix("SOCKET", trusted);
        let server = TestServer::start(&project).await;
        for number in 0..DEFAULT {
            let headers = format!("x-forwarded-for: 198.51.100.{number}\r\n");
            assert_eq!(status_of(&socket, &headers).await, 200);
        }
        assert_eq!(
            status_of(&socket, "x-forwarded-for: 192.0.2.1\r\n").await,
            429
        );
        assert!(server.running.stop().await);
    });
    let [warning] = warnings.as_slice() else {
        panic!("{warnings:?}");
    };
    assert!(
        warning.contains("trustedProxy.proxies does not name `unix:`"),
        "{warning}"
    );
}

/// Several listeners at once are one server: a client has one counter, whichever it comes through.
#[tokio::test(flavor = "multi_thread")]
async fn several_listeners_share_their_counters() {
    let trusted = "app:\n  trustedProxy: {headers: [X-Forwarded-For], proxies: [\"unix:\"]}\n";
    let (project, socket) = on_unix("\"127.0.0.1:0\", \"127.0.0.1:0\", SOCKET", trusted);
    let server = TestServer::start(&project).await;
    let [first, second] = *server.running.addresses() else {
        panic!("{:?}", server.running.addresses());
    };
    let client = |server| zonai_test::Client::from(server, [127, 0, 6, 1].into());
    for _ in 0..33 {
        assert_eq!(list(&client(first), "notes").await.status, 200);
        assert_eq!(list(&client(second), "notes").await.status, 200);
        assert_eq!(
            status_of(&socket, "x-forwarded-for: 127.0.6.1\r\n").await,
            200
        );
    }
    assert_eq!(list(&client(first), "notes").await.status, 200);
    assert_eq!(list(&client(second), "notes").await.status, 429);
    assert_eq!(
        status_of(&socket, "x-forwarded-for: 127.0.6.1\r\n").await,
        429
    );
    assert_eq!(
        status_of(&socket, "x-forwarded-for: 127.0.6.2\r\n").await,
        200
    );
}

/// A file that a killed server left behind is no hindrance; a socket that answers, or a file of another kind, is.
#[tokio::test(flavor = "multi_thread")]
async fn only_a_socket_that_nobody_answers_on_is_replaced() {
    let (project, socket) = on_unix("SOCKET", "");
    drop(std::os::unix::net::UnixListener::bind(&socket).unwrap());
    assert!(socket.exists());
    let server = TestServer::start(&project).await;
    assert_eq!(status_of(&socket, "").await, 200);
    assert!(server.running.stop().await);

    let living = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let refused = TestServer::try_start(&project, Default::default()).await;
    let error = refused
        .err()
        .expect("a socket that answers was taken over")
        .to_string();
    assert!(
        error.contains("zonai.sock") && !error.contains("--port"),
        "{error}"
    );
    drop(living);

    std::fs::remove_file(&socket).unwrap();
    std::fs::write(&socket, "a file that somebody needs").unwrap();
    assert!(
        TestServer::try_start(&project, Default::default())
            .await
            .is_err()
    );
    assert_eq!(
        std::fs::read(&socket).unwrap(),
        b"a file that somebody needs"
    );
}
