//! Codes by mail.

use serde_json::json;
use zonai_auth::{AuthError, MailKind};

use crate::world::{GOOD, Plan, World};

const NO: AuthError = AuthError::Unauthorized("Invalid or expired code");

fn other_than(code: &str, nth: u32) -> String {
    let code: u32 = code.parse().unwrap();
    format!("{:06}", (code + nth) % 1_000_000)
}

async fn with_code() -> (World, String) {
    let world = World::new().await;
    world.sign_up("ada@x.org", GOOD).await.unwrap();
    world.send(MailKind::Otp, "Ada@x.org").unwrap();
    let mails = world.mail().wait(1).await;
    (world, mails[0].code())
}

#[tokio::test]
async fn a_code_signs_in_once_and_shows_that_the_address_is_right() {
    let (world, code) = with_code().await;
    let session = world.otp("ADA@x.org", &code).await.unwrap();
    assert_eq!(session.user["emailVerified"], json!(true));
    assert!(world.who(&session.access_token).is_ok());
    assert_eq!(world.otp("ada@x.org", &code).await, Err(NO));
}

/// Whoever signed up with an address that is not theirs is out when its owner comes.
#[tokio::test]
async fn who_signed_up_with_the_address_of_another_does_not_stay_in() {
    let (world, code) = with_code().await;
    let before = world.sign_in("ada@x.org", GOOD).await.unwrap();
    let owner = world.otp("ada@x.org", &code).await.unwrap();
    assert!(world.who(&before.access_token).is_err());
    assert!(world.sign_in("ada@x.org", GOOD).await.is_err());
    assert!(world.who(&owner.access_token).is_ok());
}

#[tokio::test]
async fn in_parallel_a_code_is_used_once() {
    let (world, code) = with_code().await;
    let (a, b, c) = tokio::join!(
        world.otp("ada@x.org", &code),
        world.otp("ada@x.org", &code),
        world.otp("ada@x.org", &code)
    );
    assert_eq!(
        [a, b, c].iter().filter(|session| session.is_ok()).count(),
        1
    );
}

#[tokio::test]
async fn three_wrong_tries_and_the_right_one_comes_too_late() {
    let (world, code) = with_code().await;
    for nth in 1..=3 {
        assert_eq!(
            world.otp("ada@x.org", &other_than(&code, nth)).await,
            Err(NO)
        );
    }
    assert_eq!(world.otp("ada@x.org", &code).await, Err(NO));
    assert_eq!(
        world.otp("eve@x.org", &code).await,
        Err(NO),
        "an unknown address is the same answer"
    );
}

#[tokio::test]
async fn ten_minutes_and_no_longer() {
    let (world, code) = with_code().await;
    world.hand.advance_ms(599_999);
    assert!(world.otp("ada@x.org", &code).await.is_ok());
    world.send(MailKind::Otp, "ada@x.org").unwrap();
    let code = world.mail().wait(2).await[1].code();
    world.hand.advance_ms(600_000);
    assert_eq!(world.otp("ada@x.org", &code).await, Err(NO));
    assert!(
        world
            .auth
            .cleanup_auth_challenges(&*world.pass)
            .await
            .unwrap()
            >= 1
    );
}

#[tokio::test]
async fn fifty_parallel_wishes_give_one_mail() {
    let world = World::new().await;
    world.sign_up("ada@x.org", GOOD).await.unwrap();
    let beside = world.again(Plan::default()).await;
    for nth in 0..50 {
        let server = if nth % 2 == 0 { &world } else { &beside };
        let email = ["ada@x.org", "ADA@X.org", " ada@x.org"][nth % 3];
        server.send(MailKind::Otp, email).unwrap();
    }
    let mails = world.mails_in_the_end().await + beside.mails_in_the_end().await;
    assert_eq!(mails, 1);
}

#[tokio::test]
async fn the_next_mail_is_a_minute_later_whatever_its_kind() {
    let (world, _) = with_code().await;
    world.hand.advance_ms(59_999);
    world.send(MailKind::ResetPassword, "ada@x.org").unwrap();
    world.send(MailKind::VerifyEmail, "ada@x.org").unwrap();
    // A later wish for another address shows that the ones before it were looked at.
    world.sign_up("bob@x.org", GOOD).await.unwrap();
    world.send(MailKind::Otp, "bob@x.org").unwrap();
    assert_eq!(world.mail().wait(2).await[1].to, ["bob@x.org"]);
    world.hand.advance_ms(1);
    world.send(MailKind::MagicLink, "ada@x.org").unwrap();
    assert_eq!(world.mail().wait(3).await[2].to, ["ada@x.org"]);
    assert_eq!(world.mails_in_the_end().await, 3);
}

#[tokio::test]
async fn an_unknown_address_gets_the_same_answer_and_no_mail() {
    let world = World::new().await;
    for kind in MailKind::ALL {
        assert_eq!(world.send(kind, "eve@x.org"), Ok(()));
    }
    assert_eq!(world.mails_in_the_end().await, 0);
    assert_eq!(
        world.sql::<i64>("SELECT count(*) FROM _auth_mails"),
        0,
        "nothing grows with names"
    );
}

#[tokio::test]
async fn a_table_without_passwords_signs_up_by_mail() {
    let world = World::new().await;
    let request = || {
        let request = json!({"table": "guests", "email": "ada@x.org"});
        let request = request.as_object().unwrap().clone();
        let request = zonai_auth::requests::SignUp::parse(&request).unwrap();
        world
            .auth
            .sign_up(&*world.pass, zonai_limit::Client::Local, request, None)
    };
    assert_eq!(request().await, Ok(None));
    let code = world.mail().wait(1).await[0].code();
    assert_eq!(
        request().await,
        Ok(None),
        "a second time is the same answer"
    );
    let verify =
        json!({"type": "verifyOtp", "table": "guests", "email": "ada@x.org", "code": code});
    let session = world.confirm(verify).await.unwrap().unwrap();
    assert_eq!(
        (&session.user["id"], &session.user["verified"]),
        (&json!(1), &json!(true))
    );
    let caller = world.who(&session.access_token).unwrap();
    assert_eq!(caller.user_id, zonai_auth::UserId::Integer(1));
    assert_eq!(world.sql::<i64>("SELECT count(*) FROM guests"), 1);
}

#[tokio::test]
async fn without_mail_the_answer_says_so_to_everybody() {
    let world = World::with(Plan {
        mood: None,
        ..Plan::default()
    })
    .await;
    let error = world.send(MailKind::Otp, "eve@x.org").unwrap_err();
    assert_eq!(
        error.to_string(),
        "This server sends no mail: `app.email` is not set"
    );
}
