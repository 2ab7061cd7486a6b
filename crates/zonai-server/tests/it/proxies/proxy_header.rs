//! The PROXY protocol on the listener: believed from proxies only, and from them before anything else.

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use zonai_test::{Project, TestServer};

use super::{trusting, wire};
use crate::DEFAULT;

/// Kinds and flags of HTTP/2 frames (RFC 9113, section 6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

const TRUSTED: &str = "{proxyProtocol: true, proxies: [127.0.0.1]}";

fn v1(source: &str) -> Vec<u8> {
    format!("PROXY TCP4 {source} 192.0.2.1 40000 80\r\n").into_bytes()
}

/// Version 2, with a type-length-value after the addresses.
fn v2(source: [u8; 4]) -> Vec<u8> {
    let mut header = b"\r\n\r\n\0\r\nQUIT\n\x21\x11".to_vec();
    header.extend((12_u16 + 4).to_be_bytes());
    header.extend(source);
    header.extend([192, 0, 2, 1, 0x9c, 0x40, 0, 80]);
    header.extend([0x04, 0, 1, 0]);
    header
}

async fn server() -> (TestServer, Project) {
    let project = trusting(TRUSTED);
    (TestServer::start(&project).await, project)
}

/// The status of a request after `header`, on a connection from `peer`.
async fn status(server: &TestServer, peer: &str, header: &[u8], headers: &str) -> u16 {
    let mut stream = server.client_at(peer).connect().await;
    let bytes = [header, &wire::list_notes(headers)].concat();
    wire::status(&wire::exchange(&mut stream, &bytes).await)
}

/// Both versions name one client, and no header of the request says anything.
#[tokio::test(flavor = "multi_thread")]
async fn the_client_is_the_source_of_the_header() {
    let (server, _project) = server().await;
    for number in 0..DEFAULT / 2 {
        let forged = format!("x-forwarded-for: 192.0.2.{number}\r\n");
        assert_eq!(
            status(&server, "127.0.0.1", &v1("203.0.113.7"), &forged).await,
            200
        );
        assert_eq!(
            status(&server, "127.0.0.1", &v2([203, 0, 113, 7]), &forged).await,
            200
        );
    }
    assert_eq!(
        status(&server, "127.0.0.1", &v1("203.0.113.7"), "").await,
        429
    );
    assert_eq!(
        status(&server, "127.0.0.1", &v2([203, 0, 113, 7]), "").await,
        429
    );
    assert_eq!(
        status(&server, "127.0.0.1", &v2([203, 0, 113, 8]), "").await,
        200
    );
}

/// From outside of `proxies` a PROXY header is no request, and a request is served as its peer's.
#[tokio::test(flavor = "multi_thread")]
async fn it_is_accepted_from_proxies_only() {
    let (server, _project) = server().await;
    for header in [v1("203.0.113.7"), v2([203, 0, 113, 7])] {
        assert_eq!(status(&server, "127.0.7.1", &header, "").await, 400);
    }
    for _ in 0..DEFAULT {
        assert_eq!(status(&server, "127.0.7.1", b"", "").await, 200);
    }
    assert_eq!(status(&server, "127.0.7.1", b"", "").await, 429);
    assert_eq!(
        status(&server, "127.0.0.1", &v1("203.0.113.7"), "").await,
        200
    );
}

/// What a proxy sends instead of a header ends the connection without an answer; so does none at all.
#[tokio::test(flavor = "multi_thread")]
async fn garbage_closes_the_connection() {
    let (server, _project) = server().await;
    let mut long = v2([203, 0, 113, 7]);
    long[14..16].copy_from_slice(&u16::MAX.to_be_bytes());
    let garbage: [&[u8]; 7] = [
        b"",
        b"PROXY TCP4 999.0.0.1 192.0.2.1 1 2\r\n",
        b"PROXY TCP4 203.0.113.7\r\n",
        b"PROXY \0\r\n",
        b"\r\n\r\n\0\r\nQUIT\n\x31\x11\0\x0c",
        &long,
        &[b'P'; 200],
    ];
    for header in garbage {
        let answered = status(&server, "127.0.0.1", header, "").await;
        assert_eq!(answered, 0, "{}", header.escape_ascii());
    }
    assert_eq!(
        status(&server, "127.0.0.1", &v1("203.0.113.7"), "").await,
        200
    );
}

/// A proxy that speaks for itself (health checks) is the client itself.
#[tokio::test(flavor = "multi_thread")]
async fn local_and_unknown_leave_the_proxys_address() {
    let (server, _project) = server().await;
    let local = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";
    for _ in 0..DEFAULT / 2 {
        assert_eq!(status(&server, "127.0.0.1", local, "").await, 200);
        assert_eq!(
            status(&server, "127.0.0.1", b"PROXY UNKNOWN\r\n", "").await,
            200
        );
    }
    assert_eq!(
        status(&server, "127.0.0.1", &v1("127.0.0.1"), "").await,
        429
    );
}

/// A header that comes byte by byte is read as one.
#[tokio::test(flavor = "multi_thread")]
async fn it_may_come_in_pieces() {
    let (server, _project) = server().await;
    for header in [v1("203.0.113.9"), v2([203, 0, 113, 9])] {
        let mut stream = connect(&server).await;
        for byte in [header, wire::list_notes("")].concat() {
            stream.write_all(&[byte]).await.unwrap();
            tokio::task::yield_now().await;
        }
        assert_eq!(wire::status(&wire::rest(&mut stream).await), 200);
    }
}

/// A header that does not end holds its connection as long as the head of a request may, and no longer.
#[tokio::test(flavor = "multi_thread")]
async fn half_a_header_ends_like_half_a_head() {
    let (server, _project) = server().await;
    let mut stream = connect(&server).await;
    stream.write_all(b"PROXY TCP4 203.0.113.7").await.unwrap();
    // Another connection is served after this one was accepted.
    assert_eq!(
        status(&server, "127.0.0.1", &v1("203.0.113.7"), "").await,
        200
    );
    server.hand.advance_ms(12_000);
    assert_eq!(wire::rest(&mut stream).await, "");
}

/// HTTP/2 with prior knowledge after the header; all its streams are the source's.
#[tokio::test(flavor = "multi_thread")]
async fn http2_may_follow() {
    let (server, _project) = server().await;
    for _ in 0..DEFAULT - 2 {
        assert_eq!(
            status(&server, "127.0.0.1", &v1("203.0.113.7"), "").await,
            200
        );
    }
    for header in [v1("203.0.113.7"), v2([203, 0, 113, 7])] {
        let body = http2(&server, &header).await;
        assert!(body.contains("\"items\":[]"), "{body}");
    }
    let body = http2(&server, &v2([203, 0, 113, 7])).await;
    assert!(body.contains("Rate limit exceeded"), "{body}");
}

async fn connect(server: &TestServer) -> TcpStream {
    let stream = server.client_at("127.0.0.1").connect().await;
    stream.set_nodelay(true).unwrap();
    stream
}

/// The body of the answer to a list, asked for over HTTP/2.
async fn http2(server: &TestServer, header: &[u8]) -> String {
    let path = b"/db/list?body=%7B%22table%22%3A%22notes%22%7D";
    // Indexed `:method GET` and `:scheme http`; `:path` and `:authority` literal (RFC 7541).
    let mut block = vec![0x82, 0x86, 0x04, u8::try_from(path.len()).unwrap()];
    block.extend(path);
    block.extend(b"\x01\x01x");
    let mut bytes = [header, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"].concat();
    bytes.extend(frame(SETTINGS, 0, 0, &[]));
    bytes.extend(frame(HEADERS, END_HEADERS | END_STREAM, 1, &block));
    let (first, second) = bytes.split_at(header.len() + 5);
    let mut stream = connect(server).await;
    stream.write_all(first).await.unwrap();
    tokio::task::yield_now().await;
    stream.write_all(second).await.unwrap();
    let mut body = Vec::new();
    loop {
        let (kind, flags, payload) = wire::frame(&mut stream).await;
        if kind == DATA {
            body.extend(payload);
        }
        if matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0 {
            return String::from_utf8(body).unwrap();
        }
    }
}

/// Length, type, flags, stream, payload (RFC 9113).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}
