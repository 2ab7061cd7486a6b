//! The end of a server: nothing is cut, nothing is forgotten.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use zonai_test::{Project, TestServer};

use crate::{DEFAULT, list, use_up_lists};

/// Promise 7.2: a clean stop loses no count.
#[tokio::test(flavor = "multi_thread")]
async fn counts_survive_a_restart() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    use_up_lists(&server.client(), "notes", DEFAULT - 1).await;
    let server = server.restart(&project).await;
    assert_eq!(list(&server.client(), "notes").await.status, 200);
    assert_eq!(list(&server.client(), "notes").await.status, 429);
    let server = server.restart(&project).await;
    let refused = list(&server.client(), "notes").await;
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (429, Some("60"))
    );
    server.hand.advance_ms(60_000);
    assert_eq!(list(&server.client(), "notes").await.status, 200);
}

/// A stop with idle and half-open connections does not wait for them.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_does_not_wait_for_idle_connections() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let mut idle = client.connect().await;
    let half = client.connect().await;
    tokio::io::AsyncWriteExt::write_all(&mut idle, &client.request("GET", "/health", None))
        .await
        .unwrap();
    assert_eq!(zonai_test::read_reply(&mut idle, false).await.status, 200);
    let stopped =
        tokio::time::timeout(std::time::Duration::from_secs(5), server.running.stop()).await;
    assert!(stopped.expect("the stop waits for idle connections"));
    drop(half);
}

/// What does not finish within `stopGrace` is ended before the stop returns, and the stop says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_what_does_not_finish_in_time() {
    // Bodies that never come; the answers say that their requests have begun.
    let http1 = "POST /db HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
                 expect: 100-continue\r\ncontent-length: 100\r\n\r\n";
    cut_off(http1.as_bytes(), b"HTTP/1.1 100").await;
    cut_off(&http2(), &PONG).await;
}

/// The acknowledgement of the PING in [`http2`].
const PONG: [u8; 17] = *b"\0\0\x08\x06\x01\0\0\0\0pingpong";

/// A POST without its body, then a PING, over HTTP/2 (RFC 9113, RFC 7541).
fn http2() -> Vec<u8> {
    let mut headers = b"\x83\x86\x04\x03/db\x01\x01x\x0f\x10\x10application/json".to_vec();
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    bytes.extend([0, 0, u8::try_from(headers.len()).unwrap()]);
    bytes.extend([1, 4, 0, 0, 0, 1]);
    bytes.append(&mut headers);
    bytes.extend(b"\0\0\x08\x06\0\0\0\0\0pingpong");
    bytes
}

async fn cut_off(request: &[u8], begun: &[u8]) {
    let project = Project::tasks();
    let settings = "listen: [\"127.0.0.1:0\"]\nserver: {stopGrace: 0s}\n";
    project.file("zonai.yaml", settings);
    let server = TestServer::start(&project).await;
    let mut client = server.client().connect().await;
    client.write_all(request).await.unwrap();
    let mut bytes = Vec::new();
    let answer = async {
        while !bytes.windows(begun.len()).any(|part| part == begun) {
            assert_ne!(client.read_buf(&mut bytes).await.unwrap(), 0, "{bytes:?}");
        }
    };
    let answer = tokio::time::timeout(Duration::from_secs(10), answer);
    answer.await.expect("an answer");

    // Sooner than a stop that gives up on a task which does not end.
    let stopped = tokio::time::timeout(Duration::from_secs(4), server.running.stop());
    assert!(!stopped.await.expect("the stop ends"), "it was cut off");
    let mut rest = Vec::new();
    let end = tokio::time::timeout(Duration::from_secs(10), client.read_to_end(&mut rest));
    let _ = end.await.expect("the connection is still open");
}
