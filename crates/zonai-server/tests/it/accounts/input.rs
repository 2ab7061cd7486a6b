//! Bad input: the right 4xx, a text that helps, nothing leaked and nothing half done.

use serde_json::{Value, json};
use zonai_test::TestServer;

use super::{GOOD, project, refusal, refused, sign_up, sql};

/// Stands in every request as the password; must stand in no answer.
const PASSWORD: &str = "hunter2-hunter2";

/// Path, body, status, and what the text must hold.
fn cases() -> Vec<(&'static str, Value, u16, &'static str)> {
    let e = "eve@x.org";
    let long = PASSWORD.repeat(1_000_000 / PASSWORD.len());
    let nul = format!("{PASSWORD}\0");
    vec![
        (
            "/auth/sign-in",
            json!({"email": 7, "password": PASSWORD}),
            400,
            "`email` must be a string",
        ),
        (
            "/auth/sign-in",
            json!({"email": [e], "password": PASSWORD}),
            400,
            "`email` must be a string",
        ),
        (
            "/auth/sign-in",
            json!({"password": PASSWORD}),
            400,
            "`email` is missing",
        ),
        (
            "/auth/sign-in",
            json!({"email": e}),
            400,
            "`password` is missing",
        ),
        (
            "/auth/sign-in",
            json!({"email": e, "password": null}),
            400,
            "`password` is missing",
        ),
        (
            "/auth/sign-in",
            json!({"email": e, "password": {"is": PASSWORD}}),
            400,
            "`password` must be a string",
        ),
        (
            "/auth/sign-in",
            json!({"email": e, "password": ""}),
            400,
            "`password` must not be empty",
        ),
        (
            "/auth/sign-in",
            json!({"email": e, "password": long}),
            400,
            "`password` may have at most 1024 bytes",
        ),
        (
            "/auth/sign-in",
            json!({"email": e, "password": nul}),
            400,
            "must not hold U+0000",
        ),
        (
            "/auth/sign-in",
            json!({"email": "eve\u{0}@x.org", "password": PASSWORD}),
            400,
            "must not hold U+0000",
        ),
        (
            "/auth/sign-in",
            json!({"email": "eve", "password": PASSWORD}),
            400,
            "not an e-mail address",
        ),
        (
            "/auth/sign-in",
            json!({"email": "a@x.org, b@x.org", "password": PASSWORD}),
            400,
            "not an e-mail address",
        ),
        (
            "/auth/sign-in",
            json!({"email": "a@x.org\r\nBcc: b@x.org", "password": PASSWORD}),
            400,
            "not an e-mail",
        ),
        (
            "/auth/sign-in",
            json!({"email": "x".repeat(300), "password": PASSWORD}),
            400,
            "at most 254 bytes",
        ),
        (
            "/auth/sign-in",
            json!({"table": 7, "email": e, "password": PASSWORD}),
            400,
            "`table`",
        ),
        (
            "/auth/sign-in",
            json!({"table": "notes", "email": e, "password": PASSWORD}),
            404,
            "Not found",
        ),
        (
            "/auth/sign-in",
            json!({"table": "_jwt", "email": e, "password": PASSWORD}),
            404,
            "Not found",
        ),
        ("/auth/sign-in", json!([e, PASSWORD]), 400, ""),
        (
            "/auth/sign-up",
            json!({"email": e, "password": "hunter2"}),
            400,
            "at least 8 characters",
        ),
        (
            "/auth/sign-up",
            json!({"email": e, "password": PASSWORD, "object": []}),
            400,
            "`object` must be an object",
        ),
        (
            "/auth/sign-up",
            json!({"email": e, "password": PASSWORD, "object": {"nik": "e"}}),
            400,
            "nik",
        ),
        (
            "/auth/sign-up",
            json!({"email": e, "password": PASSWORD, "object": {"id": "e"}}),
            400,
            "id",
        ),
        (
            "/auth/sign-up",
            json!({"email": e, "password": PASSWORD, "object": {"emailVerified": true}}),
            400,
            "emailVerified",
        ),
        (
            "/auth/sign-up",
            json!({"email": e, "password": PASSWORD, "object": {"password": "x"}}),
            400,
            "password",
        ),
        (
            "/auth/sign-up",
            json!({"email": e, "password": PASSWORD, "object": {"age": 7}}),
            422,
            "",
        ),
        (
            "/auth/sign-up",
            json!({"email": e, "password": PASSWORD, "object": {"nick": "ada"}}),
            409,
            "",
        ),
        ("/auth", json!({"email": e}), 400, "`type` is missing"),
        ("/auth", json!({"type": 7}), 400, "`type` must be a string"),
        (
            "/auth",
            json!({"type": "signin"}),
            400,
            "`type` must be signIn, signUp, sendOtp or sendMagicLink",
        ),
        (
            "/auth",
            json!({"type": "sendOtp", "email": "x"}),
            400,
            "not an e-mail address",
        ),
        (
            "/auth",
            json!({"type": "sendOtp", "email": e}),
            400,
            "sends no mail",
        ),
        (
            "/auth/reset-password",
            json!({"email": {}}),
            400,
            "`email` must be a string",
        ),
        ("/auth/verify-email", json!({}), 400, "`email` is missing"),
        (
            "/auth/confirm",
            json!({"type": "verifySms"}),
            400,
            "`type` must be verifyOtp",
        ),
        (
            "/auth/confirm",
            json!({"type": "verifyOtp", "email": e, "code": 123456}),
            400,
            "`code` must be a string",
        ),
        (
            "/auth/confirm",
            json!({"type": "verifyOtp", "email": e, "code": "12345"}),
            400,
            "6 digits",
        ),
        (
            "/auth/confirm",
            json!({"type": "verifyOtp", "email": e, "code": "123456"}),
            401,
            "Invalid or expired code",
        ),
        (
            "/auth/confirm",
            json!({"type": "verifyMagicLink"}),
            400,
            "`secret` is missing",
        ),
        (
            "/auth/confirm",
            json!({"type": "verifyMagicLink", "secret": "x\u{0}"}),
            400,
            "must not hold U+0000",
        ),
        (
            "/auth/confirm",
            json!({"type": "verifyMagicLink", "secret": "x' OR 1=1"}),
            401,
            "Invalid or expired link",
        ),
        (
            "/auth/confirm",
            json!({"type": "confirmResetPassword", "token": "x", "newPassword": PASSWORD}),
            401,
            "link",
        ),
        (
            "/auth/confirm",
            json!({"type": "confirmVerifyEmail", "token": ["x"]}),
            400,
            "`token` must be a string",
        ),
        (
            "/auth/admin",
            json!({"type": "signIn"}),
            400,
            "`type` must be adminSignIn",
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_a_4xx_that_helps_and_leaks_nothing() {
    let project = project(&[]);
    let server = TestServer::start(&project).await;
    let client = server.client();
    let named = json!({"email": "ada@x.org", "password": GOOD, "object": {"nick": "ada"}});
    assert_eq!(
        client.json("POST", "/auth/sign-up", &named).await.status,
        200
    );
    let tokens: i64 = sql(&project, "SELECT count(*) FROM _jwt");
    for (at, (path, body, status, holds)) in cases().into_iter().enumerate() {
        let client = server.client_at(&format!("127.0.12.{}", at + 1));
        let reply = client.json("POST", path, &body).await;
        let shown: String = body.to_string().chars().take(200).collect();
        assert_eq!(reply.status, status, "{path} {shown}: {}", reply.text());
        let error = reply.json()["error"]
            .as_str()
            .expect("an error text")
            .to_owned();
        assert!(error.contains(holds), "{path} {shown}: {error}");
        for leak in [
            "hunter2", "argon2", "SQL", "INSERT", "eve@", "panicked", "src/",
        ] {
            assert!(!error.contains(leak), "{path} {shown}: {error}");
        }
    }
    assert_eq!(
        sql::<i64>(&project, "SELECT count(*) FROM users"),
        1,
        "nothing half done"
    );
    assert_eq!(sql::<i64>(&project, "SELECT count(*) FROM _jwt"), tokens);
}

/// What is no JSON object, or too large, at every route that takes a body.
#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_cannot_be_read_are_400_413_or_415() {
    let project = project(&[]);
    let server = TestServer::start(&project).await;
    let paths = [
        "/auth",
        "/auth/sign-in",
        "/auth/sign-up",
        "/auth/confirm",
        "/auth/admin",
        "/auth/reset-password",
        "/auth/verify-email",
    ];
    let mut large = br#"{"table":"users","type":"signIn","password":""#.to_vec();
    large.resize((1 << 20) + 10, b'x');
    for (at, path) in paths.into_iter().enumerate() {
        let client = server.client_at(&format!("127.0.12.{}", 100 + at));
        let bodies: [&[u8]; 7] = [
            b"",
            b"null",
            b"[]",
            b"{\"email\":",
            b"{\"email\":\"\xff\"}",
            b"{\"email\":\"a@x.org\",\"email\":\"b@x.org\"}",
            b"{\"type\":\"signIn\",\"type\":\"adminSignIn\"}",
        ];
        for body in bodies {
            let reply = client.send("POST", path, Some(body)).await;
            assert_eq!(
                reply.status,
                400,
                "{path} {}: {}",
                String::from_utf8_lossy(body),
                reply.text()
            );
        }
        assert_eq!(
            client.send("POST", path, Some(&large)).await.status,
            413,
            "{path}"
        );
        let text = client.with("content-type", "text/plain");
        assert_eq!(
            text.send("POST", path, Some(b"{\"table\":\"users\"}"))
                .await
                .status,
            415,
            "{path}"
        );
        let wrong = client.send("PUT", path, None).await;
        assert_eq!(wrong.status, 405, "{path}");
    }
}

/// A sign-up with an address that has an account is a sign-in: nothing of its `object` is written.
#[tokio::test(flavor = "multi_thread")]
async fn a_sign_up_with_a_known_address_changes_nothing() {
    let project = project(&[]);
    let server = TestServer::start(&project).await;
    let client = server.client();
    sign_up(&client, "ada@x.org").await;
    let again = json!({"email": "ADA@x.org", "password": GOOD, "object": {"nick": "other"}});
    super::session(&client.json("POST", "/auth/sign-up", &again).await);
    assert_eq!(
        sql::<i64>(&project, "SELECT count(*) FROM users WHERE nick IS NULL"),
        1
    );
}

/// Promise 7.7: what names its table in the first MiB counts for that table, whether or not its `type` has come.
#[tokio::test(flavor = "multi_thread")]
async fn a_payload_that_is_too_large_counts_for_the_table_it_names() {
    let limits = [
        "signIn: 2/1h",
        "sendVerifyEmail: 2/1h",
        "authenticate: 2/1h",
    ];
    let project = project(&limits);
    let server = TestServer::start(&project).await;
    let client = server.client();
    let filler = "x".repeat(1 << 20);
    for (path, collection, operation, limit, seconds) in [
        ("/auth/sign-in", "users", "signIn", 2, 3_600),
        ("/auth/verify-email", "users", "sendVerifyEmail", 2, 3_600),
        ("/auth", "users", "authenticate", 2, 3_600),
        ("/auth/confirm", "__auth_confirm__", "confirm", 100, 60),
    ] {
        let late = json!({"filler": filler, "table": "users"}).to_string();
        let early = format!("{{\"table\":\"users\",\"filler\":\"{filler}\"}}");
        for _ in 0..limit {
            let reply = client.send("POST", path, Some(early.as_bytes())).await;
            assert_eq!(reply.status, 413, "{path}");
        }
        let reply = client.send("POST", path, Some(early.as_bytes())).await;
        let expected = refused(collection, operation, limit, seconds);
        assert_eq!(refusal(&reply), expected, "{path}");
        let reply = client.send("POST", path, Some(late.as_bytes())).await;
        assert_eq!(reply.status, 413, "{path}: its table comes too late");
    }
}
