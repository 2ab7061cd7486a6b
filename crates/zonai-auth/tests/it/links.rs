//! Links by mail: to sign in, to set a password, to verify an address.

use serde_json::{Value, json};
use zonai_auth::{AuthError, MailKind};

use crate::world::{GOOD, World};

const NO: AuthError = AuthError::Unauthorized("Invalid or expired link");
const NEW: &str = "a brand new password";

async fn with_link(kind: MailKind, name: &str) -> (World, String, String) {
    let world = World::new().await;
    let token = world.sign_up("ada@x.org", GOOD).await.unwrap().access_token;
    world.send(kind, "ada@x.org").unwrap();
    let secret = world.mail().wait(1).await[0].secret(name);
    (world, secret, token)
}

fn magic(secret: &str) -> Value {
    json!({"type": "verifyMagicLink", "secret": secret})
}

fn reset(token: &str) -> Value {
    json!({"type": "confirmResetPassword", "token": token, "newPassword": NEW})
}

fn verify(token: &str) -> Value {
    json!({"type": "confirmVerifyEmail", "token": token})
}

#[tokio::test]
async fn a_magic_link_signs_in_once() {
    let (world, secret, _) = with_link(MailKind::MagicLink, "secret").await;
    assert!(
        world.mail().seen().mails[0]
            .text()
            .contains("https://shop.example.com/magic-link?secret=")
    );
    let session = world.confirm(magic(&secret)).await.unwrap().unwrap();
    assert!(world.who(&session.access_token).is_ok());
    assert_eq!(world.confirm(magic(&secret)).await, Err(NO));
    assert_eq!(world.confirm(magic("made-up")).await, Err(NO));
}

#[tokio::test]
async fn a_link_is_for_its_purpose_only() {
    let (world, secret, _) = with_link(MailKind::VerifyEmail, "token").await;
    assert_eq!(world.confirm(magic(&secret)).await, Err(NO));
    assert_eq!(world.confirm(reset(&secret)).await, Err(NO));
    assert_eq!(world.sql::<i64>("SELECT emailVerified FROM users"), 0);
    assert_eq!(world.confirm(verify(&secret)).await, Ok(None));
    assert_eq!(world.sql::<i64>("SELECT emailVerified FROM users"), 1);
}

#[tokio::test]
async fn a_reset_sets_the_password_and_ends_every_session() {
    let (world, secret, token) = with_link(MailKind::ResetPassword, "token").await;
    let other = world.sign_in("ada@x.org", GOOD).await.unwrap().access_token;
    let bob = world.sign_up("bob@x.org", GOOD).await.unwrap().access_token;
    world.hand.advance_ms(42_007);
    assert_eq!(world.confirm(reset(&secret)).await, Ok(None));
    let updated: String = world.sql("SELECT updatedAt FROM users WHERE email = 'ada@x.org'");
    assert_eq!(updated, "2026-09-02T00:00:42.007Z");
    assert!(world.who(&token).is_err() && world.who(&other).is_err());
    assert!(world.who(&bob).is_ok());
    assert!(world.sign_in("ada@x.org", GOOD).await.is_err());
    assert!(world.sign_in("ada@x.org", NEW).await.is_ok());
    assert_eq!(world.confirm(reset(&secret)).await, Err(NO));
}

#[tokio::test]
async fn in_parallel_a_reset_is_done_once() {
    let (world, secret, _) = with_link(MailKind::ResetPassword, "token").await;
    let (a, b) = tokio::join!(world.confirm(reset(&secret)), world.confirm(reset(&secret)));
    assert_eq!([a, b].iter().filter(|done| done.is_ok()).count(), 1);
}

#[tokio::test]
async fn a_bad_new_password_does_not_use_the_link_up() {
    let (world, secret, token) = with_link(MailKind::ResetPassword, "token").await;
    let bad = json!({"type": "confirmResetPassword", "token": secret, "newPassword": "short"});
    assert!(matches!(
        world.confirm(bad).await,
        Err(AuthError::BadRequest(_))
    ));
    assert!(world.who(&token).is_ok(), "nothing half done");
    assert_eq!(world.confirm(reset(&secret)).await, Ok(None));
}

#[tokio::test]
async fn a_link_is_good_ten_minutes_and_one_to_verify_a_day() {
    let (world, secret, _) = with_link(MailKind::ResetPassword, "token").await;
    world.hand.advance_ms(600_000);
    assert_eq!(world.confirm(reset(&secret)).await, Err(NO));
    let (world, secret, _) = with_link(MailKind::VerifyEmail, "token").await;
    world.hand.advance_ms(24 * 3_600_000 - 1);
    assert_eq!(world.confirm(verify(&secret)).await, Ok(None));
}

#[tokio::test]
async fn a_link_to_an_address_that_is_no_longer_the_accounts_is_void() {
    let (world, secret, _) = with_link(MailKind::ResetPassword, "token").await;
    world
        .execute("UPDATE users SET email = 'countess@x.org'")
        .await;
    assert_eq!(world.confirm(reset(&secret)).await, Err(NO));
    assert!(world.sign_in("countess@x.org", GOOD).await.is_ok());
}
