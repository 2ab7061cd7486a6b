//! Admins: sign-up is closed, the command line opens it, and nobody is one by saying so.

use serde_json::{Map, json};
use zonai_auth::requests::{Authenticate, SignIn};
use zonai_auth::{Address, AuthError, Password};
use zonai_limit::Client;

use crate::world::{GOOD, World, body};

async fn add(world: &World, email: &str) -> Result<Map<String, serde_json::Value>, AuthError> {
    let (address, password) = (Address::parse(email)?, Password::chosen(GOOD)?);
    world
        .auth
        .admin_add(&*world.pass, None, address, Some(password), Map::new())
        .await
}

async fn sign_in(world: &World, email: &str) -> Result<String, AuthError> {
    let request = body(json!({"type": "adminSignIn", "email": email, "password": GOOD}));
    let table = world.auth.admin_table()?;
    let Authenticate::SignIn(request) = Authenticate::parse_admin(&request, table)? else {
        panic!("a sign-in")
    };
    let session = world
        .auth
        .sign_in(&*world.pass, Client::Local, request)
        .await?;
    Ok(session.access_token)
}

#[tokio::test]
async fn sign_up_is_closed_also_for_an_address_that_is_there() {
    let world = World::new().await;
    add(&world, "root@x.org").await.unwrap();
    for email in ["root@x.org", "eve@x.org"] {
        let request = json!({"table": "staff", "email": email, "password": GOOD});
        assert_eq!(world.sign_up_with(request).await, Err(AuthError::Forbidden));
    }
    assert_eq!(world.sql::<i64>("SELECT count(*) FROM staff"), 1);
}

#[tokio::test]
async fn one_who_is_added_signs_in_and_is_an_admin_until_removed() {
    let world = World::new().await;
    let row = add(&world, " Root@x.org").await.unwrap();
    assert!(row["email"] == "root@x.org" && !row.contains_key("password"));
    assert!(matches!(
        add(&world, "root@X.org").await,
        Err(AuthError::Conflict(_))
    ));
    let token = sign_in(&world, "root@x.org").await.unwrap();
    let caller = world.who(&token).unwrap();
    assert!(caller.admin && world.auth.is_admin_table(&caller.table));
    assert!(!world.auth.is_admin_table("users"));
    let listed = world.auth.admin_list(&*world.pass, None).await.unwrap();
    assert_eq!(listed, [row]);
    let remove = || {
        let address = Address::parse("ROOT@x.org").unwrap();
        world
            .auth
            .admin_remove(&*world.pass, Some("staff"), address)
    };
    remove().await.unwrap();
    assert!(world.who(&token).is_err());
    assert!(matches!(remove().await, Err(AuthError::NotFound(_))));
}

#[tokio::test]
async fn nobody_becomes_an_admin_by_a_table_of_users() {
    let world = World::new().await;
    let (address, password) = (
        Address::parse("eve@x.org").unwrap(),
        Password::chosen(GOOD).unwrap(),
    );
    let added = world
        .auth
        .admin_add(
            &*world.pass,
            Some("users"),
            address,
            Some(password),
            Map::new(),
        )
        .await;
    assert!(matches!(added, Err(AuthError::NotFound(_))));
    world.sign_up("eve@x.org", GOOD).await.unwrap();
    assert!(
        sign_in(&world, "eve@x.org")
            .await
            .unwrap_err()
            .is_failed_sign_in()
    );
    let request = SignIn::parse(&body(json!({"email": "eve@x.org", "password": GOOD}))).unwrap();
    let session = world
        .auth
        .sign_in(&*world.pass, Client::Local, request)
        .await
        .unwrap();
    assert!(!world.who(&session.access_token).unwrap().admin);
}
