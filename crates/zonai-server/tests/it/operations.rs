//! Custom operations and rules, as callers meet them.

use serde_json::{Value, json};
use zonai_server::{Additions, StartError};
use zonai_test::{Client, Project, Reply, TestServer};

use crate::{DEFAULT, list, use_up};

/// A shop with a rule for each operation; `fill` is limited by a file.
fn shop() -> Project {
    let project = Project::new();
    project.file(
        "lib/src/schemas/001_shop.sql",
        "CREATE TABLE items (id TEXT PRIMARY KEY, name TEXT NOT NULL, stock INTEGER NOT NULL DEFAULT 0, note TEXT,
           done BOOLEAN, updatedAt TEXT);
         INSERT INTO items (id, name, stock) VALUES ('a', 'apples', 5), ('b', 'beans', 95), ('c', 'corn', 40);
         CREATE TABLE users (id TEXT PRIMARY KEY, email TEXT UNIQUE NOT NULL, password TEXT, blocked BOOLEAN NOT NULL DEFAULT FALSE);\n",
    );
    project.file(
        "zonai.yaml",
        "listen: [\"127.0.0.1:0\"]\napp:\n  tables:\n    users: {auth: [password]}\n",
    );
    project.file(
        "lib/src/operations/items.yaml",
        "table: items
custom:
  fill: {set: {stock: \"stock + 10\"}, where: \"stock < 90\"}
  reserve:
    set:
      stock: stock - @input.amount
      note: \"coalesce(@user.id, 'nobody')\"
    where: >
      stock >= @input.amount
      and @input.amount > 0
  half: {set: {stock: stock / 2.0}}
  close: {set: {done: true, note: null}}
",
    );
    project.file(
        "lib/src/rules/items.yaml",
        "view: true
list: true
update: name = 'corn'
custom:
  fill: true
  reserve: new.stock >= 1
  half: \"true\"
",
    );
    project.file(
        "lib/src/rate_limit/items.yaml",
        "table: items\nlimits:\n  custom: 20/1m\n",
    );
    project
}

async fn ask(client: &Client, path: &str, body: Value) -> Reply {
    client
        .json("PATCH", &format!("/db/custom/{path}"), &body)
        .await
}

async fn stock(client: &Client, id: &str) -> Value {
    let reply = client
        .get(
            "/db",
            &json!({"table": "items", "where": {"id": {"eq": id}}}),
        )
        .await;
    reply.json()["data"]["stock"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_changes_the_rows_that_it_and_the_caller_mean() {
    let project = shop();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let filled = ask(
        &client,
        "fill",
        json!({"table": "items", "where": {"id": {"eq": "a"}}}),
    )
    .await;
    assert_eq!(
        (filled.status, filled.json()["data"]["stock"].clone()),
        (200, json!(15)),
        "{}",
        filled.text()
    );
    assert!(filled.json()["data"]["updatedAt"].is_string());
    // The newest of those below 90.
    let newest = ask(&client, "fill", json!({"table": "items"})).await;
    assert_eq!(newest.json()["data"]["id"], "c");
    let none = ask(
        &client,
        "fill",
        json!({"table": "items", "where": {"id": {"eq": "b"}}}),
    )
    .await;
    assert_eq!(
        (none.status, none.text()),
        (404, "{\"error\":\"Record not found (table: items)\"}")
    );
    let many = ask(&client, "fill/many", json!({"table": "items"})).await;
    assert_eq!(many.json()["data"].as_array().unwrap().len(), 2);
    let one = ask(&client, "fill/many", json!({"table": "items", "limit": 1})).await;
    assert_eq!(one.json()["data"].as_array().unwrap().len(), 1);
    let no_rows = ask(
        &client,
        "fill/many",
        json!({"table": "items", "where": {"id": {"eq": "b"}}}),
    )
    .await;
    assert_eq!(
        (no_rows.status, no_rows.json()["data"].clone()),
        (200, json!([]))
    );
    assert_eq!(stock(&client, "b").await, 95);
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_the_request_are_bound_and_checked() {
    let project = shop();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let reserve = |id: &str, updates: Value| {
        let body = json!({"table": "items", "where": {"id": {"eq": id}}, "updates": updates});
        let client = &client;
        async move { ask(client, "reserve", body).await }
    };
    for updates in [
        json!({"amount": 1}),
        json!([{"column": "amount", "value": 1}]),
        json!({"type": "object", "object": {"amount": 1}}),
    ] {
        let reply = reserve("c", updates).await;
        assert_eq!(
            (reply.status, reply.json()["data"]["note"].clone()),
            (200, json!("nobody")),
            "{}",
            reply.text()
        );
    }
    assert_eq!(stock(&client, "c").await, 37);
    let cases = [
        (json!(null), 400, "updates.amount: is missing"),
        (json!({}), 400, "updates.amount: is missing"),
        (
            json!({"amount": 1, "amont": 2}),
            400,
            "updates: the operation takes no `amont`; did you mean `amount`?",
        ),
        (json!({"amount": 0}), 404, "Record not found (table: items)"),
        (
            json!({"amount": 50}),
            404,
            "Record not found (table: items)",
        ),
        (
            json!({"amount": "1; DROP TABLE items"}),
            404,
            "Record not found (table: items)",
        ),
        (
            json!({"amount": 0.5}),
            422,
            "`stock` takes a whole number, not a number",
        ),
        (json!({"amount": 37}), 403, "Forbidden"),
    ];
    for (updates, status, error) in cases {
        let reply = reserve("c", updates.clone()).await;
        assert_eq!(
            (reply.status, reply.json()["error"].clone()),
            (status, json!(error)),
            "{updates}"
        );
    }
    assert_eq!(stock(&client, "c").await, 37, "what was refused was undone");
    let half = ask(
        &client,
        "half",
        json!({"table": "items", "where": {"id": {"eq": "c"}}}),
    )
    .await;
    assert_eq!(half.status, 422, "18.5 is no whole number");
    let unknown = ask(&client, "half", json!({"table": "items", "expect": {}})).await;
    assert_eq!(unknown.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_asks_only_its_own_rule() {
    let project = shop();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let apples = json!({"table": "items", "where": {"id": {"eq": "a"}}});
    assert_eq!(
        ask(&client, "fill", apples.clone()).await.status,
        200,
        "`update` is not asked"
    );
    assert_eq!(
        ask(&client, "close", apples).await.status,
        403,
        "without a rule it is for admins"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_have_counters_of_their_own_and_invented_names_gain_nothing() {
    let project = shop();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let body = json!({"table": "items", "updates": {"amount": 0}});
    use_up(
        &client,
        "PATCH",
        "/db/custom/fill",
        &json!({"table": "items"}),
        10,
    )
    .await;
    use_up(
        &client,
        "PATCH",
        "/db/custom/fill/many",
        &json!({"table": "items"}),
        10,
    )
    .await;
    let refused = ask(&client, "fill", json!({"table": "items"})).await;
    let told = "{\"error\":\"Rate limit exceeded\",\"collection\":\"items\",\"operation\":\"custom\",\"customOperation\":\"fill\",\"retryAfter\":60}";
    assert_eq!((refused.status, refused.text()), (429, told));
    assert_eq!(
        ask(&client, "fill/many", json!({"table": "items"}))
            .await
            .status,
        429
    );
    use_up(&client, "PATCH", "/db/custom/reserve", &body, 20).await;
    assert_eq!(
        ask(&client, "reserve", body).await.json()["customOperation"],
        "reserve"
    );
    for number in 0..DEFAULT {
        let path = if number % 2 == 0 {
            format!("ghost{number}")
        } else {
            format!("ghost{number}/many")
        };
        let reply = ask(&client, &path, json!({"table": "items"})).await;
        assert_eq!(
            (reply.status, reply.text()),
            (404, "{\"error\":\"Unknown operation\"}"),
            "request {number}"
        );
    }
    let ghost = ask(&client, "another", json!({"table": "items"})).await;
    assert_eq!(
        (ghost.status, ghost.json()["collection"].clone()),
        (429, json!("__unknown__"))
    );
    assert_eq!(list(&client, "items").await.status, 200);
}

/// Counted, not assumed.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_request_asks_no_rule_and_runs_no_sql() {
    let project = shop();
    let server = TestServer::start(&project).await;
    let client = server.client().with("authorization", "Bearer invalid");
    let anonymous = server.client();
    let body = json!({"table": "items"});
    use_up(&anonymous, "PATCH", "/db/custom/fill", &body, 20).await;
    use_up(&anonymous, "GET", "/db/list", &body, DEFAULT).await;
    let (rules, jobs) = server.running.work_done();
    assert_eq!(
        (rules, jobs >= 120),
        (120, true),
        "each request that was admitted asked once: {rules}, {jobs}"
    );
    for client in [&client, &anonymous] {
        for _ in 0..50 {
            assert_eq!(ask(client, "fill", body.clone()).await.status, 429);
            assert_eq!(list(client, "items").await.status, 429);
        }
    }
    assert_eq!(server.running.work_done(), (rules, jobs));
}

/// The rules on accounts, asked in the transaction of the account.
#[tokio::test(flavor = "multi_thread")]
async fn rules_on_accounts_are_asked() {
    let project = shop();
    project.file(
        "lib/src/rules/users.yaml",
        "signUp: email like '%@good.org'\nsignIn: not blocked\nview: id = @user.id\nupdate: id = @user.id and new.blocked is old.blocked\n",
    );
    let server = TestServer::start(&project).await;
    let client = server.client();
    let sign = |path: &'static str, email: &'static str| {
        let body = json!({"email": email, "password": "correct horse battery"});
        let client = &client;
        async move { client.json("POST", path, &body).await }
    };
    let bad = sign("/auth/sign-up", "a@bad.org").await;
    assert_eq!((bad.status, bad.text()), (403, "{\"error\":\"Forbidden\"}"));
    assert_eq!(
        sign("/auth/sign-in", "a@bad.org").await.status,
        401,
        "no row was left"
    );
    let good = sign("/auth/sign-up", "a@good.org").await;
    assert_eq!(good.status, 200, "{}", good.text());
    let token = good.json()["data"]["accessToken"]
        .as_str()
        .unwrap()
        .to_owned();
    let id = good.json()["data"]["user"]["id"].clone();
    let own = json!({"table": "users", "where": {"id": {"eq": id}}});
    let signed_in = client.with("authorization", &format!("Bearer {token}"));
    assert_eq!(signed_in.get("/db", &own).await.status, 200);
    assert_eq!(client.get("/db", &own).await.status, 403);
    let block = json!({"table": "users", "where": {"id": {"eq": id}}, "updates": [{"column": "blocked", "value": true}]});
    assert_eq!(signed_in.json("PATCH", "/db", &block).await.status, 403);
}

/// 403 and not 409 or 422, for a row that neither the rule nor the table would have.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_a_rule_refuses_is_a_403_whatever_else_is_wrong_with_it() {
    let project = shop();
    project.file(
        "lib/src/schemas/002_orders.sql",
        "CREATE TABLE orders (id TEXT PRIMARY KEY, item TEXT NOT NULL REFERENCES items (id), slip TEXT UNIQUE,
           amount INTEGER NOT NULL DEFAULT 1 CHECK (amount > 0), state TEXT DEFAULT 'new');
         INSERT INTO orders (id, item, slip) VALUES ('o', 'a', 's'), ('p', 'a', 't');\n",
    );
    project.file(
        "lib/src/operations/orders.yaml",
        "custom:\n  empty: {set: {amount: amount - 1, state: \"'new'\"}}\n  paid: {set: {amount: amount - 1, state: \"'paid'\"}}\n",
    );
    project.file(
        "lib/src/rules/orders.yaml",
        "create: state = 'new'\nupdate: new.state = 'new'\ncustom: {empty: new.state = 'new', paid: new.state = 'new'}\n",
    );
    let server = TestServer::start(&project).await;
    let client = server.client();
    let faults = [
        (json!({"item": "nothing"}), 422),
        (json!({"item": "a", "slip": "s"}), 409),
        (json!({"item": null}), 422),
        (json!({"item": "a", "amount": 0}), 422),
    ];
    for (object, fault) in faults {
        for (state, status) in [("new", fault), ("paid", 403)] {
            let mut object = object.clone();
            object["state"] = json!(state);
            let create = json!({"table": "orders", "object": object});
            let created = client.json("POST", "/db", &create).await;
            assert_eq!(created.status, status, "{object}: {}", created.text());
            let updates = json!({"type": "object", "object": object});
            let update =
                json!({"table": "orders", "where": {"id": {"eq": "p"}}, "updates": updates});
            let changed = client.json("PATCH", "/db", &update).await;
            assert_eq!(changed.status, status, "{object}: {}", changed.text());
        }
    }
    let body = json!({"table": "orders", "where": {"id": {"eq": "p"}}});
    assert_eq!(ask(&client, "empty", body.clone()).await.status, 422);
    assert_eq!(ask(&client, "paid", body).await.status, 403);
}

/// A sign-up that its rule refuses hears of no constraint either.
#[tokio::test(flavor = "multi_thread")]
async fn a_refused_sign_up_hears_of_no_constraint() {
    let project = shop();
    project.file(
        "lib/src/schemas/002_names.sql",
        "CREATE TABLE people (id TEXT PRIMARY KEY, email TEXT UNIQUE NOT NULL, password TEXT, name TEXT UNIQUE,
           age INTEGER CHECK (age > 0), role TEXT DEFAULT 'guest');\n",
    );
    project.file(
        "zonai.yaml",
        "listen: [\"127.0.0.1:0\"]\napp:\n  tables:\n    people: {auth: [password]}\n",
    );
    let rule = "signUp: email like '%@good.org' and role = 'guest'\n";
    project.file("lib/src/rules/people.yaml", rule);
    let server = TestServer::start(&project).await;
    let client = server.client();
    let sign_up = |email: &'static str, object: Value| {
        let password = "correct horse battery";
        let body =
            json!({"table": "people", "email": email, "password": password, "object": object});
        let client = &client;
        async move { client.json("POST", "/auth/sign-up", &body).await.status }
    };
    assert_eq!(sign_up("a@good.org", json!({"name": "ann"})).await, 200);
    assert_eq!(sign_up("b@good.org", json!({"name": "ann"})).await, 409);
    assert_eq!(sign_up("b@good.org", json!({"age": 0})).await, 422);
    assert_eq!(sign_up("b@bad.org", json!({"name": "ann"})).await, 403);
    assert_eq!(sign_up("b@bad.org", json!({"age": 0})).await, 403);
    let boss = json!({"name": "ann", "role": "boss"});
    assert_eq!(sign_up("b@good.org", boss).await, 403);
}

async fn faults(project: &Project) -> Vec<String> {
    match TestServer::try_start(project, Additions::default()).await {
        Err(StartError::Faults(faults)) => faults
            .iter()
            .map(|fault| {
                let help = fault
                    .help
                    .as_deref()
                    .map_or_else(String::new, |help| format!(" ({help})"));
                format!(
                    "{}:{}:{} {}{help}",
                    fault.path, fault.line, fault.column, fault.message
                )
            })
            .collect(),
        Err(other) => panic!("{other}"),
        Ok(_) => Vec::new(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn faults_of_the_files_are_listed_with_their_places() {
    let project = shop();
    project.file(
        "lib/src/operations/items.yaml",
        "table: itms
custom:
  fill: {set: {stock: \"stok + 10\", id: \"'x'\", updatedAt: \"'x'\"}, where: 'name = ''x'' and stck < 90'}
  2nd: {set: {stock: 1}}
  empty: {}
  wher: {set: {stock: [1]}, wher: x}
",
    );
    project.file(
        "lib/src/rules/items.yaml",
        "veiw: true
list: >
  name = 'a'
  and stok > 1
view: |
  name = 'b'
  and (stock > 1
  or nme = 'x')
update: \"name = \\\"x\\\"\"
delete: 7
signUp: true
create: owner = @user.id
custom:
  fil: true
  fill: stock
",
    );
    project.file("lib/src/rules/itms.yaml", "view: true\n");
    let told = faults(&project).await;
    let operations = "lib/src/operations/items.yaml";
    let rules = "lib/src/rules/items.yaml";
    let expected = [
        format!(
            "{operations}:1:8 the file is named after `items`, so `table` must be that or left out"
        ),
        format!("{operations}:3:24 unknown column `stok` (did you mean `stock`?)"),
        format!("{operations}:3:36 `id` is kept by the server and cannot be set"),
        format!("{operations}:3:47 `updatedAt` is kept by the server and cannot be set"),
        format!("{operations}:3:91 unknown column `stck` (did you mean `stock`?)"),
        format!(
            "{operations}:4:3 the name of an operation is letters, digits, `_` and `-`, with a letter first, at most 64"
        ),
        format!("{operations}:5:3 an operation needs `set`, with at least one column"),
        format!("{operations}:6:23 the new value of `stock` must be an SQL expression, not a list"),
        format!("{operations}:6:29 unknown key `wher` (did you mean `where`?)"),
        format!("{rules}:1:1 unknown key `veiw` (did you mean `view`?)"),
        format!("{rules}:4:7 unknown column `stok` (did you mean `stock`?)"),
        format!("{rules}:8:6 unknown column `nme` (did you mean `name`?)"),
        format!("{rules}:9:18 unknown column `x` (a text stands in single quotes: 'x')"),
        format!("{rules}:10:9 `delete` must be true, false or an SQL expression, not `7`"),
        format!(
            "{rules}:11:1 `signUp` is for tables with accounts, and `items` has none (list it under `app.tables` of zonai.yaml: `items: {{auth: [password]}}`)"
        ),
        format!("{rules}:12:9 unknown column `owner`"),
        format!("{rules}:14:3 unknown custom operation `fil` (did you mean `fill`?)"),
        "lib/src/rules/itms.yaml:1:1 there is no table `itms` (did you mean `items`?)".to_owned(),
    ];
    assert_eq!(told, expected, "{told:#?}");
}

/// A policy file may name what an operations file registers, and nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn policies_know_the_operations() {
    let project = shop();
    project.file(
        "lib/src/rate_limit/items.yaml",
        "table: items\nlimits:\n  custom:\n    fill: 2/1m\n",
    );
    let server = TestServer::start(&project).await;
    let client = server.client();
    use_up(
        &client,
        "PATCH",
        "/db/custom/fill",
        &json!({"table": "items"}),
        2,
    )
    .await;
    assert_eq!(
        ask(&client, "fill", json!({"table": "items"})).await.status,
        429
    );
    drop(server);
    project.file(
        "lib/src/rate_limit/items.yaml",
        "table: items\nlimits:\n  custom:\n    fil: 2/1m\n",
    );
    let told = faults(&project).await;
    assert!(
        told.iter()
            .any(|fault| fault.contains("items.yaml:4:5") && fault.contains("`fill`")),
        "{told:#?}"
    );
}
