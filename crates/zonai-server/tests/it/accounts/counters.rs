//! `_rate_limit` through `/db`: admins see counters and free a client, and nobody else does.

use serde_json::{Value, json};
use zonai_test::{Client, TestServer};

use super::{GOOD, also_staff, look, project, session, sign_up};

/// A client with an admin's token, at an address of its own.
async fn admin(project: &zonai_test::Project, server: &TestServer) -> (Client, Client) {
    let client = server.client_at("127.0.9.1");
    let user = sign_up(&client, "ada@x.org").await;
    also_staff(project, "ada@x.org");
    let right = json!({"type": "adminSignIn", "email": "ada@x.org", "password": GOOD});
    let admin = session(&client.json("POST", "/auth/admin", &right).await);
    let with = |token: &str| client.with("authorization", &format!("Bearer {token}"));
    (with(&admin), with(&user))
}

fn of_client(ip: &str) -> Value {
    json!({"type": "and", "conditions": [
        {"type": "eq", "column": "client_ip", "value": ip},
        {"table": {"eq": "notes"}, "operation": {"in": ["list", "count"]}},
    ]})
}

/// What the counters of `where` are, as `(client, count)`.
async fn listed(admin: &Client, condition: &Value) -> Vec<(String, u64)> {
    let payload = json!({"table": "_rate_limit", "where": condition});
    let reply = admin.get("/db/list", &payload).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let data = &reply.json()["data"];
    let items = data["items"].as_array().unwrap();
    assert_eq!(data["total"], json!(items.len()));
    let pair = |item: &Value| {
        let client = item["client_ip"].as_str().unwrap().to_owned();
        (client, item["count"].as_u64().unwrap())
    };
    items.iter().map(pair).collect()
}

/// Promise 7.6: the rights.
#[tokio::test(flavor = "multi_thread")]
async fn only_admins_see_and_free_counters() {
    let project = project(&[]);
    let server = TestServer::start(&project).await;
    let (admin, user) = admin(&project, &server).await;
    let named = json!({"table": "_rate_limit", "where": of_client("127.0.0.7")});
    for client in [server.client_at("127.0.9.1"), user] {
        for path in ["/db", "/db/list", "/db/count"] {
            assert_eq!(client.get(path, &named).await.status, 403, "{path}");
        }
        for path in ["/db", "/db/many"] {
            assert_eq!(client.json("DELETE", path, &named).await.status, 403);
        }
        let stream = client.get("/db/stream/list", &named).await;
        assert!(stream.status >= 400, "{}", stream.text());
    }
    assert_eq!(admin.get("/db/list", &named).await.status, 200);
    let row = json!({"table": "_rate_limit", "object": {"count": 0}});
    assert_eq!(admin.json("POST", "/db", &row).await.status, 400);
}

/// Promise 7.6: the decision follows at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_an_admin_frees_is_served_at_once() {
    let project = project(&[]);
    let server = TestServer::start(&project).await;
    let (admin, _) = admin(&project, &server).await;
    let (blocked, other) = (server.client_at("127.0.0.7"), server.client_at("127.0.0.8"));
    for client in [&blocked, &other] {
        crate::use_up_lists(client, "notes", crate::DEFAULT).await;
        assert_eq!(look(client, "").await, 429);
    }
    let named = of_client("127.0.0.7");
    let is = |count| vec![("127.0.0.7".to_owned(), count)];
    assert_eq!(listed(&admin, &named).await, is(100));
    let payload = json!({"table": "_rate_limit", "where": named});
    let count = admin.get("/db/count", &payload).await;
    assert_eq!(count.json(), json!({"data": 1}));
    assert_eq!(admin.json("DELETE", "/db", &payload).await.status, 204);
    assert_eq!(
        look(&blocked, "").await,
        401,
        "an empty token, after the limiter"
    );
    assert_eq!(listed(&admin, &named).await, is(1));
    assert_eq!(look(&other, "").await, 429);
    assert_eq!(admin.json("DELETE", "/db", &payload).await.status, 204);
    assert_eq!(admin.json("DELETE", "/db", &payload).await.status, 404);
    assert_eq!(admin.json("DELETE", "/db/many", &payload).await.status, 204);
    // What was freed does not come back.
    let server = server.restart(&project).await;
    let (blocked, other) = (server.client_at("127.0.0.7"), server.client_at("127.0.0.8"));
    assert_eq!(look(&blocked, "").await, 401);
    assert_eq!(look(&other, "").await, 429);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_and_limits_of_counters_are_those_of_other_tables() {
    let project = project(&[]);
    let server = TestServer::start(&project).await;
    let (admin, _) = admin(&project, &server).await;
    for last in 1..=5 {
        let client = server.client_at(&format!("127.0.4.{last}"));
        crate::use_up_lists(&client, "notes", 1).await;
    }
    let notes = json!({"table": {"eq": "notes"}});
    let page = json!({"table": "_rate_limit", "where": notes, "offset": 3, "limit": 4});
    let data = admin.get("/db/list", &page).await.json()["data"].clone();
    assert_eq!(
        (data["items"].as_array().unwrap().len(), &data["total"]),
        (2, &json!(5))
    );
    let some = json!({"table": "_rate_limit", "where": notes, "limit": 2});
    assert_eq!(admin.json("DELETE", "/db/many", &some).await.status, 204);
    assert_eq!(listed(&admin, &notes).await.len(), 3);
}

/// A slip of the pen frees nobody.
#[tokio::test(flavor = "multi_thread")]
async fn what_names_no_counter_frees_none() {
    let project = project(&[]);
    let server = TestServer::start(&project).await;
    let (admin, _) = admin(&project, &server).await;
    crate::use_up_lists(&server.client_at("127.0.0.7"), "notes", 3).await;
    let named = of_client("127.0.0.7");
    let faulty = [
        json!({}),
        json!({"where": null}),
        json!({"where": {}}),
        json!({"where": {"type": "and"}}),
        json!({"where": {"type": "and", "conditions": []}}),
        json!({"where": {"type": "eq", "colum": "client_ip", "value": "127.0.0.8"}}),
        json!({"wher": named}),
        json!({"where": named, "limit": -1}),
        json!({"where": named, "limit": "2"}),
        json!({"where": named, "limit": 1.5}),
        json!({"where": named, "offset": 0}),
    ];
    for mut payload in faulty {
        payload["table"] = json!("_rate_limit");
        for path in ["/db", "/db/many"] {
            let reply = admin.json("DELETE", path, &payload).await;
            assert_eq!(reply.status, 400, "{path} {payload} {}", reply.text());
        }
    }
    for faulty in [
        json!({"table": "_rate_limit", "offset": -1}),
        json!({"table": "_rate_limit", "limit": true}),
        json!({"table": "_rate_limit", "order_by": "count"}),
        json!({"table": "_rate_limit", "where": {"type": "and"}}),
    ] {
        assert_eq!(admin.get("/db/list", &faulty).await.status, 400, "{faulty}");
    }
    assert_eq!(listed(&admin, &named).await, [("127.0.0.7".to_owned(), 3)]);
}
