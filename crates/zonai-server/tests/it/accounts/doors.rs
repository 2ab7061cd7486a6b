//! Every door to one secret shares one budget.

use serde_json::json;
use zonai_test::TestServer;

use super::{BAD, GOOD, door, project, refusal, refused, sign_in, sign_up};

/// Promise 3.4: guesses through all doors together stop at the sign-in policy; another address is no way around.
#[tokio::test(flavor = "multi_thread")]
async fn guessing_through_all_doors_stops_at_the_sign_in_policy() {
    let project = project(&["signIn: 6/1h", "failedSignIn: none"]);
    let server = TestServer::start(&project).await;
    sign_up(&server.client_at("127.0.4.1"), "ada@x.org").await;
    let guesser = server.client_at("127.0.4.2");
    for nth in 0..6 {
        let (path, body) = door(nth, "ada@x.org", BAD);
        let reply = guesser.json("POST", path, &body).await;
        assert_eq!(
            (reply.status, reply.text()),
            (401, r#"{"error":"Invalid email or password"}"#),
            "{path}"
        );
    }
    for nth in 0..8 {
        let email = if nth < 4 {
            "ada@x.org".to_owned()
        } else {
            format!("other{nth}@x.org")
        };
        let (path, body) = door(nth, &email, GOOD);
        let reply = guesser.json("POST", path, &body).await;
        assert_eq!(
            refusal(&reply),
            refused("users", "signIn", 6, 3_600),
            "{path}"
        );
    }
    assert_eq!(super::sql::<i64>(&project, "SELECT count(*) FROM users"), 1);
    assert_eq!(
        sign_in(&server.client_at("127.0.4.3"), "ada@x.org", GOOD)
            .await
            .status,
        200
    );
    server.hand.advance_ms(3_600_000);
    assert_eq!(sign_in(&guesser, "ada@x.org", GOOD).await.status, 200);
}

/// A sign-up is refused where sign-ups or sign-ins are used up, and then costs nothing in the other.
#[tokio::test(flavor = "multi_thread")]
async fn a_sign_up_counts_as_sign_up_and_as_sign_in() {
    let project = project(&["signUp: 2/1h", "signIn: 4/1m"]);
    let server = TestServer::start(&project).await;
    let client = server.client();
    // Wrong in form, so that no hash is spent; counted all the same.
    let no_password = json!({"email": "ada@x.org"});
    for _ in 0..2 {
        assert_eq!(
            client
                .json("POST", "/auth/sign-up", &no_password)
                .await
                .status,
            400
        );
    }
    for _ in 0..3 {
        let reply = client.json("POST", "/auth/sign-up", &no_password).await;
        assert_eq!(refusal(&reply), refused("users", "signUp", 2, 3_600));
    }
    for _ in 0..2 {
        assert_eq!(
            client
                .json("POST", "/auth/sign-in", &no_password)
                .await
                .status,
            400,
            "two sign-ins are left"
        );
    }
    let reply = client.json("POST", "/auth/sign-in", &no_password).await;
    assert_eq!(refusal(&reply), refused("users", "signIn", 4, 60));
    let authenticate = json!({"type": "signUp", "email": "ada@x.org"});
    let reply = client.json("POST", "/auth", &authenticate).await;
    assert_eq!(
        refusal(&reply),
        refused("users", "signUp", 2, 3_600),
        "of both the one that resets last"
    );
}

/// Another `email` in each body reaches the same counter, on every route that takes one.
#[tokio::test(flavor = "multi_thread")]
async fn another_address_in_each_body_is_the_same_counter() {
    let project = project(&[
        "signIn: 5/1m",
        "signUp: 5/1m",
        "sendOtp: 5/1m",
        "sendMagicLink: 5/1m",
        "sendResetPassword: 5/1m",
        "sendVerifyEmail: 5/1m",
    ]);
    let server = TestServer::start(&project).await;
    let routes = [
        ("/auth/sign-in", json!({})),
        ("/auth/sign-up", json!({})),
        ("/auth", json!({"type": "sendOtp"})),
        ("/auth", json!({"type": "sendMagicLink"})),
        ("/auth/reset-password", json!({})),
        ("/auth/verify-email", json!({})),
    ];
    for (at, (path, mut body)) in routes.into_iter().enumerate() {
        let client = server.client_at(&format!("127.0.4.{}", 10 + at));
        for nth in 1..=8 {
            body["email"] = json!(format!("user{nth}@example{nth}.org"));
            let status = client.json("POST", path, &body).await.status;
            assert_eq!(status, if nth <= 5 { 400 } else { 429 }, "{path} {body}");
        }
    }
}
