//! Nothing that a caller sends is half done.

use serde_json::json;
use zonai_auth::AuthError;

use crate::world::{GOOD, World};

#[tokio::test]
async fn bodies_that_are_no_good_touch_nothing() {
    let world = World::new().await;
    let huge = "x".repeat(1 << 20);
    let cases = [
        json!({"email": "ada@x.org", "password": huge}),
        json!({"email": "ada@x.org", "password": "with\0nul and more"}),
        json!({"email": "ada", "password": GOOD}),
        json!({"email": "ada@x.org\r\nBcc: eve@x.org", "password": GOOD}),
        json!({"email": huge, "password": GOOD}),
        json!({"email": "ada@x.org"}),
        json!({"password": GOOD}),
        json!({}),
    ];
    for case in cases {
        let error = world.sign_up_with(case.clone()).await.unwrap_err();
        assert!(matches!(error, AuthError::BadRequest(_)), "{error:?}");
        assert!(error.to_string().len() < 200);
    }
    assert_eq!(world.sql::<i64>("SELECT count(*) FROM users"), 0);
}
