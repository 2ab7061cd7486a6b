//! `/health`: what anybody may know.

use serde_json::json;
use zonai_test::{Project, TestServer};

/// promises 7.2: the fault of the counter file is told, and not where on this machine the file is.
#[tokio::test(flavor = "multi_thread")]
async fn a_counter_file_that_cannot_be_opened_is_told_without_its_path() {
    let project = Project::tasks();
    std::fs::create_dir_all(project.path(".zonai/data/zonai_rate_limit.sqlite")).unwrap();
    let server = TestServer::start(&project).await;
    let client = server.client();
    assert_eq!(crate::list(&client, "notes").await.status, 200);
    let health = client.send("GET", "/health", None).await;
    let counters = &health.json()["counters"];
    assert_eq!(counters["status"], json!("degraded"), "{counters}");
    let reason = json!("the counter file cannot be opened");
    assert_eq!(counters["reason"], reason);
    assert!(!health.text().contains('/'), "{}", health.text());
}
