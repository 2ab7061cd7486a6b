//! Live queries: what they cost, what they send, and when they end.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use zonai_test::{Client, Project, TestServer, read_reply, target};

use crate::{DEFAULT, list};

/// No message takes longer; a test that waits for one fails.
const PATIENCE: Duration = Duration::from_secs(20);

/// An open stream, read message by message.
struct Stream {
    socket: TcpStream,
    bytes: Vec<u8>,
    head: String,
}

impl Stream {
    async fn open(client: &Client, path: &str, body: &Value) -> Self {
        let mut socket = client.connect().await;
        socket
            .write_all(&client.request("GET", &target(path, body), None))
            .await
            .unwrap();
        let mut stream = Self {
            socket,
            bytes: Vec::new(),
            head: String::new(),
        };
        stream.head = stream.until("\r\n\r\n").await;
        stream
    }

    /// Everything up to `end`, which is left out.
    async fn until(&mut self, end: &str) -> String {
        let waiting = async {
            loop {
                if let Some(at) = self
                    .bytes
                    .windows(end.len())
                    .position(|part| part == end.as_bytes())
                {
                    let rest = self.bytes.split_off(at + end.len());
                    let mut text = std::mem::replace(&mut self.bytes, rest);
                    text.truncate(at);
                    return String::from_utf8(text).unwrap();
                }
                assert_ne!(
                    self.socket.read_buf(&mut self.bytes).await.unwrap(),
                    0,
                    "the stream ended"
                );
            }
        };
        tokio::time::timeout(PATIENCE, waiting)
            .await
            .expect("no message came")
    }

    /// The next message: one HTTP chunk.
    async fn chunk(&mut self) -> String {
        let size = self.until("\r\n").await;
        let size = usize::from_str_radix(&size, 16).unwrap();
        let text = self.until("\r\n").await;
        assert_eq!(text.len(), size, "one chunk a message: {text}");
        text
    }

    async fn message(&mut self) -> Value {
        serde_json::from_str(self.chunk().await.trim_end()).unwrap()
    }
}

async fn add(client: &Client, table: &str, column: &str, value: &str) {
    let reply = client
        .json(
            "POST",
            "/db",
            &json!({"table": table, "object": {column: value}}),
        )
        .await;
    assert_eq!(reply.status, 200, "{}", reply.text());
}

/// The current result comes first, then one message for each change of it.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_tells_the_result_and_each_change_of_it() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let mut count = Stream::open(&client, "/db/stream/count", &json!({"table": "notes"})).await;
    assert!(
        count.head.contains("content-type: application/x-ndjson"),
        "{}",
        count.head
    );
    assert_eq!(count.message().await, json!({"data": 0}));
    add(&client, "notes", "text", "one").await;
    assert_eq!(count.message().await, json!({"data": 1}));

    // A write that leaves the result the same sends nothing: the next message is of the next change.
    let mut ones = Stream::open(
        &client,
        "/db/stream/list",
        &json!({"table": "notes", "where": {"text": {"eq": "one"}}}),
    )
    .await;
    assert_eq!(ones.message().await["data"]["total"], 1);
    add(&client, "notes", "text", "two").await;
    add(&client, "notes", "text", "one").await;
    assert_eq!(ones.message().await["data"]["total"], 2);
}

/// `EventSource` reads what it asks for.
#[tokio::test(flavor = "multi_thread")]
async fn server_sent_events_have_an_id_and_data() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let events = client.with("accept", "text/event-stream");
    let mut stream = Stream::open(&events, "/db/stream/count", &json!({"table": "notes"})).await;
    assert!(
        stream.head.contains("content-type: text/event-stream"),
        "{}",
        stream.head
    );
    assert_eq!(stream.chunk().await, "id: 1\ndata: {\"data\":0}\n\n");
    add(&client, "notes", "text", "x").await;
    assert_eq!(stream.chunk().await, "id: 2\ndata: {\"data\":1}\n\n");
}

/// A row that is not there yet is null, and comes when it is made.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_of_one_row_waits_for_it() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let question = json!({"table": "notes", "where": {"text": {"eq": "awaited"}}});
    let mut stream = Stream::open(&client, "/db/stream", &question).await;
    assert_eq!(stream.message().await, json!({"data": null}));
    add(&client, "notes", "text", "awaited").await;
    assert_eq!(stream.message().await["data"]["text"], "awaited");
}

/// Promise 1.4: opening costs one of the one-shot twin; an open stream stays open when its window is used up.
#[tokio::test(flavor = "multi_thread")]
async fn opening_costs_one_and_an_open_stream_stays_open() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let question = json!({"table": "notes"});
    let mut stream = Stream::open(&client, "/db/stream/list", &question).await;
    stream.message().await;
    for _ in 1..DEFAULT {
        assert_eq!(list(&client, "notes").await.status, 200);
    }
    assert_eq!(list(&client, "notes").await.status, 429);
    let refused = client.get("/db/stream/list", &question).await;
    assert_eq!(
        (refused.status, refused.json()["operation"].as_str()),
        (429, Some("list"))
    );
    add(&client, "notes", "text", "still told").await;
    assert_eq!(stream.message().await["data"]["total"], 1);
}

/// Promise S5: places per client; the read counter is not charged, and closing one frees its place at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_has_so_many_places_and_no_more() {
    let project = Project::tasks();
    project.file(
        "zonai.yaml",
        "listen: [\"127.0.0.1:0\"]\nserver:\n  streamsPerClient: 2\n",
    );
    let server = TestServer::start(&project).await;
    let client = server.client();
    let question = json!({"table": "notes"});
    let first = Stream::open(&client, "/db/stream/list", &question).await;
    let _second = Stream::open(&client, "/db/stream/list", &question).await;
    for _ in 0..150 {
        let refused = client.get("/db/stream/list", &question).await;
        let body = "{\"error\":\"Rate limit exceeded\",\"collection\":\"notes\",\"operation\":\"stream\",\"retryAfter\":5}";
        assert_eq!((refused.status, refused.text()), (429, body));
        assert_eq!(refused.header("x-ratelimit-limit"), Some("2"));
    }
    assert_eq!(
        list(&client, "notes").await.status,
        200,
        "the read counter was not charged"
    );
    assert!(
        Stream::open(&server.client_at("127.0.0.9"), "/db/stream/list", &question)
            .await
            .head
            .contains("200")
    );
    drop(first);
    let freed = async {
        loop {
            let mut socket = client.connect().await;
            socket
                .write_all(&client.request("GET", &target("/db/stream/count", &question), None))
                .await
                .unwrap();
            let mut status = [0; 12];
            socket.read_exact(&mut status).await.unwrap();
            if &status == b"HTTP/1.1 200" {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, freed)
        .await
        .expect("the place was not freed");
}

/// What cannot be asked is a plain error, and holds nothing open.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_asked_is_a_plain_error() {
    let project = Project::tasks();
    project.file(
        "lib/src/schemas/002_closed.sql",
        "CREATE TABLE closed (id TEXT PRIMARY KEY);\n",
    );
    let server = TestServer::start(&project).await;
    let client = server.client();
    assert_eq!(
        client
            .get("/db/stream/list", &json!({"table": "closed"}))
            .await
            .status,
        403
    );
    assert_eq!(
        client
            .get("/db/stream/list", &json!({"table": "none"}))
            .await
            .status,
        404
    );
    let wrong = json!({"table": "notes", "where": {"txet": {"eq": 1}}});
    let reply = client.get("/db/stream/list", &wrong).await;
    assert_eq!(reply.status, 400);
    assert!(reply.text().contains("txet"), "{}", reply.text());
    let head = client
        .send(
            "HEAD",
            &target("/db/stream/list", &json!({"table": "notes"})),
            None,
        )
        .await;
    assert_eq!((head.status, head.body.len()), (200, 0));
}

/// A stop ends streams and does not wait for them.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_ends_streams() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let mut stream = Stream::open(&client, "/db/stream/count", &json!({"table": "notes"})).await;
    stream.message().await;
    let stopped = tokio::time::timeout(Duration::from_secs(8), server.running.stop()).await;
    assert!(stopped.expect("the stop waits for a stream"));
    assert_eq!(
        stream.until("\r\n").await,
        "0",
        "the body is ended, not cut"
    );
}

/// Changes of another process are seen.
#[tokio::test(flavor = "multi_thread")]
async fn changes_of_another_process_are_seen() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let mut stream = Stream::open(
        &server.client(),
        "/db/stream/count",
        &json!({"table": "notes"}),
    )
    .await;
    assert_eq!(stream.message().await, json!({"data": 0}));
    let file = project.path(".zonai/data/zonai.sqlite");
    let other = rusqlite::Connection::open(file).unwrap();
    other.busy_timeout(PATIENCE).unwrap();
    other
        .execute(
            "INSERT INTO notes (id, text) VALUES ('x', 'from outside')",
            [],
        )
        .unwrap();
    assert_eq!(stream.message().await, json!({"data": 1}));
}

/// Many streams of few questions all see the last state soon after the last write.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_streams_see_the_last_state() {
    const STREAMS: usize = 200;
    const WRITES: usize = 50;
    let project = Project::tasks();
    project.file(
        "lib/src/rate_limit/notes.yaml",
        "table: notes\nlimits:\n  create: none\n  list: none\n",
    );
    let server = TestServer::start(&project).await;
    let client = server.client();
    let mut streams = Vec::new();
    for number in 0..STREAMS {
        let question = json!({"table": "notes", "limit": 1 + number % 20});
        streams.push(Stream::open(&client, "/db/stream/list", &question).await);
    }
    for number in 0..WRITES {
        add(&client, "notes", "text", &format!("note {number}")).await;
    }
    let last = async {
        for stream in &mut streams {
            while stream.message().await["data"]["total"] != json!(WRITES) {}
        }
    };
    tokio::time::timeout(PATIENCE, last)
        .await
        .expect("a stream did not see the last state");
    let mut socket = client.connect().await;
    socket
        .write_all(&client.request("GET", "/health", None))
        .await
        .unwrap();
    assert_eq!(read_reply(&mut socket, false).await.status, 200);
}
