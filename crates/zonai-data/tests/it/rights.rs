//! Verdicts on tables and rows: who is turned away, and that nothing was written then.

use std::collections::BTreeMap;

use rusqlite::types::Value as Sql;
use serde_json::{Value, json};
use zonai_data::{Action, Caller, DataError, Rights, RowExpr, RuleText, Table, TrueFalse, Verdict};

use crate::support::{Data, open, payload, user};

async fn notes() -> Data {
    let data = open("CREATE TABLE notes (id INTEGER PRIMARY KEY, owner TEXT, text TEXT UNIQUE)");
    data.sql("INSERT INTO notes VALUES (1, 'ann', 'a'), (2, 'ann', 'b'), (3, 'bob', 'c')")
        .await;
    data
}

#[tokio::test]
async fn without_a_file_a_table_is_for_admins() {
    let data = notes().await;
    let rules = |entries: &[(&str, bool)]| {
        let entries = entries
            .iter()
            .map(|(key, allowed)| ((*key).to_owned(), RuleText::Fixed(*allowed)));
        TrueFalse::new(&BTreeMap::from([("notes".to_owned(), entries.collect())])).unwrap()
    };
    let list = payload(json!({"table": "notes"}));
    let one = payload(json!({"table": "notes", "where": {}}));
    let ask = |caller: Caller| {
        let (data, list, one) = (&data, &list, &one);
        async move {
            (
                data.db.get(&data.pass, &caller, one).await.is_ok(),
                data.db.list(&data.pass, &caller, list).await.is_ok(),
                data.db.count(&data.pass, &caller, list).await.is_ok(),
            )
        }
    };
    data.db.set_rights(Box::new(TrueFalse::default()));
    assert_eq!(ask(Caller::Anonymous).await, (false, false, false));
    assert_eq!(ask(user("ann")).await, (false, false, false));
    assert_eq!(ask(Caller::Admin(None)).await, (true, true, true));
    data.db.set_rights(Box::new(rules(&[("list", true)])));
    assert_eq!(ask(Caller::Anonymous).await, (false, true, true));
    data.db.set_rights(Box::new(rules(&[
        ("list", true),
        ("count", false),
        ("view", false),
    ])));
    assert_eq!(ask(Caller::Anonymous).await, (false, true, false));
    assert_eq!(ask(Caller::Admin(None)).await, (false, true, false));
}

#[tokio::test]
async fn what_is_forbidden_is_not_looked_into() {
    let data = notes().await;
    data.db.set_rights(Box::new(TrueFalse::default()));
    for query in [
        json!({"table": "notes", "where": {"nothing": 1}}),
        json!({"table": "notes", "x": 1}),
    ] {
        assert_eq!(data.get(query.clone()).await, Err(DataError::Forbidden));
        assert_eq!(data.update(query.clone()).await, Err(DataError::Forbidden));
        assert_eq!(data.delete(query.clone()).await, Err(DataError::Forbidden));
        assert_eq!(data.create(query).await, Err(DataError::Forbidden));
    }
}

/// Everybody has the rows they own, and may not give them away.
struct Owner;

impl Rights for Owner {
    fn verdict(&self, _: &Table, action: Action, caller: &Caller) -> Verdict {
        let Some(user) = caller.user() else {
            return Verdict::Deny;
        };
        let owned = |alias: &str| RowExpr {
            sql: format!("\"{alias}\".\"owner\" = ?"),
            values: vec![Sql::Text(user.id.as_str().unwrap_or_default().to_owned())],
            reads: Vec::new(),
        };
        match action {
            Action::Update => Verdict::Change {
                before: owned(RowExpr::OLD),
                after: RowExpr {
                    sql: "\"_new\".\"owner\" = \"_old\".\"owner\"".to_owned(),
                    values: Vec::new(),
                    reads: Vec::new(),
                },
            },
            _ => Verdict::Rows(owned(RowExpr::ROW)),
        }
    }
}

#[tokio::test]
async fn reads_fail_on_rows_of_others_or_leave_them_out() {
    let data = notes().await;
    data.db.set_rights(Box::new(Owner));
    let ann = user("ann");
    let by = |query: Value| payload(query);
    let list = |query: Value| async {
        data.db
            .list(&data.pass, &ann, &by(query))
            .await
            .map(|json| json.to_value())
    };
    let count = |query: Value| async {
        data.db
            .count(&data.pass, &ann, &by(query))
            .await
            .map(|json| json.to_value())
    };
    assert_eq!(
        list(json!({"table": "notes"})).await,
        Err(DataError::Forbidden)
    );
    assert_eq!(
        list(json!({"table": "notes", "where": {"owner": {"eq": "ann"}}}))
            .await
            .unwrap()["total"],
        2
    );
    let filtered = list(json!({"table": "notes", "filter": true, "limit": 1}))
        .await
        .unwrap();
    assert_eq!(
        filtered,
        json!({"items": [{"id": 2, "owner": "ann", "text": "b"}], "total": 2})
    );
    assert_eq!(
        count(json!({"table": "notes"})).await,
        Err(DataError::Forbidden)
    );
    assert_eq!(
        count(json!({"table": "notes", "filter": true})).await,
        Ok(json!(2))
    );
    let get =
        |id: i64| async move { payload(json!({"table": "notes", "where": {"id": {"eq": id}}})) };
    assert!(data.db.get(&data.pass, &ann, &get(1).await).await.is_ok());
    assert_eq!(
        data.db.get(&data.pass, &ann, &get(3).await).await,
        Err(DataError::Forbidden)
    );
}

#[tokio::test]
async fn writes_are_checked_before_and_after_and_undone() {
    let data = notes().await;
    data.db.set_rights(Box::new(Owner));
    let ann = user("ann");
    let create = |owner: &str, text: &str| {
        payload(json!({"table": "notes", "object": {"owner": owner, "text": text}}))
    };
    assert!(
        data.db
            .create(&data.pass, &ann, &create("ann", "d"))
            .await
            .is_ok()
    );
    assert_eq!(
        data.db.create(&data.pass, &ann, &create("bob", "e")).await,
        Err(DataError::Forbidden)
    );
    let update = |id: i64, column: &str, value: &str| {
        payload(
            json!({"table": "notes", "where": {"id": {"eq": id}}, "updates": [{"column": column, "value": value}]}),
        )
    };
    assert!(
        data.db
            .update(&data.pass, &ann, &update(1, "text", "f"))
            .await
            .is_ok()
    );
    // Not 409: what a caller may not touch does not answer.
    assert_eq!(
        data.db
            .update(&data.pass, &ann, &update(3, "text", "f"))
            .await,
        Err(DataError::Forbidden)
    );
    assert_eq!(
        data.db
            .update(&data.pass, &ann, &update(1, "owner", "bob"))
            .await,
        Err(DataError::Forbidden)
    );
    let all = payload(json!({"table": "notes", "where": {}}));
    assert_eq!(
        data.db.delete_many(&data.pass, &ann, &all).await,
        Err(DataError::Forbidden)
    );
    assert_eq!(
        data.db.delete(&data.pass, &user("zoe"), &all).await,
        Err(DataError::Forbidden)
    );
    let own = payload(json!({"table": "notes", "where": {"owner": {"eq": "ann"}}}));
    assert_eq!(data.db.delete_many(&data.pass, &ann, &own).await, Ok(3));
    data.db.set_rights(Box::new(crate::support::Open));
    assert_eq!(
        data.list(json!({"table": "notes"})).await.unwrap(),
        json!({"items": [{"id": 3, "owner": "bob", "text": "c"}], "total": 1})
    );
}
