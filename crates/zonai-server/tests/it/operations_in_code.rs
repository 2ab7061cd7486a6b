//! Custom operations that a program performs, and hooks around custom operations.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use zonai_code::{
    CustomOperation, HookContext, HookError, OperationError, OperationRequest, Performed,
    TableHooks,
};
use zonai_data::{DataError, Payload};
use zonai_server::explain::Explain;
use zonai_server::{Additions, StartError};
use zonai_test::{Client, Project, Reply, TestServer};

use crate::use_up;

fn shop() -> Project {
    let project = Project::new();
    project.file(
        "lib/src/schemas/001_shop.sql",
        "CREATE TABLE items (id TEXT PRIMARY KEY, name TEXT NOT NULL, stock INTEGER NOT NULL DEFAULT 0 CHECK (stock < 100),
           updatedAt TEXT);
         CREATE TABLE sales (id TEXT PRIMARY KEY, item TEXT NOT NULL REFERENCES items (id), amount INTEGER NOT NULL);
         CREATE VIEW few AS SELECT * FROM items WHERE stock < 3;
         INSERT INTO items (id, name, stock) VALUES ('a', 'apples', 5), ('b', 'beans', 1), ('c', 'corn', 40);\n",
    );
    project.file(
        "lib/src/operations/items.yaml",
        "custom:\n  fill: {set: {stock: \"stock + 10\"}}\n",
    );
    project.file(
        "lib/src/rules/items.yaml",
        "view: true\nlist: true\ncustom:\n  fill: true\n  sell: name <> 'corn' and new.stock <> 3\n  close: true\n",
    );
    project.file("lib/src/rules/sales.yaml", "list: true\n");
    project
}

/// Takes some of an item, and notes the sale.
struct Sell;

impl CustomOperation for Sell {
    const TABLE: &'static str = "items";
    const NAME: &'static str = "sell";

    async fn perform(&self, request: OperationRequest) -> Result<Performed, OperationError> {
        let amount = request.input("amount").and_then(Value::as_i64);
        let amount = amount.ok_or("`amount` must be a whole number")?;
        if amount == 66 {
            panic!("as the test asks for");
        }
        request
            .change(move |item, tables| {
                assert_ne!(amount, 77, "as the test asks for");
                let sale = json!({"item": item["id"], "amount": amount});
                tables.create(json!({"table": "sales", "object": sale}))?;
                let left = item["stock"].as_i64().unwrap_or(0) - amount;
                if left < 0 {
                    return Err("there is not enough of it".into());
                }
                item.insert("stock".to_owned(), left.into());
                if amount == 4 {
                    item.insert("id".to_owned(), "z".into());
                }
                Ok(())
            })
            .await
    }
}

/// Sells out everything at once, or fails half-way.
struct Close;

impl CustomOperation for Close {
    const TABLE: &'static str = "items";
    const NAME: &'static str = "close";

    async fn perform(&self, request: OperationRequest) -> Result<Performed, OperationError> {
        let fails = request.input("fails").is_some();
        request
            .transaction(move |tables| {
                let rows = tables.update_many(json!({"table": "items", "where": {},
                    "updates": [{"column": "stock", "value": 0}]}))?;
                // An operation that fails leaves nothing of itself, and code may go on.
                let two = json!([{"item": "a", "amount": 1}, {"item": "ghost", "amount": 1}]);
                let none = tables.create_many(json!({"table": "sales", "objects": two}));
                assert!(matches!(none, Err(DataError::Unprocessable(_))), "{none:?}");
                let sales = tables.count(json!({"table": "sales"}))?;
                if fails {
                    return Err(OperationError(DataError::Conflict("not today".to_owned())));
                }
                Ok(json!({"closed": rows.as_array().map(Vec::len), "sales": sales}))
            })
            .await
    }
}

/// Calls itself, again and again.
struct Again(Arc<AtomicUsize>);

impl CustomOperation for Again {
    const TABLE: &'static str = "items";
    const NAME: &'static str = "again";

    async fn perform(&self, request: OperationRequest) -> Result<Performed, OperationError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let tables = &request.context.data;
        tables.custom("again", json!({"table": "items"})).await?;
        request.change(|_, _| Ok(())).await
    }
}

fn additions(add: impl FnOnce(&mut Additions)) -> Additions {
    let mut additions = Additions::default();
    add(&mut additions);
    additions
}

fn sell_and_close() -> Additions {
    additions(|additions| {
        additions.operations.add(Sell);
        additions.operations.add(Close);
    })
}

async fn ask(client: &Client, path: &str, body: Value) -> Reply {
    client
        .json("PATCH", &format!("/db/custom/{path}"), &body)
        .await
}

async fn sell(client: &Client, id: &str, amount: i64) -> (u16, Value) {
    let body =
        json!({"table": "items", "where": {"id": {"eq": id}}, "updates": {"amount": amount}});
    let reply = ask(client, "sell", body).await;
    (reply.status, reply.json())
}

async fn rows(client: &Client, table: &str) -> Vec<Value> {
    let reply = client.get("/db/list", &json!({"table": table})).await;
    reply.json()["data"]["items"].as_array().cloned().unwrap()
}

async fn stocks(client: &Client) -> Vec<Value> {
    let mut items = rows(client, "items").await;
    items.sort_by_key(|item| item["id"].to_string());
    items.iter().map(|item| item["stock"].clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_in_code_changes_rows_all_or_none() {
    let server = TestServer::start_with(&shop(), sell_and_close()).await;
    let client = server.client();
    let (status, body) = sell(&client, "a", 1).await;
    assert_eq!((status, &body["data"]["stock"]), (200, &json!(4)), "{body}");
    assert!(body["data"]["updatedAt"].is_string());
    assert_eq!(rows(&client, "sales").await[0]["item"], "a");
    let cases = [
        ("a", 9, 400, "there is not enough of it"),
        ("nobody", 1, 404, "Record not found (table: items)"),
        ("c", 1, 403, "Forbidden"),
        // Its row would have 3 left.
        ("a", 1, 403, "Forbidden"),
        ("b", -99, 422, "Check failed"),
        // It sets the key, which no operation may: that is for the log.
        ("a", 4, 500, "Internal error"),
    ];
    for (id, amount, status, error) in cases {
        let told = sell(&client, id, amount).await;
        assert_eq!(told, (status, json!({"error": error})), "{id} {amount}");
    }
    for body in [
        json!({"table": "items", "updates": {"amount": "1"}}),
        json!({"table": "items", "expect": {}}),
        json!({"table": "items", "where": {"nme": {"eq": 1}}}),
    ] {
        assert_eq!(
            ask(&client, "sell", body.clone()).await.status,
            400,
            "{body}"
        );
    }
    // Beans are short: apples stay too. Corn is not asked for.
    let many =
        json!({"table": "items", "where": {"id": {"in": ["a", "b"]}}, "updates": {"amount": 2}});
    assert_eq!(ask(&client, "sell/many", many.clone()).await.status, 400);
    assert_eq!(stocks(&client).await, [4, 1, 40]);
    assert_eq!(rows(&client, "sales").await.len(), 1, "undone as well");
    let one = json!({"table": "items", "where": {"id": {"eq": "a"}}, "updates": [{"column": "amount", "value": 2}]});
    let sold = ask(&client, "sell/many", one).await.json();
    assert_eq!(sold["data"][0]["stock"], 2, "{sold}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_in_code_may_work_on_tables_in_one_transaction() {
    let project = shop();
    let server = TestServer::start_with(&project, sell_and_close()).await;
    let client = server.client();
    let fails = json!({"table": "items", "updates": {"fails": true}});
    let told = ask(&client, "close", fails).await;
    assert_eq!(
        (told.status, told.text()),
        (409, "{\"error\":\"not today\"}")
    );
    assert_eq!(stocks(&client).await, [5, 1, 40], "nothing of it is left");
    let closed = ask(&client, "close", json!({"table": "items"})).await;
    let expected = json!({"data": {"closed": 3, "sales": 0}});
    assert_eq!((closed.status, closed.json()), (200, expected));
    assert_eq!(stocks(&client).await, [0, 0, 0]);
    drop(server);
    // A rule about rows cannot be asked without any: nobody passes.
    project.file(
        "lib/src/rules/items.yaml",
        "list: true\ncustom: {close: stock = 0}\n",
    );
    let server = TestServer::start_with(&project, sell_and_close()).await;
    let refused = ask(&server.client(), "close", json!({"table": "items"})).await;
    assert_eq!(refused.status, 403);
    drop(server);
    project.file("lib/src/rules/items.yaml", "list: true\n");
    let server = TestServer::start_with(&project, sell_and_close()).await;
    let refused = ask(&server.client(), "close", json!({"table": "items"})).await;
    assert_eq!(refused.status, 403, "left out, it is for admins");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_an_operation_is_a_500_and_nothing_else() {
    let server = TestServer::start_with(&shop(), sell_and_close()).await;
    let client = server.client();
    for amount in [66, 77] {
        let told = sell(&client, "a", amount).await;
        assert_eq!(told, (500, json!({"error": "Internal error"})));
    }
    assert_eq!(sell(&client, "a", 1).await.0, 200, "the server goes on");
    assert_eq!(rows(&client, "sales").await.len(), 1);
}

/// What the limiter, policies, rules and explanations know of a name from a file they know of one in code.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_in_code_is_a_bucket_and_may_be_named() {
    let project = shop();
    let policy = "table: items\nlimits:\n  custom: {sell: 2/1m, close: 3/1m}\n";
    project.file("lib/src/rate_limit/items.yaml", policy);
    let server = TestServer::start_with(&project, sell_and_close()).await;
    let client = server.client();
    let body = json!({"table": "items", "where": {"id": {"eq": "a"}}, "updates": {"amount": 1}});
    use_up(&client, "PATCH", "/db/custom/sell", &body, 2).await;
    let refused = ask(&client, "sell/many", body).await;
    let told = "{\"error\":\"Rate limit exceeded\",\"collection\":\"items\",\"operation\":\"custom\",\"customOperation\":\"sell\",\"retryAfter\":60}";
    assert_eq!((refused.status, refused.text()), (429, told));
    let other = ask(&client, "close", json!({"table": "items"})).await;
    assert_eq!(other.status, 200, "a counter of its own");
    let other_table = ask(&client, "sell", json!({"table": "sales"})).await;
    assert_eq!(other_table.text(), "{\"error\":\"Unknown operation\"}");
    let explained = server
        .running
        .explain(&Explain {
            method: "PATCH".to_owned(),
            path: "/db/custom/close".to_owned(),
            body: Some(json!({"table": "items"}).to_string()),
            ..Explain::default()
        })
        .await;
    let text = explained.unwrap().to_string();
    assert!(text.contains("close") && text.contains("3"), "{text}");
}

struct On<const TABLE: char>;

macro_rules! nothing {
    ($case:literal, $table:literal, $name:literal) => {
        impl CustomOperation for On<$case> {
            const TABLE: &'static str = $table;
            const NAME: &'static str = $name;

            async fn perform(
                &self,
                request: OperationRequest,
            ) -> Result<Performed, OperationError> {
                request.change(|_, _| Ok(())).await
            }
        }
    };
}

nothing!('u', "itmes", "sell");
nothing!('f', "items", "fill");
nothing!('t', "items", "sell");
nothing!('n', "items", "2nd");
nothing!('v', "few", "sell");

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_an_operation_in_code_stops_the_start() {
    let project = shop();
    project.file(
        "lib/src/rules/items.yaml",
        "custom: {sel: true, sell: true}\n",
    );
    let all = additions(|additions| {
        additions.operations.add(On::<'u'>);
        additions.operations.add(On::<'f'>);
        additions.operations.add(Sell);
        additions.operations.add(On::<'t'>);
        additions.operations.add(On::<'n'>);
        additions.operations.add(On::<'v'>);
    });
    let faults = match TestServer::try_start(&project, all).await {
        Err(StartError::Faults(faults)) => faults,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("it started"),
    };
    let told: Vec<String> = faults.iter().map(ToString::to_string).collect();
    let expected = [
        "there is no table `itmes`; did you mean `items`?",
        "the custom operation `fill` of `items` is registered already, by a file in lib/src/operations",
        "the custom operation `sell` of `items` is registered already, in code",
        "a letter first, at most 64, and not `2nd`",
        "`few` is a view and can only be read",
        "unknown custom operation `sel`; did you mean `sell`?",
    ];
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    for (told, expected) in told.iter().zip(expected) {
        assert!(told.contains(expected), "{expected}: {told}");
    }
    assert!(told[0].contains("On<"), "the type is named: {}", told[0]);
}

/// Notes what it sees; stops `fill` with a limit of 1, and sets that of others.
#[derive(Clone, Default)]
struct Watch(Arc<Mutex<Vec<String>>>);

impl TableHooks for Watch {
    const TABLE: &'static str = "items";

    async fn before_custom(
        &self,
        _: &HookContext,
        operation: &str,
        payload: &mut Payload,
    ) -> Result<(), HookError> {
        self.0.lock().push(format!("before {operation}"));
        if payload.get("limit") == Some(&json!(1)) {
            return Err("never one alone".into());
        }
        if let Some(amount) = payload
            .get_mut("updates")
            .and_then(|all| all.get_mut("amount"))
        {
            *amount = json!(1);
        }
        Ok(())
    }

    async fn after_custom(
        &self,
        _: &HookContext,
        operation: &str,
        row: &Value,
    ) -> Result<(), HookError> {
        let seen = format!("after {operation} {}", row["stock"]);
        self.0.lock().push(seen);
        Err("too late".into())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_run_around_custom_operations() {
    let watch = Watch::default();
    let mut all = sell_and_close();
    all.hooks.add_table(watch.clone());
    let project = shop();
    let policy = "table: items\nlimits:\n  custom: {fill: 2/1m}\n";
    project.file("lib/src/rate_limit/items.yaml", policy);
    let server = TestServer::start_with(&project, all).await;
    let client = server.client();
    let seen = || std::mem::take(&mut *watch.0.lock());
    assert_eq!(sell(&client, "a", 0).await.0, 200);
    assert_eq!(
        seen(),
        ["before sell", "after sell 4"],
        "the hook made it 1"
    );
    let some = json!({"table": "items", "where": {"id": {"in": ["a", "b"]}}});
    assert_eq!(ask(&client, "fill/many", some).await.status, 200);
    assert_eq!(seen(), ["before fill", "after fill 11", "after fill 14"]);
    let aborted = ask(&client, "fill/many", json!({"table": "items", "limit": 1})).await;
    assert_eq!(
        (aborted.status, aborted.text()),
        (400, "{\"error\":\"never one alone\"}")
    );
    assert_eq!(seen(), ["before fill"]);
    let refused = ask(&client, "fill", json!({"table": "items"})).await;
    assert_eq!((refused.status, seen()), (429, Vec::new()));
    assert_eq!(
        ask(&client, "none", json!({"table": "items"})).await.status,
        404
    );
    assert_eq!(seen(), Vec::<String>::new());
    drop(server);
    project.file("lib/src/rules/items.yaml", "custom: {sell: false}\n");
    let mut all = sell_and_close();
    all.hooks.add_table(watch.clone());
    let server = TestServer::start_with(&project, all).await;
    assert_eq!(sell(&server.client(), "a", 1).await.0, 403);
    assert_eq!(seen(), Vec::<String>::new(), "a rule comes before hooks");
}

/// Before each `fill` there is another one.
struct FillBefore(Arc<AtomicUsize>);

impl TableHooks for FillBefore {
    const TABLE: &'static str = "items";

    async fn before_custom(
        &self,
        context: &HookContext,
        operation: &str,
        payload: &mut Payload,
    ) -> Result<(), HookError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        let payload: Map<String, Value> = payload.members().clone();
        let again = context.data.custom(operation, payload).await;
        again
            .map(drop)
            .map_err(|error| HookError(error.to_string()))
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn operations_that_call_each_other_end_at_ten() {
    let calls = Arc::new(AtomicUsize::new(0));
    let again = Again(Arc::clone(&calls));
    let in_code = additions(|additions| additions.operations.add(again));
    let hook = FillBefore(Arc::clone(&calls));
    let by_hooks = additions(|additions| additions.hooks.add_table(hook));
    for (all, path) in [(in_code, "again"), (by_hooks, "fill")] {
        let project = shop();
        if path == "fill" {
            project.file(
                "lib/src/rules/items.yaml",
                "list: true\ncustom: {fill: true}\n",
            );
        } else {
            project.file(
                "lib/src/rules/items.yaml",
                "list: true\ncustom: {again: true}\n",
            );
        }
        let server = TestServer::start_with(&project, all).await;
        let client = server.client();
        let told = ask(&client, path, json!({"table": "items"})).await;
        assert_eq!(told.status, 400, "{path}: {}", told.text());
        assert!(told.text().contains("more than 10 deep"), "{}", told.text());
        let times = calls.swap(0, Ordering::SeqCst);
        assert_eq!(times, 11, "{path}: the request's own and ten below it");
        assert_eq!(stocks(&client).await, [5, 1, 40], "{path}");
    }
}

/// Takes every name.
struct Anything;

impl CustomOperation for Anything {
    const TABLE: &'static str = "items";
    const NAME: &'static str = "*";

    async fn perform(&self, request: OperationRequest) -> Result<Performed, OperationError> {
        let name = request.name().to_owned();
        request
            .transaction(move |_| Ok(json!({"asked": name})))
            .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_that_cannot_be_validated_share_one_counter() {
    let project = shop();
    project.file(
        "lib/src/rules/items.yaml",
        "custom:\n  fill: true\n  sell: true\n  \"*\": true\n",
    );
    project.file(
        "lib/src/rate_limit/items.yaml",
        "table: items\nlimits: {custom: 5/1h}\n",
    );
    let server = TestServer::start_with(
        &project,
        additions(|additions| {
            additions.operations.add(Sell);
            additions.operations.add(Anything);
        }),
    )
    .await;
    let client = server.client();
    let all = json!({"table": "items"});
    for name in ["rotate", "turn", "rotate"] {
        let reply = ask(&client, name, all.clone()).await;
        assert_eq!(reply.json()["data"], json!({"asked": name}));
    }
    let filled = ask(
        &client,
        "fill",
        json!({"table": "items", "where": {"id": {"eq": "a"}}}),
    )
    .await;
    assert_eq!(
        filled.json()["data"]["stock"],
        15,
        "one of a file keeps its name"
    );
    let sold = json!({"table": "items", "where": {"id": {"eq": "a"}}, "updates": {"amount": 1}});
    assert_eq!(ask(&client, "sell", sold).await.json()["data"]["stock"], 14);
    let refused = ask(&client, "invented", all).await;
    assert_eq!(refused.status, 429);
    assert_eq!(refused.json()["operation"], "custom");
    assert_eq!(
        refused.json().get("customOperation"),
        None,
        "no name was validated"
    );
    let elsewhere = ask(&client, "invented", json!({"table": "sales"})).await;
    assert_eq!(elsewhere.status, 404);
}
