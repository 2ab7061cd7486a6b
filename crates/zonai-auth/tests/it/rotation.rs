//! New secrets beside old ones.

use zonai_auth::{MailKind, Secrets};

use crate::world::{GOOD, JWT, PASSWORD, Plan, World};

const NEW_JWT: &str = "another token secret 0123456789 a";
const NEW_PASSWORD: &str = "another password secret 012345678";

fn plan(jwt: &str, password: &str, previous_jwt: &str, previous_password: &str) -> Plan {
    let secrets = Secrets::parse(jwt, password, previous_jwt, previous_password).unwrap();
    Plan {
        secrets,
        ..Plan::default()
    }
}

#[tokio::test]
async fn previous_secrets_verify_and_a_sign_in_moves_the_account_on() {
    let before = World::new().await;
    let token = before
        .sign_up("ada@x.org", GOOD)
        .await
        .unwrap()
        .access_token;
    // A code for an address that was never proven would end the password.
    before.execute("UPDATE users SET emailVerified = 1").await;
    before.send(MailKind::Otp, "ada@x.org").unwrap();
    let code = before.mail().wait(1).await[0].code();

    let rotated = before
        .again(plan(NEW_JWT, NEW_PASSWORD, JWT, PASSWORD))
        .await;
    assert!(rotated.who(&token).is_ok());
    assert!(rotated.otp("ada@x.org", &code).await.is_ok());
    let old_hash: String = before.sql("SELECT password FROM users");
    let fresh = rotated
        .sign_in("ada@x.org", GOOD)
        .await
        .unwrap()
        .access_token;
    assert_ne!(before.sql::<String>("SELECT password FROM users"), old_hash);
    assert!(
        rotated.who(&token).is_ok(),
        "the same password under a newer secret ends no session"
    );

    let after = before.again(plan(NEW_JWT, NEW_PASSWORD, "", "")).await;
    assert!(
        after.who(&token).is_err(),
        "signed with a secret that is gone"
    );
    assert!(after.who(&fresh).is_ok());
    assert!(after.sign_in("ada@x.org", GOOD).await.is_ok());
}

#[tokio::test]
async fn without_the_previous_secret_a_password_is_a_wrong_one() {
    let before = World::new().await;
    before.sign_up("ada@x.org", GOOD).await.unwrap();
    let after = before.again(plan(JWT, NEW_PASSWORD, "", "")).await;
    assert!(
        after
            .sign_in("ada@x.org", GOOD)
            .await
            .unwrap_err()
            .is_failed_sign_in()
    );
}
