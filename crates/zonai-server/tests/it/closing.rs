//! Connections that close: the last answer still arrives.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use zonai_test::{Project, TestServer, read_reply};

/// What the server says to these bytes before it closes.
async fn said_to(server: &TestServer, bytes: &[u8]) -> String {
    let mut stream = server.client().connect().await;
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    let ended =
        tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await;
    // What was sent after the end may reset the connection, when the answer has arrived.
    let _ = ended.expect("the connection stays open");
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_cannot_be_read_is_400() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    for head in [
        "GET /health HTTP/9.9\r\nhost: x\r\n\r\n",
        "no request at all\r\n\r\n",
        "GET / HTTP/1.1\r\na b: c\r\n\r\n",
    ] {
        for following in ["", "GET /health HTTP/1.1\r\nhost: x\r\n\r\n"] {
            let answer = said_to(&server, format!("{head}{following}").as_bytes()).await;
            assert!(
                answer.starts_with("HTTP/1.1 400 "),
                "{head:?} {following:?}: {answer:?}"
            );
        }
    }
}

/// Clients of old send a stray line after a body; others send a request too many.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_answer_is_not_lost_to_what_follows_the_request() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let request = "GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    for following in ["\r\n", "GET /health HTTP/1.1\r\nhost: x\r\n\r\n", "garbage"] {
        let answer = said_to(&server, format!("{request}{following}").as_bytes()).await;
        assert!(
            answer.starts_with("HTTP/1.1 200 "),
            "{following:?}: {answer:?}"
        );
    }
}

/// promise 7.7: ten seconds for a head also where it began in one piece with the request before; a connection that is
/// idle is kept.
#[tokio::test(flavor = "multi_thread")]
async fn half_a_head_behind_a_whole_request_ends_the_connection_after_ten_seconds() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let task = json!({"table": "tasks", "object": {"title": "x"}}).to_string();
    let chunks = format!(
        "POST /db HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{task}\r\n0\r\n\r\n",
        task.len()
    );
    let requests = [
        client.request("GET", "/health", None),
        client.request("POST", "/db", Some(task.as_bytes())),
        chunks.into_bytes(),
    ];
    let (mut half, mut idle) = (Vec::new(), Vec::new());
    for request in &requests {
        for (following, of) in [("GET /health HT", &mut half), ("", &mut idle)] {
            let mut stream = client.connect().await;
            let bytes = [request, following.as_bytes()].concat();
            stream.write_all(&bytes).await.unwrap();
            assert!(read_reply(&mut stream, false).await.status < 300);
            of.push(stream);
        }
    }
    server.hand.advance_ms(11_000);
    for (at, mut stream) in half.into_iter().enumerate() {
        let mut rest = Vec::new();
        let ended = stream.read_to_end(&mut rest);
        let ended = tokio::time::timeout(Duration::from_secs(20), ended).await;
        assert!(ended.is_ok(), "the connection of request {at} stays open");
    }
    for mut stream in idle {
        let request = client.request("GET", "/health", None);
        stream.write_all(&request).await.unwrap();
        assert_eq!(read_reply(&mut stream, false).await.status, 200);
    }
}
