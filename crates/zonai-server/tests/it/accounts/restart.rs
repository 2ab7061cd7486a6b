//! Promise 7.2 with a clean stop; the `kill -9` is tested with the real program.

use zonai_test::TestServer;

use super::{BAD, GOOD, project, refusal, refused, sign_in, sign_up};

/// A sign-in window and a window of failures that were used up still refuse after a restart, with the same reset.
#[tokio::test(flavor = "multi_thread")]
async fn used_up_sign_ins_are_still_refused_after_a_restart() {
    let project = project(&["signIn: 4/1h", "failedSignIn: 2/15m"]);
    let server = TestServer::start(&project).await;
    sign_up(&server.client_at("127.0.7.1"), "ada@x.org").await;
    for _ in 0..2 {
        assert_eq!(
            sign_in(&server.client(), "ada@x.org", BAD).await.status,
            401
        );
    }
    server.hand.advance_ms(60_000);
    let server = server.restart(&project).await;
    assert_eq!(
        refusal(&sign_in(&server.client(), "ada@x.org", GOOD).await),
        refused("users", "failedSignIn", 2, 840)
    );
    // What `failedSignIn` refused was not counted in `signIn`: two of its four are left.
    for _ in 0..2 {
        assert_eq!(
            sign_in(&server.client(), "eve@x.org", BAD).await.status,
            401
        );
    }
    let server = server.restart(&project).await;
    assert_eq!(
        refusal(&sign_in(&server.client(), "ada@x.org", GOOD).await),
        refused("users", "signIn", 4, 3_540)
    );
    assert_eq!(
        sign_in(&server.client_at("127.0.7.1"), "ada@x.org", GOOD)
            .await
            .status,
        200
    );
    server.hand.advance_ms(3_540_000);
    assert_eq!(
        sign_in(&server.client(), "ada@x.org", GOOD).await.status,
        200
    );
}

/// Places that were given back stay given back.
#[tokio::test(flavor = "multi_thread")]
async fn successes_are_no_failures_after_a_restart_either() {
    let project = project(&["failedSignIn: 1/15m"]);
    let server = TestServer::start(&project).await;
    sign_up(&server.client(), "ada@x.org").await;
    let server = server.restart(&project).await;
    assert_eq!(
        sign_in(&server.client(), "ada@x.org", GOOD).await.status,
        200
    );
    let server = server.restart(&project).await;
    assert_eq!(
        sign_in(&server.client(), "ada@x.org", BAD).await.status,
        401
    );
    let server = server.restart(&project).await;
    assert_eq!(
        sign_in(&server.client(), "ada@x.org", GOOD).await.status,
        429
    );
}
