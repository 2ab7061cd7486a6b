//! Each auth route refuses with the collection, operation and limit that promises 3.3 and 6.1 give it.

use serde_json::{Value, json};
use tokio::task::JoinSet;
use zonai_test::TestServer;

use super::{project, refusal, refused};
use crate::use_up;

type Expected = (&'static str, &'static str, usize, u64);
type Case = (&'static str, &'static str, Value, Expected);

const SIGN_IN: Expected = ("users", "signIn", 100, 60);
const SIGN_UP: Expected = ("users", "signUp", 100, 60);
const AUTHENTICATE: Expected = ("users", "authenticate", 100, 60);
const ADMIN: Expected = ("__admin_auth__", "adminAuthenticate", 10, 900);
const CONFIRM: Expected = ("__auth_confirm__", "confirm", 100, 60);
const UNKNOWN: Expected = ("__unknown__", "unknown", 100, 60);

/// Bodies that are wrong in form: each is counted, none is hashed.
fn cases() -> Vec<Case> {
    let kind = |kind: &str| json!({"type": kind});
    let header = |operation| ("__auth_header__", operation, 100, 60);
    vec![
        ("POST", "/auth/sign-in", json!({}), SIGN_IN),
        (
            "POST",
            "/auth/sign-in",
            json!({"table": "users", "email": 1}),
            SIGN_IN,
        ),
        ("POST", "/auth", kind("signIn"), SIGN_IN),
        ("POST", "/auth/sign-up", json!({}), SIGN_UP),
        ("POST", "/auth", kind("signUp"), SIGN_UP),
        ("POST", "/auth", json!({}), AUTHENTICATE),
        ("POST", "/auth", json!({"type": 7}), AUTHENTICATE),
        ("POST", "/auth", kind("SIGNIN"), AUTHENTICATE),
        (
            "POST",
            "/auth",
            kind("sendOtp"),
            ("users", "sendOtp", 5, 900),
        ),
        (
            "POST",
            "/auth",
            kind("sendMagicLink"),
            ("users", "sendMagicLink", 5, 900),
        ),
        (
            "POST",
            "/auth/reset-password",
            json!({}),
            ("users", "sendResetPassword", 5, 3_600),
        ),
        (
            "POST",
            "/auth/verify-email",
            json!({}),
            ("users", "sendVerifyEmail", 5, 3_600),
        ),
        ("POST", "/auth/confirm", kind("verifyOtp"), CONFIRM),
        (
            "POST",
            "/auth/confirm",
            kind("confirmResetPassword"),
            CONFIRM,
        ),
        ("POST", "/auth/confirm", json!({}), CONFIRM),
        ("POST", "/auth/refresh", json!({}), header("refreshToken")),
        ("DELETE", "/auth", json!({}), header("logout")),
        ("DELETE", "/auth/all", json!({}), header("logoutAll")),
        // Anything for an admin, at every door.
        ("POST", "/auth/admin", json!({}), ADMIN),
        ("POST", "/auth/admin", kind("adminSignIn"), ADMIN),
        (
            "POST",
            "/auth/admin",
            json!({"table": "users", "type": "signIn"}),
            ADMIN,
        ),
        ("POST", "/auth", kind("adminSignIn"), ADMIN),
        (
            "POST",
            "/auth",
            json!({"type": "adminSendOtp", "table": "users"}),
            ADMIN,
        ),
        (
            "POST",
            "/auth",
            json!({"t\u{79}pe": "signIn", "table": "staff"}),
            ADMIN,
        ),
        ("POST", "/auth/sign-in", json!({"table": "staff"}), ADMIN),
        ("POST", "/auth/sign-in", kind("administrator"), ADMIN),
        ("POST", "/auth/sign-up", json!({"table": "staff"}), ADMIN),
        (
            "POST",
            "/auth/reset-password",
            json!({"table": "staff"}),
            ADMIN,
        ),
        (
            "POST",
            "/auth/verify-email",
            json!({"table": "staff"}),
            ADMIN,
        ),
        (
            "POST",
            "/auth/confirm",
            json!({"table": "staff", "type": "verifyOtp"}),
            ADMIN,
        ),
        // What is no auth table.
        ("POST", "/auth/sign-in", json!({"table": "notes"}), UNKNOWN),
        ("POST", "/auth/sign-in", json!({"table": "ghost"}), UNKNOWN),
        ("POST", "/auth", json!({"table": 7}), UNKNOWN),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_auth_route_refuses_by_its_own_policy() {
    let project = project(&[]);
    let server = TestServer::start(&project).await;
    let mut running = JoinSet::new();
    for (at, (method, path, body, expected)) in cases().into_iter().enumerate() {
        let client = server.client_at(&format!("127.0.8.{}", at + 1));
        running.spawn(async move {
            let (collection, operation, limit, seconds) = expected;
            use_up(&client, method, path, &body, limit).await;
            let reply = crate::send(&client, method, path, &body).await;
            let expected = refused(collection, operation, limit as u64, seconds);
            assert_eq!(refusal(&reply), expected, "{method} {path} {body}");
        });
    }
    running.join_all().await;
}

/// `POST /auth` counts beside the operation of its body, and the mails do not count as sign-ins.
#[tokio::test(flavor = "multi_thread")]
async fn authenticate_counts_beside_the_operation_of_the_body() {
    let project = project(&["authenticate: 5/1h", "sendOtp: 2/1m", "signIn: 2/1m"]);
    let server = TestServer::start(&project).await;
    let client = server.client();
    for kind in ["sendOtp", "signIn"] {
        use_up(&client, "POST", "/auth", &json!({"type": kind}), 2).await;
        let reply = client.json("POST", "/auth", &json!({"type": kind})).await;
        assert_eq!(
            refusal(&reply),
            refused("users", kind, 2, 60),
            "a refused one costs nothing in `authenticate`"
        );
    }
    use_up(
        &client,
        "POST",
        "/auth",
        &json!({"type": "sendMagicLink"}),
        1,
    )
    .await;
    let reply = client
        .json("POST", "/auth", &json!({"type": "sendMagicLink"}))
        .await;
    assert_eq!(refusal(&reply), refused("users", "authenticate", 5, 3_600));
    let reply = client.json("POST", "/auth/sign-in", &json!({})).await;
    assert_eq!(
        refusal(&reply),
        refused("users", "signIn", 2, 60),
        "the other door to the same check"
    );
}

/// Promise 3.3: the auth routes and the `/db` traffic of a table are apart.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_tables_db_traffic_counts_elsewhere() {
    let project = project(&["signIn: 1/1h", "signUp: 1/1h", "authenticate: 1/1h"]);
    project.open_to_all("users");
    let server = TestServer::start(&project).await;
    let client = server.client();
    use_up(&client, "POST", "/auth/sign-up", &json!({}), 1).await;
    assert_eq!(
        client
            .json("POST", "/auth/sign-up", &json!({}))
            .await
            .status,
        429
    );
    use_up(
        &client,
        "GET",
        "/db/list",
        &json!({"table": "users"}),
        crate::DEFAULT,
    )
    .await;
    assert_eq!(crate::list(&client, "users").await.status, 429);
}
