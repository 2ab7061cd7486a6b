//! A rule's no comes before a constraint's: to whom the rule says no, no constraint tells what is there.

use serde_json::{Value, json};
use zonai_data::{Action, Caller, DataError, Operation, Operations, RuleKey, RuleText, Rules};

use crate::support::{Data, open, payload, user};

const STOCK: &str = "CREATE TABLE shelves (id INTEGER PRIMARY KEY);
    CREATE TABLE items (id TEXT PRIMARY KEY, owner TEXT, code TEXT UNIQUE, name TEXT NOT NULL DEFAULT 'new',
      stock INTEGER DEFAULT 1 CONSTRAINT positive CHECK (stock >= 0), shelf INTEGER REFERENCES shelves (id),
      later INTEGER REFERENCES shelves (id) DEFERRABLE INITIALLY DEFERRED, tags JSON);
    INSERT INTO items (id, owner, code) VALUES ('a', 'ann', 'x'), ('b', 'bob', 'y'), ('c', 'ann', 'z');";

fn allow(data: &Data, table: &str, key: RuleKey, text: &str) -> Rules {
    let (schema, mut rules) = (data.db.schema(), Rules::default());
    let rule = RuleText::Expression(text.to_owned());
    rules
        .add(schema, schema.table(table).unwrap(), key, &rule)
        .unwrap();
    rules
}

fn rule(data: &Data, table: &str, action: Action, text: &str) {
    let rules = allow(data, table, RuleKey::Action(action), text);
    data.db.set_rights(Box::new(rules));
}

async fn create(data: &Data, caller: &Caller, object: Value) -> DataError {
    let wanted = payload(json!({"table": "items", "object": object}));
    let created = data.db.create(&data.pass, caller, &wanted).await;
    created.map(|row| row.to_string()).unwrap_err()
}

/// The text of a 409 or 422.
fn constraint(error: DataError) -> String {
    match error {
        DataError::Conflict(text) | DataError::Unprocessable(text) => text,
        other => panic!("expected a constraint, found {other:?}"),
    }
}

#[tokio::test]
async fn a_create_that_a_rule_refuses_hears_of_no_constraint() {
    let data = open(STOCK);
    rule(
        &data,
        "items",
        Action::Create,
        "owner = @user.id and stock < 5 and name <> 'forbidden'",
    );
    let cases = [
        (
            json!({"code": "x"}),
            "Already exists: `code` (table: items)",
        ),
        (
            json!({"name": null}),
            "`name` must not be null (table: items)",
        ),
        (json!({"stock": -1}), "Check failed: `positive`"),
        (
            json!({"shelf": 7}),
            "Foreign key failed: `shelf` points to a record that does not exist (table: shelves)",
        ),
        (
            json!({"later": 7}),
            "Foreign key failed: a record that is pointed to does not exist, or is still pointed to",
        ),
    ];
    for (mut object, told) in cases {
        object["owner"] = json!("ann");
        let null_name = object.get("name").is_some();
        let own = create(&data, &user("ann"), object.clone()).await;
        if null_name {
            // `NULL <> 'forbidden'` is not true: the rule says no.
            assert_eq!(own, DataError::Forbidden);
        } else {
            assert_eq!(constraint(own), told);
        }
        for stranger in [user("bob"), Caller::Anonymous] {
            let refused = create(&data, &stranger, object.clone()).await;
            assert_eq!(refused, DataError::Forbidden, "{object}");
        }
        // A no that no other column shows, and one that a default decides.
        let mut much = object.clone();
        much["stock"] = json!(9);
        if object.get("stock").is_none() {
            let refused = create(&data, &user("ann"), much).await;
            assert_eq!(refused, DataError::Forbidden, "{object}");
        }
    }
    // The first row is fine, the second one hits a constraint, the third one is refused.
    let objects = json!([{"owner": "ann"}, {"owner": "ann", "code": "x"}, {"owner": "bob"}]);
    let many = payload(json!({"table": "items", "objects": objects}));
    let refused = data.db.create_many(&data.pass, &user("ann"), &many).await;
    assert_eq!(refused, Err(DataError::Forbidden));
}

#[tokio::test]
async fn an_update_that_a_rule_refuses_hears_of_no_constraint() {
    let data = open(STOCK);
    rule(&data, "items", Action::Update, "new.owner = @user.id");
    let update = |caller: Caller, rows: Value, updates: Value, expect: Value| {
        let data = &data;
        let wanted = json!({"table": "items", "where": rows, "updates": updates, "expect": expect});
        async move {
            let wanted = payload(wanted);
            let done = data.db.update_many(&data.pass, &caller, &wanted).await;
            done.map(|rows| rows.to_string())
        }
    };
    let cases = [
        json!({"type": "object", "object": {"code": "y"}}),
        json!({"type": "object", "object": {"name": null}}),
        json!({"type": "object", "object": {"stock": -1}}),
        json!({"type": "object", "object": {"shelf": 7}}),
        json!({"type": "object", "object": {"later": 7}}),
        // Neither is a text a number, nor a list.
        json!([{"type": "increment", "column": "stock", "value": 9_223_372_036_854_775_807_i64}]),
        json!([{"type": "add", "column": "tags", "value": 1}]),
    ];
    data.sql("UPDATE items SET tags = 'no list'").await;
    for updates in cases {
        let one = json!({"id": {"eq": "a"}});
        let own = update(user("ann"), one.clone(), updates.clone(), Value::Null).await;
        constraint(own.unwrap_err());
        let refused = update(user("bob"), one, updates.clone(), Value::Null).await;
        assert_eq!(refused, Err(DataError::Forbidden), "{updates}");
        // One row of several is another's.
        let all = update(user("ann"), json!({}), updates.clone(), Value::Null).await;
        assert_eq!(all, Err(DataError::Forbidden), "{updates}");
    }
    let (one, name) = (
        json!({"id": {"eq": "a"}}),
        json!([{"column": "name", "value": "n"}]),
    );
    let poor = json!({"stock": {"gt": 100}});
    let own = update(user("ann"), one.clone(), name.clone(), poor.clone()).await;
    assert!(matches!(own, Err(DataError::PreconditionFailed { .. })));
    let refused = update(user("bob"), one, name, poor).await;
    assert_eq!(refused, Err(DataError::Forbidden), "`expect` tells nothing");
    // Nor does it where a row before the other's cannot be worked out.
    let append = json!([{"type": "add", "column": "tags", "value": 1}]);
    let poor = json!({"stock": {"gt": 100}});
    let all = update(user("ann"), json!({}), append, poor).await;
    assert_eq!(all, Err(DataError::Forbidden));
}

#[tokio::test]
async fn a_custom_operation_that_a_rule_refuses_hears_of_no_constraint() {
    let data = open(STOCK);
    let items = data.db.schema().table("items").unwrap();
    let mut operations = Operations::default();
    for (name, column, value) in [
        ("sell", "stock", "stock - 2"),
        ("copy", "code", "'y'"),
        ("half", "stock", "stock / 2.0"),
        ("strip", "name", "null"),
    ] {
        let mut operation = Operation::default();
        let column = Operation::settable(items, column).unwrap();
        operation
            .set(data.db.schema(), items, column, value)
            .unwrap();
        operations.add(items, name, operation);
    }
    data.db.set_operations(operations);
    for name in ["sell", "copy", "half", "strip"] {
        let key = RuleKey::Custom(name.to_owned());
        let rules = allow(&data, "items", key, "new.owner = @user.id");
        data.db.set_rights(Box::new(rules));
        let wanted = payload(json!({"table": "items", "where": {"id": {"eq": "a"}}}));
        let (ann, bob) = (user("ann"), user("bob"));
        let own = data.db.custom(&data.pass, &ann, name, &wanted).await;
        constraint(own.unwrap_err());
        let refused = data.db.custom(&data.pass, &bob, name, &wanted).await;
        assert_eq!(refused, Err(DataError::Forbidden), "{name}");
    }
}

/// Columns of every kind, with defaults and a computed one.
const COLUMNS: &str = "(id INTEGER PRIMARY KEY, whole INTEGER DEFAULT 5, number REAL DEFAULT 1, text TEXT COLLATE NOCASE DEFAULT 7,
    day DATE DEFAULT '12', any NUMERIC, raw, flag BOOLEAN DEFAULT true, data JSON, bytes BLOB DEFAULT (x'00'),
    made TEXT DEFAULT (lower('ABC')), twice INTEGER AS (whole * 2)";

const RULES: [&str; 15] = [
    "whole = 5",
    "whole > 5",
    "number = 1",
    "text = '7'",
    "text = 'ABC'",
    "text in ('a', 'B')",
    "day = 12",
    "day = '12'",
    "day < '2'",
    "any = 1.5",
    "any = '007'",
    "raw = '1' or raw is null",
    "flag and data = 12",
    "data is not null and bytes is null",
    "made = 'abc'",
];

fn objects() -> Vec<Value> {
    vec![
        json!({}),
        json!({"whole": 6, "text": "B", "any": 1.5, "raw": "1"}),
        json!({"number": 2, "text": "aBc", "any": "1.50", "raw": 1}),
        json!({"whole": null, "day": 12, "any": "7", "data": 12}),
        json!({"day": "2024-01-01", "flag": false, "data": [1], "bytes": null}),
        json!({"text": null, "made": "x", "any": "seven", "day": "1e1"}),
        json!({"text": "A", "number": 1.5, "any": 7, "data": "12"}),
    ]
}

/// What a row would be is what it is: the rule says of a row that no constraint lets in what it says of the same row in a
/// table without any.
#[tokio::test]
async fn a_row_that_cannot_be_written_is_judged_as_one_that_can() {
    let schema = format!(
        "CREATE TABLE free {COLUMNS}); CREATE TABLE bound {COLUMNS}, CONSTRAINT never CHECK (0));"
    );
    let data = open(&schema);
    let (mut yes, mut no) = (0, 0);
    for text in RULES {
        for object in objects() {
            let mut told = Vec::new();
            for table in ["free", "bound"] {
                let wanted = payload(json!({"table": table, "object": object}));
                rule(&data, table, Action::Create, text);
                let done = data.db.create(&data.pass, &Caller::Anonymous, &wanted);
                told.push(match done.await {
                    Ok(_) => true,
                    Err(DataError::Unprocessable(text)) => text == "Check failed: `never`",
                    Err(DataError::Forbidden) => false,
                    Err(other) => panic!("{other:?}"),
                });
            }
            assert_eq!(told[0], told[1], "{text}: {object}");
            *if told[0] { &mut yes } else { &mut no } += 1;
        }
    }
    assert!(yes > 20 && no > 20, "both answers were seen: {yes}, {no}");
}

/// The same for changes; a trigger stands for all constraints.
#[tokio::test]
async fn a_change_that_cannot_be_written_is_judged_as_one_that_can() {
    let schema = format!(
        "CREATE TABLE free {COLUMNS}); CREATE TABLE bound {COLUMNS});
         CREATE TRIGGER never BEFORE UPDATE ON bound BEGIN SELECT RAISE(ABORT, 'rows stay'); END;"
    );
    let data = open(&schema);
    data.sql("INSERT INTO bound (id, text) VALUES (1, 'old')")
        .await;
    for text in RULES {
        for object in objects().into_iter().skip(1) {
            let mut told = Vec::new();
            for table in ["free", "bound"] {
                data.sql("REPLACE INTO free (id, text) VALUES (1, 'old')")
                    .await;
                // A plain column would be asked of the row before, too.
                let columns = [
                    "whole", "number", "text", "day", "any", "raw", "flag", "data",
                ];
                let columns = columns.into_iter().chain(["bytes", "made"]);
                let text = columns.fold(text.to_owned(), |text, column| {
                    text.replace(column, &format!("new.{column}"))
                });
                let text = format!("({text}) and new.text is not old.id");
                rule(&data, table, Action::Update, &text);
                let updates = json!({"type": "object", "object": object});
                let wanted = payload(json!({"table": table, "where": {}, "updates": updates}));
                let done = data.db.update(&data.pass, &Caller::Anonymous, &wanted);
                told.push(match done.await {
                    Ok(_) => true,
                    Err(DataError::Unprocessable(text)) => text == "rows stay",
                    Err(DataError::Forbidden) => false,
                    Err(other) => panic!("{other:?}"),
                });
            }
            assert_eq!(told[0], told[1], "{text}: {object}");
        }
    }
}

/// Of a computed column, and of a number that SQLite has yet to give, nothing is known: the answer is no.
#[tokio::test]
async fn what_only_the_database_can_tell_is_a_no() {
    let schema = format!(
        "CREATE TABLE bound {COLUMNS}, CONSTRAINT never CHECK (0)); CREATE TABLE free {COLUMNS});"
    );
    let data = open(&schema);
    let wanted = payload(json!({"table": "bound", "object": {"whole": 5}}));
    for text in ["twice = 10", "twice is null", "id is null", "id > 0"] {
        rule(&data, "bound", Action::Create, text);
        let refused = data.db.create(&data.pass, &Caller::Anonymous, &wanted);
        assert_eq!(refused.await, Err(DataError::Forbidden), "{text}");
    }
    data.sql(
        "CREATE TRIGGER never BEFORE UPDATE ON free BEGIN SELECT RAISE(ABORT, 'rows stay'); END;
         INSERT INTO free (id, whole) VALUES (1, 5);",
    )
    .await;
    rule(&data, "free", Action::Update, "new.twice = 10");
    let updates = json!([{"column": "whole", "value": 6}]);
    let changed = payload(json!({"table": "free", "where": {}, "updates": updates}));
    let refused = data.db.update(&data.pass, &Caller::Anonymous, &changed);
    assert_eq!(refused.await, Err(DataError::Forbidden));
    let numbered = payload(json!({"table": "bound", "object": {"id": 3}}));
    rule(&data, "bound", Action::Create, "id = 3");
    let told = data.db.create(&data.pass, &Caller::Anonymous, &numbered);
    assert_eq!(constraint(told.await.unwrap_err()), "Check failed: `never`");
}

/// Rows of a megabyte each must not fill the memory of all.
#[tokio::test]
async fn an_answer_has_a_longest_length_and_so_has_a_list_that_is_added_to() {
    let data = open("CREATE TABLE t (id INTEGER PRIMARY KEY, text TEXT, tags JSON)");
    data.sql("INSERT INTO t (text, tags) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
              SELECT hex(zeroblob(500000)), '[]' FROM n")
        .await;
    let too_long = DataError::BadRequest(
        "The answer would be longer than 32 MiB; ask for fewer rows".to_owned(),
    );
    let all = json!({"table": "t"});
    assert_eq!(data.list(all).await, Err(too_long.clone()));
    let few = json!({"table": "t", "limit": 30});
    assert!(data.list(few).await.is_ok());
    let touch = json!([{"column": "tags", "value": ["touched"]}]);
    let every = json!({"table": "t", "where": {"id": {"gt": 0}}, "updates": touch});
    assert_eq!(data.update_many(every).await, Err(too_long));
    let touched = json!({"table": "t", "where": {"tags": {"ne": "[]"}}});
    assert_eq!(data.count(touched).await, Ok(json!(0)), "undone");

    let long = "x".repeat(900_000);
    let add = json!({"table": "t", "where": {"id": {"eq": 1}}, "updates": [{"column": "tags", "value": {"add_all": [long]}}]});
    for _ in 0..2 {
        assert!(data.update(add.clone()).await.is_ok());
    }
    let told = data.update(add).await;
    assert!(matches!(told, Err(DataError::Unprocessable(_))), "{told:?}");
}
