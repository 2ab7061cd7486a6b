//! Tokens: for how long they are good, and how they end.

use serde_json::json;
use zonai_auth::{AuthError, UserId};

use crate::world::{GOOD, Plan, World};

const NO: AuthError = AuthError::Unauthorized("Invalid or expired token");
const DAY_MS: u64 = 24 * 3_600_000;

#[tokio::test]
async fn a_token_tells_who_calls_as_the_row_is_now() {
    let world = World::new().await;
    let session = world.sign_up("ada@x.org", GOOD).await.unwrap();
    world.execute("UPDATE users SET nick = 'countess'").await;
    let caller = world.who(&session.access_token).unwrap();
    assert_eq!(caller.user_id.to_value(), session.user["id"]);
    assert_eq!((caller.table.as_str(), caller.admin), ("users", false));
    assert_eq!(caller.user["nick"], "countess");
    assert_eq!(caller.claims["from"], json!("users"));
    assert!(!caller.user.contains_key("password"));
}

#[tokio::test]
async fn it_ends_after_its_time_and_the_job_clears_it_away() {
    let world = World::new().await;
    let token = world.sign_up("ada@x.org", GOOD).await.unwrap().access_token;
    world.hand.advance_ms(DAY_MS - 1);
    let caller = world.who(&token).unwrap();
    assert_eq!(
        world.auth.delete_expired_jwts(&*world.pass).await.unwrap(),
        0
    );
    world.hand.advance_ms(1);
    assert_eq!(world.who(&token).unwrap_err(), NO);
    assert!(!world.auth.is_live(&*world.pass, &caller).unwrap());
    assert_eq!(
        world.auth.delete_expired_jwts(&*world.pass).await.unwrap(),
        1
    );
}

#[tokio::test]
async fn logging_out_ends_one_and_logging_out_everywhere_all_of_the_account() {
    let world = World::new().await;
    let one = world.sign_up("ada@x.org", GOOD).await.unwrap().access_token;
    let two = world.sign_in("ada@x.org", GOOD).await.unwrap().access_token;
    let three = world.sign_in("ada@x.org", GOOD).await.unwrap().access_token;
    let other = world.sign_up("bob@x.org", GOOD).await.unwrap().access_token;
    world.auth.logout(&*world.pass, &one).await.unwrap();
    assert_eq!(world.who(&one).unwrap_err(), NO);
    assert_eq!(world.auth.logout(&*world.pass, &one).await, Err(NO));
    assert!(world.who(&two).is_ok());
    world.auth.logout_all(&*world.pass, &two).await.unwrap();
    assert_eq!(world.who(&two).unwrap_err(), NO);
    assert_eq!(world.who(&three).unwrap_err(), NO);
    assert!(world.who(&other).is_ok());
}

#[tokio::test]
async fn a_refresh_ends_the_old_one_and_of_two_only_one_goes_on() {
    let world = World::new().await;
    let old = world.sign_up("ada@x.org", GOOD).await.unwrap().access_token;
    world.hand.advance_ms(DAY_MS / 2);
    let refresh = || world.auth.refresh(&*world.pass, &old);
    let (a, b) = tokio::join!(refresh(), refresh());
    assert_eq!(world.who(&old).unwrap_err(), NO);
    let (won, lost) = if a.is_ok() { (a, b) } else { (b, a) };
    assert_eq!(lost, Err(NO));
    world.hand.advance_ms(DAY_MS - 1);
    assert!(world.who(&won.unwrap().access_token).is_ok());
}

#[tokio::test]
async fn a_token_of_another_server_or_of_nobody_is_refused() {
    let world = World::new().await;
    let secrets = zonai_auth::Secrets::generate().unwrap();
    let other = World::with(Plan {
        secrets,
        ..Plan::default()
    })
    .await;
    let foreign = other.sign_up("ada@x.org", GOOD).await.unwrap().access_token;
    world.sign_up("ada@x.org", GOOD).await.unwrap();
    for bad in [
        foreign.as_str(),
        "",
        "x",
        "a.b.c",
        "\0",
        &"x".repeat(1 << 20),
    ] {
        assert_eq!(world.who(bad).unwrap_err(), NO);
        assert_eq!(world.auth.refresh(&*world.pass, bad).await, Err(NO));
        assert_eq!(world.auth.logout_all(&*world.pass, bad).await, Err(NO));
    }
}

#[tokio::test]
async fn the_token_of_an_account_that_is_gone_is_refused() {
    let world = World::new().await;
    let token = world.sign_up("ada@x.org", GOOD).await.unwrap().access_token;
    world.execute("DELETE FROM users").await;
    assert_eq!(world.who(&token).unwrap_err(), NO);
    assert_eq!(world.auth.refresh(&*world.pass, &token).await, Err(NO));
}

#[tokio::test]
async fn a_restart_and_another_process_know_what_is_revoked() {
    let world = World::new().await;
    let token = world.sign_up("ada@x.org", GOOD).await.unwrap().access_token;
    let beside = world.again(Plan::default()).await;
    let caller = beside.who(&token).unwrap();
    let UserId::Text(_) = &caller.user_id else {
        panic!("a text key")
    };
    world
        .auth
        .revoke_all(&*world.pass, "users", &caller.user_id)
        .await
        .unwrap();
    assert_eq!(beside.who(&token).unwrap_err(), NO);
}

#[tokio::test]
async fn a_large_row_does_not_swell_the_token() {
    let world = World::new().await;
    let nick = "n".repeat(10_000);
    let request = json!({"email": "ada@x.org", "password": GOOD, "object": {"nick": nick}});
    let session = world.sign_up_with(request).await.unwrap();
    assert_eq!(session.user["nick"], nick);
    assert!(
        session.access_token.len() < 1_000,
        "{}",
        session.access_token.len()
    );
    assert_eq!(world.who(&session.access_token).unwrap().user["nick"], nick);
}
