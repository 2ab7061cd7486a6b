//! Signing up and in with a password.

use serde_json::json;
use zonai_auth::AuthError;

use crate::world::{GOOD, World};

const NO: AuthError = AuthError::Unauthorized("Invalid email or password");

#[tokio::test]
async fn a_new_account_signs_in_and_shows_no_password() {
    let world = World::new().await;
    let made = world
        .sign_up_with(
            json!({"email": " Ada@X.org ", "password": GOOD, "object": {"nick": "ada", "age": 36}}),
        )
        .await
        .unwrap();
    assert_eq!(made.user["email"], "ada@x.org");
    assert_eq!(
        (&made.user["nick"], &made.user["age"]),
        (&json!("ada"), &json!(36))
    );
    assert_eq!(made.user["createdAt"], json!(zonai_clock::Hand::WALL_MS));
    assert!(!made.user.contains_key("password"));
    let id = made.user["id"].as_str().unwrap();
    assert!(id.len() == 18 && id.ends_with("_us"), "{id}");
    let session = world.sign_in("ADA@x.org", GOOD).await.unwrap();
    assert_eq!(session.user, made.user);
    let stored: String = world.sql("SELECT password FROM users");
    assert!(
        stored.starts_with("$argon2id$v=19$m=19456,t=3,p=1,"),
        "{stored}"
    );
    let text = serde_json::to_string(&session).unwrap();
    assert!(
        text.starts_with(r#"{"accessToken":"ey"#) && !text.contains("argon2"),
        "{text}"
    );
}

#[tokio::test]
async fn unknown_address_and_wrong_password_are_one_answer() {
    let world = World::new().await;
    world.sign_up("ada@x.org", GOOD).await.unwrap();
    world
        .execute("INSERT INTO users (id, email) VALUES ('x', 'nopass@x.org')")
        .await;
    for email in ["ada@x.org", "eve@x.org", "nopass@x.org"] {
        let error = world
            .sign_in(email, "wrong horse battery")
            .await
            .unwrap_err();
        assert_eq!(error, NO, "{email}");
        assert!(error.is_failed_sign_in());
    }
}

#[tokio::test]
async fn signing_up_again_is_a_sign_in() {
    let world = World::new().await;
    let made = world.sign_up("ada@x.org", GOOD).await.unwrap();
    let again = world.sign_up("ADA@X.ORG", GOOD).await.unwrap();
    assert_eq!(again.user["id"], made.user["id"]);
    assert_eq!(
        world
            .sign_up("ada@x.org", "wrong horse battery")
            .await
            .unwrap_err(),
        NO
    );
    assert_eq!(world.sql::<i64>("SELECT count(*) FROM users"), 1);
}

#[tokio::test]
async fn parallel_sign_ups_make_one_account() {
    let world = World::new().await;
    let (a, b, c) = tokio::join!(
        world.sign_up("ada@x.org", GOOD),
        world.sign_up("Ada@x.org", GOOD),
        world.sign_up("ada@x.org", "another long password"),
    );
    assert_eq!(world.sql::<i64>("SELECT count(*) FROM users"), 1);
    let owner_is_first = a.is_ok();
    assert_eq!(b.is_ok(), owner_is_first, "the same password");
    assert_ne!(c.is_ok(), owner_is_first, "either password, not both");
}

#[tokio::test]
async fn rows_written_by_others_are_found_in_any_spelling() {
    let world = World::new().await;
    let stored = world.sign_up("ada@x.org", GOOD).await.unwrap();
    world
        .execute("UPDATE users SET email = ' Ada@X.org '")
        .await;
    let session = world.sign_in("ada@x.org", GOOD).await.unwrap();
    assert_eq!(session.user["id"], stored.user["id"]);
    world.sign_up("ada@x.org", GOOD).await.unwrap();
    assert_eq!(world.sql::<i64>("SELECT count(*) FROM users"), 1);
}

#[tokio::test]
async fn what_cannot_be_a_row_leaves_none() {
    let world = World::new().await;
    world
        .sign_up_with(json!({"email": "bob@x.org", "password": GOOD, "object": {"nick": "bob"}}))
        .await
        .unwrap();
    let cases = [
        (
            json!({"role": 1}),
            "`object.role`: no such column in table users",
        ),
        (
            json!({"password": "x"}),
            "`object.password`: no such column",
        ),
        (json!({"id": "mine"}), "`object.id` is set by the server"),
        (
            json!({"email": "eve@x.org"}),
            "`object.email` is set by the server",
        ),
        (
            json!({"emailVerified": true}),
            "`object.emailVerified` is set by the server",
        ),
        (
            json!({"createdAt": 1}),
            "`object.createdAt` is set by the server",
        ),
        (json!({"age": "old"}), "`object.age` must be a whole number"),
        (json!({"nick": "bob"}), "Already exists: `nick`"),
        (json!({"age": 17}), "Check failed"),
    ];
    for (object, expect) in cases {
        let request = json!({"email": "ada@x.org", "password": GOOD, "object": object});
        let error = world.sign_up_with(request).await.unwrap_err();
        assert!(error.to_string().contains(expect), "{object}: {error:?}");
        assert!(!error.is_failed_sign_in());
    }
    assert_eq!(world.sql::<i64>("SELECT count(*) FROM users"), 1);
    assert_eq!(world.sql::<i64>("SELECT count(*) FROM _jwt"), 1);
}

#[tokio::test]
async fn the_key_of_failed_sign_ins_is_of_the_normalised_address_and_the_table() {
    let world = World::new().await;
    let key = world.auth.account_key("users", "ada@x.org");
    assert_eq!(world.auth.account_key("users", "  ADA@x.ORG "), key);
    assert_ne!(world.auth.account_key("users", "eve@x.org"), key);
    assert_ne!(world.auth.account_key("staff", "ada@x.org"), key);
    world.sign_up("ada@x.org", GOOD).await.unwrap();
    assert_eq!(world.auth.account_key("users", "ada@x.org"), key);
}

#[tokio::test]
async fn a_table_without_accounts_is_not_found() {
    let world = World::new().await;
    for table in ["items", "nothing", "_jwt"] {
        let request = json!({"table": table, "email": "ada@x.org", "password": GOOD});
        let error = world.sign_up_with(request).await.unwrap_err();
        assert_eq!(
            error,
            AuthError::NotFound("Not found".to_owned()),
            "{table}"
        );
    }
}
