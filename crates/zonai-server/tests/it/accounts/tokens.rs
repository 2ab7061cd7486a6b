//! Tokens: spelled in any way they are one, refreshed they rotate, revoked they end.

use serde_json::{Value, json};
use zonai_test::{Client, Project, Reply, TestServer};

use super::{GOOD, look, project, refusal, refused, session, sign_in, sign_up};

const SPELLINGS: [&str; 6] = [
    "Bearer ",
    "bearer   ",
    "",
    "BEARER\t",
    "  bEaReR  ",
    "Bearer \t ",
];

async fn with(client: &Client, method: &str, path: &str, authorization: &str) -> Reply {
    client
        .with("authorization", authorization)
        .send(method, path, None)
        .await
}

/// Every spelling of a token counts in the one counter of its client, and so do 150 invalid ones.
#[tokio::test(flavor = "multi_thread")]
async fn no_spelling_of_a_token_and_no_invalid_one_opens_another_counter() {
    let project = project(&[]);
    project.file(
        "lib/src/rate_limit/notes.yaml",
        "table: notes\nlimits:\n  list: 12/1m\n",
    );
    let server = TestServer::start(&project).await;
    let token = sign_up(&server.client(), "ada@x.org").await;
    for nth in 0..12 {
        assert_eq!(
            look(&server.client(), &format!("{}{token}", SPELLINGS[nth % 6])).await,
            200,
            "spelling {nth}"
        );
    }
    for spelling in SPELLINGS {
        assert_eq!(
            look(&server.client(), &format!("{spelling}{token}")).await,
            429,
            "{spelling:?}"
        );
    }
    assert_eq!(
        crate::list(&server.client(), "notes").await.status,
        429,
        "nor does leaving it out"
    );
    let client = server.client_at("127.0.10.1");
    for nth in 0..150 {
        let expected = if nth < 12 { 401 } else { 429 };
        assert_eq!(
            look(&client, &format!("{}invalid{nth}", SPELLINGS[nth % 6])).await,
            expected,
            "token {nth}"
        );
    }
    assert_eq!(
        look(&client, &token).await,
        429,
        "a good one has no higher limit"
    );
}

/// The same on the routes whose only subject is the token.
#[tokio::test(flavor = "multi_thread")]
async fn invalid_tokens_use_up_the_shared_bucket_of_their_route() {
    let project = project(&[]);
    let server = TestServer::start(&project).await;
    let client = server.client();
    let token = sign_up(&server.client_at("127.0.10.2"), "ada@x.org").await;
    for nth in 0..150 {
        let reply = with(
            &client,
            "POST",
            "/auth/refresh",
            &format!("{}bad{nth}", SPELLINGS[nth % 6]),
        )
        .await;
        assert_eq!(
            reply.status,
            if nth < 100 { 401 } else { 429 },
            "token {nth}"
        );
    }
    let reply = with(&client, "POST", "/auth/refresh", &token).await;
    assert_eq!(
        refusal(&reply),
        refused("__auth_header__", "refreshToken", 100, 60)
    );
    assert_eq!(
        with(&client, "DELETE", "/auth", &token).await.status,
        204,
        "log-out has a counter of its own"
    );
}

/// Promise S6b: a refresh gives a new token and ends the old one; of two at one moment one goes on.
#[tokio::test(flavor = "multi_thread")]
async fn a_refresh_rotates() {
    let project = project(&[]);
    let server = TestServer::start(&project).await;
    let client = server.client();
    let mut token = sign_up(&client, "ada@x.org").await;
    for spelling in SPELLINGS {
        let authorization = format!("{spelling}{token}");
        let next = session(&with(&client, "POST", "/auth/refresh", &authorization).await);
        assert_ne!(next, token);
        assert_eq!(
            (look(&client, &token).await, look(&client, &next).await),
            (401, 200)
        );
        assert_eq!(
            with(&client, "POST", "/auth/refresh", &authorization)
                .await
                .status,
            401,
            "used twice"
        );
        token = next;
    }
    let (one, two) = tokio::join!(
        with(&client, "POST", "/auth/refresh", &token),
        with(&client, "POST", "/auth/refresh", &token)
    );
    let mut statuses = [one.status, two.status];
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 401]);
}

/// `DELETE /auth` ends one token, `DELETE /auth/all` those of the account, and no other account's.
#[tokio::test(flavor = "multi_thread")]
async fn a_log_out_ends_one_token_or_all() {
    let project = project(&[]);
    let server = TestServer::start(&project).await;
    let client = server.client();
    let first = sign_up(&client, "ada@x.org").await;
    let other = sign_up(&client, "bob@x.org").await;
    let second = session(&sign_in(&client, "ada@x.org", GOOD).await);
    let third = session(&sign_in(&client, "ada@x.org", GOOD).await);
    let out = with(&client, "DELETE", "/auth", &first).await;
    assert_eq!((out.status, out.text()), (204, ""));
    assert_eq!(
        (look(&client, &first).await, look(&client, &second).await),
        (401, 200)
    );
    assert_eq!(
        with(&client, "DELETE", "/auth", &first).await.status,
        401,
        "a revoked one revokes nothing"
    );
    assert_eq!(
        with(&client, "DELETE", "/auth/all", &first).await.status,
        401
    );
    assert_eq!(
        with(&client, "DELETE", "/auth/all", &second).await.status,
        204
    );
    assert_eq!(
        (look(&client, &second).await, look(&client, &third).await),
        (401, 401)
    );
    assert_eq!(look(&client, &other).await, 200);
}

/// A token of another server, an expired, a changed and a revoked one, and none at all: one answer.
#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_not_good_is_401_and_the_answer_does_not_say_why() {
    let (project, elsewhere) = (project(&[]), foreign());
    let (server, other) = (
        TestServer::start(&project).await,
        TestServer::start(&elsewhere).await,
    );
    let client = server.client();
    let foreign = sign_up(&other.client(), "ada@x.org").await;
    let expired = sign_up(&client, "ada@x.org").await;
    server.hand.advance_ms(24 * 3_600_000 - 1);
    assert_eq!(look(&client, &expired).await, 200);
    server.hand.advance_ms(1);
    let fresh = session(&sign_in(&client, "ada@x.org", GOOD).await);
    let (head, rest) = fresh.split_once('.').unwrap();
    let (payload, signature) = rest.split_once('.').unwrap();
    let long = "a".repeat(10_000);
    let bad = [
        &foreign,
        &expired,
        &format!("{head}.{payload}A.{signature}"),
        &format!("eyJhbGciOiJub25lIn0.{payload}."),
        &format!("Basic {fresh}"),
        &format!("Bearer {fresh} {fresh}"),
        "Bearer",
        "Bearer null",
        &long,
    ];
    for token in bad {
        for (method, path) in [
            ("POST", "/auth/refresh"),
            ("DELETE", "/auth"),
            ("DELETE", "/auth/all"),
        ] {
            let reply = with(&client, method, path, token).await;
            assert_eq!(
                (reply.status, reply.text()),
                (401, r#"{"error":"Invalid or expired token"}"#),
                "{path} {token}"
            );
            assert_eq!(reply.header("www-authenticate"), Some("Bearer"));
        }
        assert_eq!(look(&client, token).await, 401, "{token}");
    }
    assert_eq!(
        client.send("POST", "/auth/refresh", None).await.status,
        401,
        "none"
    );
    assert_eq!(look(&client, &fresh).await, 200, "nothing was revoked");
}

/// A project with other secrets.
fn foreign() -> Project {
    let project = project(&[]);
    project.file(
        ".env",
        "JWT_SECRET=another-0123456789-abcdefghijklmnop-jwt\nPASSWORD_SECRET=another-9876543210-zyxwvutsrqpon-pass\n",
    );
    project
}

/// SQLite gives the number of a deleted row to the next one: its tokens must not go with it.
#[tokio::test(flavor = "multi_thread")]
async fn the_next_account_of_a_number_does_not_inherit_the_tokens_of_the_one_before() {
    let project = Project::new();
    project.file(
        "zonai.yaml",
        "version: 1\napp: {tables: {users: {auth: [password]}}}\n",
    );
    project.file(
        "lib/src/schemas/001_users.sql",
        "CREATE TABLE users (id INTEGER PRIMARY KEY, email TEXT NOT NULL, password TEXT, emailVerified BOOLEAN NOT NULL DEFAULT 0);\n",
    );
    project.file(
        "lib/src/rules/users.yaml",
        "view: id = @user.id\nupdate: id = @user.id\ndelete: id = @user.id\n",
    );
    let server = TestServer::start(&project).await;
    let first = sign_up(&server.client(), "first@x.org").await;
    let own = |token: &str| server.client().with("authorization", token);
    let one = json!({"table": "users", "where": {"id": {"eq": 1}}});
    assert_eq!(own(&first).json("DELETE", "/db", &one).await.status, 204);
    let second = sign_up(&server.client(), "second@x.org").await;
    assert_eq!(
        own(&second).get("/db", &one).await.status,
        200,
        "it has the number"
    );
    assert_eq!(own(&first).get("/db", &one).await.status, 401);

    // A proof of the address is not the account's own to give, and a new password ends what the old one opened.
    let change =
        |updates: Value| json!({"table": "users", "where": {"id": {"eq": 1}}, "updates": updates});
    let proven = json!([{"column": "email", "value": "x@x.org"}, {"column": "emailVerified", "value": true}]);
    let told = own(&second).json("PATCH", "/db", &change(proven)).await;
    assert_eq!(
        told.json()["data"]["emailVerified"],
        false,
        "{}",
        told.text()
    );
    let twice = json!([{"column": "password", "value": "correct horse"}, {"column": "password", "value": "correct horse"}]);
    assert_eq!(
        own(&second)
            .json("PATCH", "/db", &change(twice))
            .await
            .status,
        400
    );
    let password = json!([{"column": "password", "value": "correct horse battery"}]);
    assert_eq!(
        own(&second)
            .json("PATCH", "/db", &change(password))
            .await
            .status,
        200
    );
    assert_eq!(own(&second).get("/db", &one).await.status, 401);
}
