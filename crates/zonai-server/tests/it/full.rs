//! When there is no room: the answer says when to come back, what was promised is kept, and it goes on afterwards.
//!
//! The writer is held by an operation of the test's own, for as long as the test wants.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use zonai_code::{CustomOperation, OperationError, OperationRequest, Performed};
use zonai_server::Additions;
use zonai_test::{Client, Project, Reply, TestServer};

use crate::reload::ask;

/// Nothing takes longer, even on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(9);

/// Holds the writer until it is let go.
struct Hold {
    entered: SyncSender<()>,
    released: Mutex<Option<Receiver<()>>>,
}

impl CustomOperation for Hold {
    const TABLE: &'static str = "notes";
    const NAME: &'static str = "hold";

    async fn perform(&self, request: OperationRequest) -> Result<Performed, OperationError> {
        let entered = self.entered.clone();
        let released = self.released.lock().take();
        request
            .transaction(move |_| {
                entered.send(()).unwrap();
                // Also where the test has failed.
                let _ = released.unwrap().recv_timeout(PATIENCE);
                Ok(Value::Null)
            })
            .await
    }
}

/// A server whose writer is held until the sender says so.
async fn held(project: &Project) -> (TestServer, SyncSender<()>, JoinSet<Reply>) {
    let rules = std::fs::read_to_string(project.path("lib/src/rules/notes.yaml")).unwrap();
    let rules = format!("{rules}custom: {{hold: true}}\n");
    project.file("lib/src/rules/notes.yaml", &rules);
    let (entered, has_entered) = sync_channel(1);
    let (release, released) = sync_channel(1);
    let mut additions = Additions::default();
    additions.operations.add(Hold {
        entered,
        released: Mutex::new(Some(released)),
    });
    let server = TestServer::start_with(project, additions).await;
    let client = server.client();
    let mut asked = JoinSet::new();
    asked.spawn(async move {
        let notes = json!({"table": "notes"});
        client.json("PATCH", "/db/custom/hold", &notes).await
    });
    let waited = tokio::task::spawn_blocking(move || has_entered.recv_timeout(PATIENCE));
    waited.await.unwrap().expect("the writer is held");
    (server, release, asked)
}

async fn notes(server: &TestServer) -> u64 {
    let client = server.client();
    let reply = client.get("/db/count", &json!({"table": "notes"})).await;
    reply.json()["data"].as_u64().unwrap()
}

/// Promise 4.6: 503 with the second to wait, and nothing of a limit; what was taken is written.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_too_many_is_503_and_those_before_it_are_written() {
    let project = Project::tasks();
    let (server, release, mut asked) = held(&project).await;
    let mut writes = JoinSet::new();
    for number in 0..180 {
        let client = server.client_at(&format!("127.0.4.{}", number / 90));
        writes.spawn(async move {
            let note = json!({"table": "notes", "object": {"text": format!("{number}")}});
            client.json("POST", "/db", &note).await
        });
    }
    let first = tokio::time::timeout(PATIENCE, writes.join_next()).await;
    let first = first.expect("a write is turned away").unwrap().unwrap();
    assert_eq!(first.status, 503, "{}", first.text());
    assert_eq!(first.header("retry-after"), Some("1"));
    assert!(
        first
            .headers
            .iter()
            .all(|(name, _)| !name.starts_with("x-ratelimit"))
    );
    release.send(()).unwrap();
    let mut written = 0;
    while let Some(reply) = writes.join_next().await {
        match reply.unwrap().status {
            200 => written += 1,
            status => assert_eq!(status, 503),
        }
    }
    assert!(written >= 64, "{written}");
    assert_eq!(asked.join_next().await.unwrap().unwrap().status, 200);
    assert_eq!(notes(&server).await, written);
}

/// Promise S7: a job that runs is not begun a second time.
#[tokio::test(flavor = "multi_thread")]
async fn a_job_never_runs_twice_at_once() {
    let project = Project::tasks();
    project.file("lib/src/crons/grow.yaml", "schedule: \"0 3 * * *\"\nsql: INSERT INTO notes (id, text) VALUES (hex(randomblob(8)), 'a')\n");
    let (server, release, _asked) = held(&project).await;
    let run = json!({"command": "cron.run", "name": "grow"});
    let mut runs = JoinSet::new();
    let project = std::sync::Arc::new(project);
    for _ in 0..3 {
        let (project, run) = (std::sync::Arc::clone(&project), run.clone());
        runs.spawn(async move { ask(&project, &run).await });
    }
    for _ in 0..2 {
        let told = tokio::time::timeout(PATIENCE, runs.join_next()).await;
        let told = told.expect("all but one are told").unwrap().unwrap();
        assert_eq!(
            (&told["ok"], &told["message"]),
            (&json!(false), &json!("the job `grow` is running"))
        );
    }
    release.send(()).unwrap();
    assert_eq!(runs.join_next().await.unwrap().unwrap()["ok"], true);
    assert_eq!(notes(&server).await, 1);
}

/// A create whose body stops short of its end.
async fn half_a_body(client: &Client, bytes: usize) -> TcpStream {
    let mut stream = client.connect().await;
    let whole = client.request("POST", "/db", Some(&vec![b' '; bytes + 1]));
    let (head, _) = whole.split_at(whole.len() - bytes - 1);
    stream.write_all(head).await.unwrap();
    let begin = br#"{"table":"notes","object":{"text":""#;
    stream.write_all(begin).await.unwrap();
    let rest = vec![b'x'; bytes - begin.len()];
    stream.write_all(&rest).await.unwrap();
    stream
}

/// Asks until the answer has this status.
async fn until(client: &Client, status: u16) -> Reply {
    let note = json!({"table": "notes", "object": {"text": "y".repeat(300_000)}});
    let asks = async {
        loop {
            let reply = client.json("POST", "/db", &note).await;
            if reply.status == status {
                return reply;
            }
            // No more than 100 of them are admitted.
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let told = tokio::time::timeout(PATIENCE, asks).await;
    told.unwrap_or_else(|_| panic!("never {status}"))
}

/// Promise 7.7: what one client's bodies hold is bounded, and another's are received meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_one_client_are_bounded_and_others_are_served() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let greedy = server.client_at("127.0.5.1");
    let mut halves = Vec::new();
    for _ in 0..4 {
        halves.push(half_a_body(&greedy, 1_000_000).await);
    }
    let told = until(&greedy, 503).await;
    assert_eq!(told.header("retry-after"), Some("1"));
    assert!(
        told.text().contains("request bodies saturated"),
        "{}",
        told.text()
    );
    let other = server.client_at("127.0.5.2");
    let note = json!({"table": "notes", "object": {"text": "y".repeat(300_000)}});
    assert_eq!(other.json("POST", "/db", &note).await.status, 200);
    // Gone is gone: the room is there again.
    drop(halves);
    until(&greedy, 200).await;
}

/// Promise 7.7: what all clients' bodies hold is bounded.
#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_all_clients_are_bounded() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let mut halves = Vec::new();
    for client in 0..20 {
        let client = server.client_at(&format!("127.0.6.{client}"));
        for _ in 0..4 {
            halves.push(half_a_body(&client, 1_000_000).await);
        }
    }
    let other = server.client_at("127.0.6.99");
    until(&other, 503).await;
    drop(halves);
    until(&other, 200).await;
}

/// A server with a table of which the list is 20 MB long.
async fn served_with_20_mb(project: &Project) -> TestServer {
    let server = TestServer::start(project).await;
    let note = json!({"table": "notes", "object": {"text": "x".repeat(1_000_000)}});
    for _ in 0..20 {
        assert_eq!(server.client().json("POST", "/db", &note).await.status, 200);
    }
    server
}

/// A request whose answer has begun to come, and is not read.
async fn untaken(client: &Client, target: &str) -> TcpStream {
    let mut stream = client.connect().await;
    stream
        .write_all(&client.request("GET", target, None))
        .await
        .unwrap();
    stream.readable().await.unwrap();
    stream
}

/// Promise 7.7: large results that nobody takes are bounded, and others are served meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn results_that_a_client_does_not_take_are_bounded() {
    let project = Project::tasks();
    let server = served_with_20_mb(&project).await;
    let all = json!({"table": "notes"});
    let greedy = server.client_at("127.0.7.1");
    let list = zonai_test::target("/db/list", &all);
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(untaken(&greedy, &list).await);
    }
    let told = greedy.get("/db/list", &all).await;
    assert_eq!((told.status, told.header("retry-after")), (503, Some("1")));
    assert!(told.text().contains("answers saturated"), "{}", told.text());
    let one = json!({"table": "notes", "limit": 1, "where": {"text": {"eq": "y"}}});
    assert_eq!(greedy.get("/db/list", &one).await.status, 200, "small ones");
    let other = server.client_at("127.0.7.2").get("/db/list", &all).await;
    assert_eq!(other.status, 200);
    assert!(other.body.len() > 20_000_000);
    // Gone is gone: the room is there again.
    drop(held);
    let asks = async {
        while greedy.get("/db/list", &all).await.status == 503 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asks).await.expect("room");
}

/// The same of live queries: one that cannot be held ends, and says why.
#[tokio::test(flavor = "multi_thread")]
async fn results_of_live_queries_that_a_client_does_not_take_are_bounded() {
    let project = Project::tasks();
    let server = served_with_20_mb(&project).await;
    let all = zonai_test::target("/db/stream/list", &json!({"table": "notes"}));
    let greedy = server.client_at("127.0.8.1");
    // The result itself, and a message of it for each of two.
    let _held = [untaken(&greedy, &all).await, untaken(&greedy, &all).await];
    let mut stream = untaken(&greedy, &all).await;
    let mut said = String::new();
    let ends = tokio::time::timeout(PATIENCE, async {
        while !said.contains("answers saturated") {
            let mut piece = [0; 4_096];
            let read = stream.read(&mut piece).await.unwrap();
            assert!(read > 0, "{said}");
            said.push_str(&String::from_utf8_lossy(&piece[..read]));
        }
    });
    ends.await.expect("it says why it ends");
    assert!(!said.contains("xxxx"), "nothing of the result");
}
