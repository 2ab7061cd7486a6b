//! The end of a server: nothing is cut, nothing is forgotten.

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
