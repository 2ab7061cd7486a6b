//! Bodies that are large, slow or cut off.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use zonai_test::{Project, TestServer, read_reply};

use crate::use_up;

/// Promise 4.7: the refusal goes out while 200 MB are announced and a kilobyte was sent, and the connection ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_does_not_wait_for_the_body() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    use_up(&client, "POST", "/db", &json!({"table": "tasks"}), 10).await;
    let mut stream = client.connect().await;
    let head = format!(
        "POST /db HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        200_000_000
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut kilobyte = br#"{"table":"tasks","object":{"title":""#.to_vec();
    kilobyte.resize(1_024, b'x');
    stream.write_all(&kilobyte).await.unwrap();
    let reply = read_reply(&mut stream, false).await;
    assert_eq!(
        (reply.status, reply.header("connection")),
        (429, Some("close"))
    );
    let mut rest = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(10), stream.read_to_end(&mut rest)).await;
    assert_eq!(ended.expect("the connection stays open").unwrap(), 0);
}

/// The answer is not lost although the client goes on sending.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_not_lost_to_a_reset() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    use_up(&client, "POST", "/db", &json!({"table": "tasks"}), 10).await;
    for _ in 0..20 {
        let stream = client.connect().await;
        let (mut read, mut write) = stream.into_split();
        let sending = tokio::spawn(async move {
            let head = "POST /db HTTP/1.1\r\nhost: x\r\ncontent-length: 50000000\r\n\r\n{\"table\":\"tasks\",\"object\":{\"title\":\"";
            let mut sent = write.write_all(head.as_bytes()).await;
            let piece = vec![b'x'; 64 * 1024];
            for _ in 0..16 {
                if sent.is_err() {
                    break;
                }
                sent = write.write_all(&piece).await;
            }
            write
        });
        // Nothing is read before everything was sent: then a reset would have thrown the answer away.
        let _write = sending.await.unwrap();
        let mut answer = vec![0; 12];
        read.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 429");
    }
}

/// Promise 4.7: with little left the connection is kept.
#[tokio::test(flavor = "multi_thread")]
async fn a_small_rest_is_read_and_the_connection_kept() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    use_up(&client, "POST", "/db", &json!({"table": "tasks"}), 10).await;
    let mut body = br#"{"table":"tasks","object":{"title":""#.to_vec();
    body.resize(40_000, b'x');
    let request = client.request("POST", "/db", Some(&body));
    let mut stream = client.connect().await;
    for _ in 0..3 {
        stream.write_all(&request[..2_000]).await.unwrap();
        assert_eq!(read_reply(&mut stream, false).await.status, 429);
        stream.write_all(&request[2_000..]).await.unwrap();
    }
    stream
        .write_all(&client.request("GET", "/health", None))
        .await
        .unwrap();
    assert_eq!(read_reply(&mut stream, false).await.status, 200);
}

/// Promise 4.7: of a body that came whole nothing is left, also where nobody announced its length.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_in_chunks_that_has_come_does_not_cost_the_connection() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    use_up(&client, "POST", "/db", &json!({"table": "tasks"}), 10).await;
    let mut stream = client.connect().await;
    let text = "x".repeat(2_000);
    let chunks = [
        r#"{"table":"tasks","object":{"title":""#,
        &text,
        &text,
        r#""}}"#,
    ];
    let chunk = |text: &&str| format!("{:x}\r\n{text}\r\n", text.len());
    let body: String = chunks.iter().map(chunk).collect();
    for following in ["", "trailer: yes\r\n", ""] {
        let head = "POST /db HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
        let request = format!("{head}{body}0\r\n{following}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let reply = read_reply(&mut stream, false).await;
        assert_eq!((reply.status, reply.header("connection")), (429, None));
    }
    let nowhere = format!(
        "POST /nowhere HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n{body}0\r\n\r\n"
    );
    stream.write_all(nowhere.as_bytes()).await.unwrap();
    let reply = read_reply(&mut stream, false).await;
    assert_eq!((reply.status, reply.header("connection")), (404, None));
    // Who has not sent the end is not waited for.
    let unended = format!(
        "POST /db HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n{}",
        chunk(&chunks[0])
    );
    stream.write_all(unended.as_bytes()).await.unwrap();
    let reply = read_reply(&mut stream, false).await;
    assert_eq!(
        (reply.status, reply.header("connection")),
        (429, Some("close"))
    );
}

/// Promise 7.7: without a `table` in the first MiB a request counts in `__unknown__` and is 413.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_without_a_table_in_its_first_mebibyte_is_413() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let mut body = br#"{"object":{"title":""#.to_vec();
    body.resize((1 << 20) + 1, b'x');
    for _ in 0..100 {
        assert_eq!(client.send("POST", "/db", Some(&body)).await.status, 413);
    }
    let refused = client.send("POST", "/db", Some(&body)).await;
    assert_eq!(
        (refused.status, refused.json()["collection"].as_str()),
        (429, Some("__unknown__"))
    );
}

/// A request that its client gives up has been counted.
#[tokio::test(flavor = "multi_thread")]
async fn aborted_requests_are_counted() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let request = client.request(
        "POST",
        "/db",
        Some(br#"{"table":"tasks","object":{"title":"never"}}"#),
    );
    for _ in 0..10 {
        let mut stream = client.connect().await;
        stream
            .write_all(&request[..request.len() - 5])
            .await
            .unwrap();
        stream.shutdown().await.unwrap();
        let mut rest = Vec::new();
        // The server has read what came before it saw the end.
        let _ = stream.read_to_end(&mut rest).await;
    }
    assert_eq!(
        client
            .json("POST", "/db", &json!({"table": "tasks"}))
            .await
            .status,
        429
    );
}

/// Pipelined requests are answered in order.
#[tokio::test(flavor = "multi_thread")]
async fn pipelined_requests_are_answered_in_order() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let mut stream = client.connect().await;
    let one = client.request("GET", "/nowhere", None);
    let mut both = one.clone();
    both.extend_from_slice(&client.request("GET", "/health", None));
    stream.write_all(&both).await.unwrap();
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains("policies") {
        assert_ne!(stream.read_buf(&mut bytes).await.unwrap(), 0);
    }
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.starts_with("HTTP/1.1 404"), "{text}");
    assert!(text.contains("HTTP/1.1 200"), "{text}");
}
