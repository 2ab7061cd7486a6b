//! The update grammar: literals, steps, all spellings, `expect`.

use serde_json::{Value, json};
use zonai_data::DataError;

use crate::support::{Data, bad, open, unprocessable};

async fn counters() -> Data {
    let data = open(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER, r REAL, tags JSON, name TEXT, any)",
    );
    data.sql("INSERT INTO t VALUES (1, 10, 1.5, '[\"a\",\"b\",\"a\"]', 'x', 3), (2, NULL, NULL, NULL, NULL, 'text')").await;
    data
}

async fn change(data: &Data, id: i64, updates: Value) -> Result<Value, DataError> {
    data.update(json!({"table": "t", "where": {"id": {"eq": id}}, "updates": updates}))
        .await
}

#[tokio::test]
async fn every_step_in_every_spelling() {
    let cases = [
        (json!([{"column": "n", "value": 3}]), "n", json!(3)),
        (
            json!([{"type": "column", "column": "n", "value": 3}]),
            "n",
            json!(3),
        ),
        (
            json!({"type": "column", "column": "n", "value": 3}),
            "n",
            json!(3),
        ),
        (
            json!([{"type": "object", "object": {"n": 3, "name": null}}]),
            "n",
            json!(3),
        ),
        (
            json!({"type": "object", "object": {"name": "y"}}),
            "name",
            json!("y"),
        ),
        (
            json!([{"column": "n", "value": {"increment": 2}}]),
            "n",
            json!(12),
        ),
        (
            json!([{"column": "n", "value": {"type": "increment", "value": 2}}]),
            "n",
            json!(12),
        ),
        (
            json!([{"type": "increment", "column": "n", "value": 2}]),
            "n",
            json!(12),
        ),
        (
            json!({"type": "object", "object": {"n": {"decrement": 12}}}),
            "n",
            json!(-2),
        ),
        (
            json!([{"column": "n", "value": {"add": 1}}, {"column": "n", "value": {"add": 1}}]),
            "n",
            json!(12),
        ),
        (
            json!([{"column": "n", "value": {"remove": 1}}]),
            "n",
            json!(9),
        ),
        (
            json!([{"column": "n", "value": {"add_all": [1, 2, 3]}}]),
            "n",
            json!(16),
        ),
        (
            json!([{"column": "r", "value": {"increment": 1}}]),
            "r",
            json!(2.5),
        ),
        (
            json!([{"column": "any", "value": {"increment": 0.5}}]),
            "any",
            json!(3.5),
        ),
        (
            json!([{"column": "tags", "value": {"add": "c"}}]),
            "tags",
            json!(["a", "b", "a", "c"]),
        ),
        (
            json!([{"column": "tags", "value": {"remove": "a"}}]),
            "tags",
            json!(["b"]),
        ),
        (
            json!([{"column": "tags", "value": {"add_all": ["c", ["d"]]}}]),
            "tags",
            json!(["a", "b", "a", "c", ["d"]]),
        ),
        (
            json!([{"column": "tags", "value": {"type": "remove_all", "values": ["a", "b"]}}]),
            "tags",
            json!([]),
        ),
        (
            json!([{"column": "tags", "value": {"k": 1}}]),
            "tags",
            json!({"k": 1}),
        ),
    ];
    for (updates, column, expected) in cases {
        let data = counters().await;
        let row = change(&data, 1, updates.clone()).await.unwrap();
        assert_eq!(row[column], expected, "{updates}");
        assert_eq!(
            data.get(json!({"table": "t", "where": {"id": {"eq": 1}}}))
                .await,
            Ok(row)
        );
    }
}

#[tokio::test]
async fn null_counts_as_zero_or_as_an_empty_list() {
    let data = counters().await;
    let updates = json!([{"column": "n", "value": {"increment": 2}}, {"column": "r", "value": {"decrement": 0.5}},
        {"column": "tags", "value": {"add": 1}}]);
    let row = change(&data, 2, updates).await.unwrap();
    assert_eq!(
        (&row["n"], &row["r"], &row["tags"]),
        (&json!(2), &json!(-0.5), &json!([1]))
    );
}

#[tokio::test]
async fn what_cannot_be_done_is_told_and_nothing_is_written() {
    let data = counters().await;
    let refused = [
        (json!([]), "updates: is empty"),
        (json!("x"), "updates: expected a list, found a text"),
        (
            json!([{"column": "m", "value": 1}]),
            "updates[0].column: unknown column `m`",
        ),
        (json!([{"column": "n"}]), "updates[0].value: is missing"),
        (
            json!([{"type": "colunm", "column": "n", "value": 1}]),
            "updates[0].type: expected `column` or `object`",
        ),
        (
            json!([{"column": "n", "value": {"increment": "1"}}]),
            "updates[0].value: `n` takes a number, found a text",
        ),
        (
            json!([{"column": "name", "value": {"add": "z"}}]),
            "updates[0].value: `name` holds a text, neither a number nor a list",
        ),
        (
            json!([{"column": "tags", "value": {"add_all": 1}}]),
            "updates[0].value: expected a list, found a number",
        ),
        (
            json!([{"column": "n", "value": 1, "vlaue": 2}]),
            "updates[0]: unknown key `vlaue`",
        ),
    ];
    for (updates, expected) in refused {
        assert_eq!(bad(change(&data, 1, updates).await), expected);
    }
    let unfit = [
        (
            1,
            json!([{"column": "n", "value": "x"}]),
            "`n` takes a whole number, not a text like this",
        ),
        (
            1,
            json!([{"column": "n", "value": {"increment": 0.5}}]),
            "`n` takes a whole number",
        ),
        (
            1,
            json!([{"column": "n", "value": {"increment": i64::MAX}}]),
            "`n` would leave the range of its type",
        ),
        (
            2,
            json!([{"column": "any", "value": {"increment": 1}}]),
            "`any` does not hold a number",
        ),
    ];
    for (id, updates, expected) in unfit {
        assert_eq!(unprocessable(change(&data, id, updates).await), expected);
    }
    assert_eq!(
        data.column("n", json!({"table": "t"})).await,
        [Value::Null, json!(10)]
    );
}

#[tokio::test]
async fn many_changes_all_that_match_or_as_many_as_asked() {
    let data = counters().await;
    let all =
        json!({"table": "t", "where": {}, "updates": [{"column": "n", "value": {"increment": 1}}]});
    let rows = data.update_many(all).await.unwrap();
    assert_eq!((&rows[0]["n"], &rows[1]["n"]), (&json!(1), &json!(11)));
    let one =
        json!({"table": "t", "where": {}, "updates": [{"column": "n", "value": 0}], "limit": 1});
    assert_eq!(
        data.update_many(one)
            .await
            .unwrap()
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let none =
        json!({"table": "t", "where": {"id": {"eq": 9}}, "updates": [{"column": "n", "value": 0}]});
    assert_eq!(data.update_many(none.clone()).await, Ok(json!([])));
    assert_eq!(
        data.update(none).await.unwrap_err().to_string(),
        "Record not found (table: t)"
    );
    assert_eq!(data.column("n", json!({"table": "t"})).await, [0, 11]);
}

#[tokio::test]
async fn expect_holds_for_every_target_or_nothing_is_written() {
    let data = counters().await;
    let query = |expect: Value| json!({"table": "t", "where": {}, "updates": [{"column": "name", "value": "new"}], "expect": expect});
    let failed = data
        .update_many(query(json!({"n": {"eq": 10}})))
        .await
        .unwrap_err();
    let DataError::PreconditionFailed { details, .. } = failed else {
        panic!("expected a 412, found {failed:?}");
    };
    assert_eq!(
        details,
        json!({"table": "t", "targets": 2, "unexpected": 1})
    );
    assert_eq!(
        data.column("name", json!({"table": "t"})).await,
        [Value::Null, json!("x")]
    );
    assert!(
        data.update_many(query(json!({"id": {"gt": 0}})))
            .await
            .is_ok()
    );
    assert_eq!(
        data.column("name", json!({"table": "t"})).await,
        ["new", "new"]
    );
}

#[tokio::test]
async fn increments_at_the_same_time_are_all_counted() {
    let data = counters().await;
    let data = std::sync::Arc::new(data);
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let data = std::sync::Arc::clone(&data);
        tasks.spawn(async move {
            change(
                &data,
                1,
                json!([{"column": "n", "value": {"increment": 1}}]),
            )
            .await
            .is_ok()
        });
    }
    let done = tasks
        .join_all()
        .await
        .into_iter()
        .filter(|done| *done)
        .count();
    assert_eq!(
        data.column("n", json!({"table": "t", "where": {"id": {"eq": 1}}}))
            .await,
        [10 + done]
    );
    assert!(done > 0);
}
