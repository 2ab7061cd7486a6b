//! What rules allow whom: anonymous, user and admin, on every action, through the database.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use zonai_data::{
    AccountAction, Action, Caller, DataError, EngineOptions, RuleKey, RuleText, Rules,
    TableOptions, User,
};

use crate::support::{Data, open_with, payload};

fn shop() -> Data {
    let account = TableOptions {
        auth: true,
        ..TableOptions::default()
    };
    open_with(
        "CREATE TABLE users (id TEXT PRIMARY KEY, email TEXT UNIQUE, password TEXT, role TEXT, verified BOOLEAN);
         CREATE TABLE items (id INTEGER PRIMARY KEY, owner TEXT, title TEXT, stock INTEGER, price REAL,
           public BOOLEAN, data JSON, status TEXT COLLATE NOCASE);
         CREATE TABLE members (id INTEGER PRIMARY KEY, item INTEGER, user TEXT, owner TEXT);
         CREATE VIEW cheap AS SELECT * FROM items WHERE price < 1;",
        BTreeMap::from([("users".to_owned(), account)]),
        EngineOptions::default(),
    )
}

fn rules(data: &Data, entries: &[(&str, &str)]) -> Rules {
    let schema = data.db.schema();
    let mut rules = Rules::default();
    for (key, text) in entries {
        let (table, key) = key.split_once('.').unwrap();
        let action = Action::ALL.into_iter().find(|action| action.key() == key);
        let account = AccountAction::ALL
            .into_iter()
            .find(|action| action.key() == key);
        let key = match (action, account) {
            (Some(action), _) => RuleKey::Action(action),
            (_, Some(action)) => RuleKey::Account(action),
            _ => RuleKey::Custom(key.to_owned()),
        };
        let rule = match *text {
            "true" => RuleText::Fixed(true),
            "false" => RuleText::Fixed(false),
            text => RuleText::Expression(text.to_owned()),
        };
        rules
            .add(schema, schema.table(table).unwrap(), key, &rule)
            .unwrap();
    }
    rules
}

pub(crate) fn set(data: &Data, entries: &[(&str, &str)]) {
    data.db.set_rights(Box::new(rules(data, entries)));
}

pub(crate) fn user(id: &str, role: &str) -> Arc<User> {
    Arc::new(User {
        id: json!(id),
        table: "users".to_owned(),
        claims: Map::from_iter([("teams".to_owned(), json!(["red", "blue"]))]),
        row: Map::from_iter([
            ("role".to_owned(), json!(role)),
            ("verified".to_owned(), json!(true)),
        ]),
    })
}

fn ann() -> Caller {
    Caller::User(user("ann", "staff"))
}

fn root() -> Caller {
    Caller::Admin(Some(user("root", "boss")))
}

async fn items() -> Data {
    let data = shop();
    data.sql(
        "INSERT INTO items (id, owner, title, stock, public, data, status) VALUES
           (1, 'ann', 'a', 5, 0, '{\"team\":\"red\",\"tags\":[\"x\",\"y\"]}', 'Open'),
           (2, 'bob', 'b', 0, 1, 'no json', 'closed'),
           (3, NULL, 'c', NULL, NULL, NULL, NULL);
         INSERT INTO members (item, user) VALUES (2, 'ann');",
    )
    .await;
    data
}

/// The ids that a caller sees with `filter: true`.
async fn seen(data: &Data, caller: &Caller) -> Vec<i64> {
    let query = json!({"table": "items", "filter": true, "order_by": [{"column": "id"}]});
    let listed = data
        .db
        .list(&data.pass, caller, &payload(query))
        .await
        .unwrap();
    let listed = listed.to_value();
    listed["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["id"].as_i64().unwrap())
        .collect()
}

/// A rule, and the rows that an anonymous caller, a user and an admin see.
type Case = (&'static str, &'static [i64], &'static [i64], &'static [i64]);

#[tokio::test]
async fn expressions_say_who_sees_which_rows() {
    let data = items().await;
    let cases: [Case; 24] = [
        ("owner = @user.id", &[], &[1], &[]),
        ("not (owner = @user.id)", &[], &[2], &[1, 2]),
        ("owner is @user.id", &[3], &[1], &[]),
        ("owner = @user.id or @admin", &[], &[1], &[1, 2, 3]),
        ("public or owner = @user.id", &[2], &[1, 2], &[2]),
        ("public is not true", &[1, 3], &[1, 3], &[1, 3]),
        ("stock between 1 and 5", &[1], &[1], &[1]),
        ("stock * 2 + 1 >= 11", &[1], &[1], &[1]),
        ("coalesce(stock, 7) > 0", &[1, 3], &[1, 3], &[1, 3]),
        ("title in ('a', 'c') and id <> 3", &[1], &[1], &[1]),
        ("title like 'B'", &[2], &[2], &[2]),
        ("status = 'OPEN'", &[1], &[1], &[1]),
        (
            "case when id = 1 then @admin else id = 2 end",
            &[2],
            &[2],
            &[1, 2],
        ),
        ("data ->> 'team' = 'red'", &[1], &[1], &[1]),
        ("json_extract(data, '$.team') = 'red'", &[1], &[1], &[1]),
        (
            "json_contains(@claims.teams, data ->> 'team')",
            &[],
            &[1],
            &[1],
        ),
        ("json_contains(data, 'x')", &[], &[], &[]),
        ("abs(stock - 6) = 1", &[1], &[1], &[1]),
        (
            "exists (select 1 from members m where m.item = items.id and m.user = @user.id)",
            &[],
            &[2],
            &[],
        ),
        (
            "id in (select item from members where user = @user.id)",
            &[],
            &[2],
            &[],
        ),
        (
            "@user.role = 'staff' and @user.verified",
            &[],
            &[1, 2, 3],
            &[],
        ),
        (
            "@user.table = 'users' and upper(@user.role) = 'BOSS'",
            &[],
            &[],
            &[1, 2, 3],
        ),
        ("ITEMS.\"Owner\" = 'bob'", &[2], &[2], &[2]),
        (
            "substr(title, 1, 1) || 'x' = trim(' bx ')",
            &[2],
            &[2],
            &[2],
        ),
    ];
    for (text, anonymous, user, admin) in cases {
        set(&data, &[("items.list", text)]);
        let on_table = text.starts_with("@user");
        if on_table && !text.contains("upper") {
            let query = payload(json!({"table": "items", "filter": true}));
            let refused = data
                .db
                .list(&data.pass, &Caller::Anonymous, &query)
                .await
                .unwrap_err();
            assert_eq!(refused, DataError::Forbidden, "{text}");
        } else {
            assert_eq!(seen(&data, &Caller::Anonymous).await, anonymous, "{text}");
        }
        assert_eq!(seen(&data, &ann()).await, user, "{text}");
        if !(on_table && admin.is_empty()) {
            assert_eq!(seen(&data, &root()).await, admin, "{text}");
        }
    }
}

#[tokio::test]
async fn one_row_that_may_not_be_seen_fails_a_list_and_filter_leaves_it_out() {
    let data = items().await;
    set(&data, &[("items.list", "owner = @user.id")]);
    let list = |query: Value| {
        let data = &data;
        async move {
            let listed = data.db.list(&data.pass, &ann(), &payload(query)).await;
            listed.map(|json| json.to_value()["total"].clone())
        }
    };
    assert_eq!(
        list(json!({"table": "items"})).await,
        Err(DataError::Forbidden)
    );
    assert_eq!(
        list(json!({"table": "items", "filter": true})).await,
        Ok(json!(1))
    );
    assert_eq!(
        list(json!({"table": "items", "where": {"owner": {"eq": "ann"}}})).await,
        Ok(json!(1))
    );
    let count = payload(json!({"table": "items", "filter": true}));
    let counted = data.db.count(&data.pass, &ann(), &count).await.unwrap();
    assert_eq!(counted.as_str(), "1", "`count` follows `list`");
    let view = payload(json!({"table": "items", "where": {"id": {"eq": 1}}}));
    let viewed = data.db.get(&data.pass, &ann(), &view).await;
    assert_eq!(
        viewed,
        Err(DataError::Forbidden),
        "`view` is left out, so it is for admins"
    );
    let mut filtering = rules(
        &data,
        &[("items.list", "owner = @user.id"), ("items.count", "true")],
    );
    filtering.set_filter(data.db.schema().table("items").unwrap(), true);
    data.db.set_rights(Box::new(filtering));
    assert_eq!(list(json!({"table": "items"})).await, Ok(json!(1)));
    let counted = data.db.count(&data.pass, &ann(), &count).await.unwrap();
    assert_eq!(counted.as_str(), "3");
}

#[tokio::test]
async fn a_written_rule_is_asked_of_admins_too() {
    let data = items().await;
    set(&data, &[("items.list", "false"), ("items.view", "@admin")]);
    let list = payload(json!({"table": "items"}));
    let view = payload(json!({"table": "items", "where": {"id": {"eq": 1}}}));
    for caller in [Caller::Anonymous, ann(), root()] {
        let listed = data.db.list(&data.pass, &caller, &list).await;
        assert_eq!(listed, Err(DataError::Forbidden));
        let viewed = data.db.get(&data.pass, &caller, &view).await;
        assert_eq!(viewed.is_ok(), caller.is_admin());
    }
    let other = payload(json!({"table": "members"}));
    assert!(data.db.list(&data.pass, &root(), &other).await.is_ok());
    assert!(data.db.list(&data.pass, &ann(), &other).await.is_err());
}

async fn update(data: &Data, caller: &Caller, id: i64, updates: Value) -> Result<(), DataError> {
    let query = json!({"table": "items", "where": {"id": {"eq": id}}, "updates": {"type": "object", "object": updates}});
    data.db
        .update(&data.pass, caller, &payload(query))
        .await
        .map(drop)
}

#[tokio::test]
async fn an_update_is_held_against_the_row_before_and_after() {
    let data = items().await;
    let no = Err(DataError::Forbidden);
    set(&data, &[("items.update", "owner = @user.id")]);
    assert_eq!(
        update(&data, &ann(), 1, json!({"title": "z"})).await,
        Ok(())
    );
    assert_eq!(update(&data, &ann(), 2, json!({"owner": "ann"})).await, no);
    assert_eq!(update(&data, &ann(), 1, json!({"owner": "bob"})).await, no);
    assert_eq!(
        update(&data, &Caller::Anonymous, 3, json!({"title": "z"})).await,
        no
    );

    set(&data, &[("items.update", "old.owner = @user.id")]);
    assert_eq!(
        update(&data, &ann(), 1, json!({"owner": "bob"})).await,
        Ok(())
    );
    set(
        &data,
        &[(
            "items.update",
            "new.owner = @user.id and new.stock >= old.stock",
        )],
    );
    assert_eq!(
        update(&data, &ann(), 1, json!({"owner": "ann", "stock": 4})).await,
        no
    );
    assert_eq!(
        update(&data, &ann(), 1, json!({"owner": "ann", "stock": 6})).await,
        Ok(())
    );

    // A plain column is read as each of both rows, also beside `new.`.
    set(&data, &[("items.update", "owner = @user.id or new.public")]);
    assert_eq!(
        update(&data, &ann(), 2, json!({"owner": "ann", "public": false})).await,
        no
    );
    assert_eq!(
        update(&data, &ann(), 2, json!({"owner": "ann", "public": true})).await,
        Ok(())
    );
    set(
        &data,
        &[(
            "items.update",
            "@admin or (old.status = new.status and new.stock = '9')",
        )],
    );
    assert_eq!(update(&data, &ann(), 1, json!({"stock": 9})).await, Ok(()));
}

/// The row before is no longer in the table when the row after is looked at, but compares as it did there.
#[tokio::test]
async fn the_row_before_keeps_its_affinity_and_collation() {
    let data = items().await;
    set(
        &data,
        &[(
            "items.update",
            "(old.status = 'oPEN' and old.stock = '5') or new.title = 'never'",
        )],
    );
    assert_eq!(
        update(&data, &ann(), 1, json!({"title": "z"})).await,
        Ok(())
    );
}

/// What may not be written says so before a constraint can tell what is there.
#[tokio::test]
async fn a_refused_write_tells_nothing() {
    let data = items().await;
    set(
        &data,
        &[
            ("items.create", "owner = @user.id"),
            ("items.update", "owner = @user.id"),
            ("items.delete", "owner = @user.id"),
        ],
    );
    let taken = payload(json!({"table": "items", "object": {"id": 1, "owner": "ann"}}));
    let created = data.db.create(&data.pass, &Caller::Anonymous, &taken).await;
    assert_eq!(created.unwrap_err(), DataError::Forbidden);
    assert_eq!(
        update(&data, &ann(), 2, json!({"data": 7, "owner": "ann"})).await,
        Err(DataError::Forbidden)
    );
    let nowhere = payload(json!({"table": "items", "where": {"id": {"eq": 99}}}));
    let deleted = data
        .db
        .delete(&data.pass, &Caller::Anonymous, &nowhere)
        .await;
    assert_eq!(deleted, Err(DataError::Forbidden));
    let own = payload(json!({"table": "items", "object": {"id": 9, "owner": "ann"}}));
    assert!(data.db.create(&data.pass, &ann(), &own).await.is_ok());
    let all = payload(json!({"table": "items", "where": {}}));
    assert_eq!(
        data.db.delete_many(&data.pass, &ann(), &all).await,
        Err(DataError::Forbidden)
    );
    let mine = payload(json!({"table": "items", "where": {"owner": {"eq": "ann"}}}));
    assert_eq!(data.db.delete_many(&data.pass, &ann(), &mine).await, Ok(2));
}

/// No stored value makes a rule fail: that would be a 500 for everybody who lists the table.
#[tokio::test]
async fn stored_values_cannot_break_a_rule() {
    let data = items().await;
    data.sql(
        "UPDATE items SET stock = -9223372036854775808, data = x'00ff', title = '[1, broken', price = 9e999 WHERE id = 1;
         UPDATE items SET stock = 9223372036854775807, data = '\"text\"', title = '{\"a\":[1]}' WHERE id = 2;",
    )
    .await;
    for text in [
        "abs(stock) > 0",
        "stock + stock > 0",
        "stock * stock > 0",
        "- stock > 0",
        "stock % 0 = 1",
        "stock / 0 = 1",
        "json_extract(title, '$.a[0]') = 1",
        "json_type(title, '$.a') = 'array'",
        "json_array_length(title, '$.a') = 1",
        "title -> 'a' ->> 0 = 1",
        "data ->> 'a' = 1",
        "json_contains(data, 1)",
        "json_contains(title, 1)",
        "json_extract(data, '$.a') = 1",
        "round(price, 400) > 1",
        "substr(title, -99999999999, 99999999999) = ''",
        "instr(data, title) = 1",
        "trim(data, title) = ''",
        "upper(data) like '%\\%%' escape '\\'",
        "json_extract(@claims.teams, '$[0]') = 'red'",
        "json_extract(@user.role, '$.a') = 1",
    ] {
        set(&data, &[("items.list", text)]);
        let query = payload(json!({"table": "items", "filter": true}));
        for caller in [Caller::Anonymous, ann(), root()] {
            let listed = data.db.list(&data.pass, &caller, &query).await;
            assert!(listed.is_ok(), "{text}: {listed:?}");
        }
    }
}

#[tokio::test]
async fn a_plan_knows_the_tables_that_its_rule_reads() {
    let data = items().await;
    set(
        &data,
        &[(
            "items.list",
            "id in (select item from members where user = @user.id)",
        )],
    );
    let query = payload(json!({"table": "items"}));
    let plan = data
        .db
        .plan(
            &ann(),
            &query,
            zonai_data::ReadKind::List,
            zonai_data::Unseen::LeaveOut,
        )
        .unwrap();
    let tables: Vec<&str> = plan.tables().unwrap().into_iter().collect();
    assert_eq!(tables, ["items", "members"]);
    let other = Caller::User(user("bob", "staff"));
    let others = data
        .db
        .plan(
            &other,
            &query,
            zonai_data::ReadKind::List,
            zonai_data::Unseen::LeaveOut,
        )
        .unwrap();
    assert_ne!(
        plan.key(),
        others.key(),
        "other rights are another question"
    );
}

#[tokio::test]
async fn accounts_are_asked_on_their_row_and_allowed_without_a_rule() {
    let data = shop();
    data.sql("INSERT INTO users VALUES ('u1', 'a@x.org', NULL, 'staff', 1), ('u2', 'b@x.org', NULL, NULL, 0)")
        .await;
    set(
        &data,
        &[
            ("users.signIn", "verified"),
            ("users.passwordReset", "@user.id is not null"),
            ("users.view", "id = @user.id"),
        ],
    );
    let db = data.db.clone();
    let told = data
        .db
        .engine()
        .write(&data.pass, move |conn| -> Result<_, DataError> {
            let ask = |id: &str, action| {
                let row = Map::from_iter([("id".to_owned(), json!(id))]);
                db.account_allows(conn, "users", action, &row, &Caller::Anonymous)
                    .unwrap()
            };
            Ok([
                ask("u1", AccountAction::SignIn),
                ask("u2", AccountAction::SignIn),
                ask("u1", AccountAction::SignUp),
                ask("u1", AccountAction::PasswordReset),
                ask("gone", AccountAction::SignIn),
            ])
        })
        .await
        .unwrap();
    assert_eq!(told, [true, false, true, false, false]);
}

#[tokio::test]
async fn the_largest_rules_run() {
    let data = shop();
    // What the rules let pass must not be too much for SQLite, which has bounds of its own.
    let long = format!("stock > 1{}", " or stock > 1".repeat(150));
    let largest = [
        long,
        format!("id in (1{})", ",1".repeat(490)),
        format!("id = 1{}", " or id = 2".repeat(160)),
        format!("{}1", "case when id = 0 then 0 else ".repeat(15)) + &" end".repeat(15),
        format!("stock{} > 1", " + 1".repeat(50)),
        format!("{}id{} = 1", "abs(".repeat(7), ")".repeat(7)),
        format!("{}id = 1{}", "(not ".repeat(15), ")".repeat(15)),
        format!("id = 1{}", " and exists (select 1 from members)".repeat(8)),
    ];
    for text in largest {
        set(&data, &[("items.list", text.as_str())]);
        let deep = (0..30).fold(
            json!({"id": {"eq": 1}}),
            |inner, _| json!({"type": "not", "conditions": [inner]}),
        );
        for condition in [json!({}), deep] {
            let query = json!({"table": "items", "filter": true, "where": condition});
            let listed = data.list(query).await;
            assert!(listed.is_ok(), "{text}: {listed:?}");
        }
    }
}
