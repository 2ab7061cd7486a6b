//! The seam to the rules: a no undoes everything.

use zonai_auth::{AuthAction, AuthError, MailKind};

use crate::world::{GOOD, World};

#[tokio::test]
async fn a_sign_up_that_is_not_allowed_leaves_no_row() {
    let world = World::new().await;
    *world.gate.0.lock() = Some(AuthAction::SignUp);
    assert_eq!(
        world.sign_up("ada@x.org", GOOD).await,
        Err(AuthError::Forbidden)
    );
    assert_eq!(world.sql::<i64>("SELECT count(*) FROM users"), 0);
    assert_eq!(world.sql::<i64>("SELECT count(*) FROM _jwt"), 0);
}

#[tokio::test]
async fn a_sign_in_that_is_not_allowed_is_told_only_to_who_has_the_password() {
    let world = World::new().await;
    let token = world.sign_up("ada@x.org", GOOD).await.unwrap().access_token;
    *world.gate.0.lock() = Some(AuthAction::SignIn);
    let right = world.sign_in("ada@x.org", GOOD).await.unwrap_err();
    assert_eq!(right, AuthError::Forbidden);
    assert!(!right.is_failed_sign_in());
    assert!(
        world
            .sign_in("ada@x.org", "wrong horse battery")
            .await
            .unwrap_err()
            .is_failed_sign_in()
    );
    assert_eq!(
        world.auth.refresh(&*world.pass, &token).await,
        Err(AuthError::Forbidden)
    );
    assert!(world.who(&token).is_ok(), "the refresh was undone");
}

#[tokio::test]
async fn a_reset_that_is_not_allowed_sends_no_mail() {
    let world = World::new().await;
    world.sign_up("ada@x.org", GOOD).await.unwrap();
    *world.gate.0.lock() = Some(AuthAction::PasswordReset);
    assert_eq!(world.send(MailKind::ResetPassword, "ada@x.org"), Ok(()));
    assert_eq!(world.mails_in_the_end().await, 0);
}
