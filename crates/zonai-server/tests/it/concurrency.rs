//! Many requests at one moment.

use serde_json::json;
use tokio::task::JoinSet;
use zonai_test::{Project, TestServer};

/// Of 1,000 parallel creates exactly 100 are not refused, client after client, and the rows are the 200s.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_thousand_parallel_requests_exactly_the_limit_is_admitted() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let mut rows = 0;
    for turn in 1..=5 {
        let client = server.client_at(&format!("127.0.2.{turn}"));
        let mut tasks = JoinSet::new();
        for number in 0..1_000 {
            let client = client.clone();
            tasks.spawn(async move {
                let note =
                    json!({"table": "notes", "object": {"text": format!("{turn}-{number}")}});
                client.json("POST", "/db", &note).await.status
            });
        }
        let statuses = tasks.join_all().await;
        let count = |status| statuses.iter().filter(|&&s| s == status).count();
        assert_eq!(count(429), 900, "turn {turn}");
        assert_eq!(count(200) + count(503), 100, "turn {turn}");
        rows += count(200);
    }
    let reply = server
        .client()
        .get("/db/count", &json!({"table": "notes"}))
        .await;
    assert_eq!(reply.json(), json!({"data": rows}));
}
