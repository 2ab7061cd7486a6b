//! Random conditions over random rows: SQLite finds what a naive filter in memory finds.
//!
//! A failure prints the smallest case and its seed.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

use crate::support::{Data, open};

/// A value of each column: a text, a whole number, a boolean; any may be null.
pub(crate) type Row = (Option<String>, Option<i64>, Option<bool>);

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(
        proptest::sample::select(vec!["a", "A", "%", "_", "é", "'", "\\"]),
        0..4,
    )
    .prop_map(|parts| parts.concat())
}

pub(crate) fn row() -> impl Strategy<Value = Row> {
    (
        proptest::option::weighted(0.8, text()),
        proptest::option::weighted(0.8, -2_i64..3),
        proptest::option::weighted(0.8, any::<bool>()),
    )
}

fn value(column: usize) -> BoxedStrategy<Value> {
    let some = match column {
        0 => text().prop_map(Value::from).boxed(),
        1 => (-2_i64..3).prop_map(Value::from).boxed(),
        _ => any::<bool>().prop_map(Value::from).boxed(),
    };
    prop_oneof![9 => some, 1 => Just(Value::Null)].boxed()
}

const COLUMNS: [&str; 3] = ["s", "n", "b"];

fn leaf() -> impl Strategy<Value = Value> {
    (0_usize..3, any::<bool>()).prop_flat_map(|(column, typed)| {
        let name = COLUMNS[column];
        let one = (
            proptest::sample::select(vec!["eq", "ne", "gt", "gte", "lt", "lte"]),
            value(column),
        );
        let many = (
            proptest::sample::select(vec!["in", "not_in"]),
            proptest::collection::vec(value(column), 0..4).prop_map(Value::from),
        );
        let null = (
            proptest::sample::select(vec!["is_null", "not_null"]),
            Just(Value::from(true)),
        );
        let like = (
            proptest::sample::select(vec!["contains", "not_contains", "starts_with", "ends_with"]),
            text().prop_map(Value::from),
        );
        let operator = if column == 0 {
            prop_oneof![one, many, null, like].boxed()
        } else {
            prop_oneof![one, many, null].boxed()
        };
        operator.prop_map(move |(operator, value)| {
            if typed {
                let key = if value.is_array() { "values" } else { "value" };
                json!({"type": operator, "column": name, key: value})
            } else {
                json!({name: {operator: value}})
            }
        })
    })
}

pub(crate) fn condition() -> impl Strategy<Value = Value> {
    leaf().prop_recursive(4, 24, 4, |inner| {
        (
            proptest::sample::select(vec!["and", "or", "not"]),
            proptest::collection::vec(inner, 0..4),
        )
            .prop_map(|(kind, conditions)| json!({"type": kind, "conditions": conditions}))
    })
}

/// What the documentation says, in the plainest way.
pub(crate) fn holds(condition: &Value, row: &Row) -> bool {
    let kind = condition["type"].as_str();
    if let (Some(kind), Some(inner)) = (kind, condition["conditions"].as_array()) {
        return match kind {
            "and" => inner.iter().all(|inner| holds(inner, row)),
            "or" => inner.iter().any(|inner| holds(inner, row)),
            _ => !inner.iter().all(|inner| holds(inner, row)),
        };
    }
    let (column, operator, operand) = if let Some(kind) = kind {
        let operand = condition.get("value").or_else(|| condition.get("values"));
        (
            condition["column"].as_str().unwrap(),
            kind,
            operand.unwrap(),
        )
    } else {
        let (column, operators) = condition.as_object().unwrap().iter().next().unwrap();
        let (operator, operand) = operators.as_object().unwrap().iter().next().unwrap();
        (column.as_str(), operator.as_str(), operand)
    };
    let cell = match column {
        "s" => json!(row.0),
        "n" => json!(row.1),
        _ => json!(row.2),
    };
    let among = || operand.as_array().unwrap().contains(&cell);
    let texts = || Some((cell.as_str()?, operand.as_str()?));
    match operator {
        "eq" => cell == *operand,
        "ne" => cell != *operand,
        "in" => among(),
        "not_in" => !among(),
        "is_null" => cell.is_null(),
        "not_null" => !cell.is_null(),
        "contains" => texts().is_some_and(|(cell, part)| cell.contains(part)),
        "not_contains" => !texts().is_some_and(|(cell, part)| cell.contains(part)),
        "starts_with" => texts().is_some_and(|(cell, part)| cell.starts_with(part)),
        "ends_with" => texts().is_some_and(|(cell, part)| cell.ends_with(part)),
        _ => compare(&cell, operand).is_some_and(|order| match operator {
            "gt" => order.is_gt(),
            "gte" => order.is_ge(),
            "lt" => order.is_lt(),
            _ => order.is_le(),
        }),
    }
}

fn compare(one: &Value, other: &Value) -> Option<std::cmp::Ordering> {
    match (one, other) {
        (Value::String(one), Value::String(other)) => Some(one.as_bytes().cmp(other.as_bytes())),
        (Value::Number(one), Value::Number(other)) => one.as_i64().partial_cmp(&other.as_i64()),
        (Value::Bool(one), Value::Bool(other)) => Some(one.cmp(other)),
        _ => None,
    }
}

/// Each case: some rows, and some conditions asked of them.
fn run(cases: u32) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let data = open(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, s TEXT, n INTEGER, b BOOLEAN); CREATE INDEX by_n ON t (n);",
    );
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let strategy = (
        proptest::collection::vec(row(), 0..6),
        proptest::collection::vec(condition(), 10),
    );
    TestRunner::new(config)
        .run(&strategy, |(rows, conditions)| {
            runtime.block_on(fill(&data, &rows));
            for condition in &conditions {
                let expected: Vec<_> = (0..rows.len())
                    .filter(|at| holds(condition, &rows[*at]))
                    .map(|at| json!(at))
                    .collect();
                let query =
                    json!({"table": "t", "where": condition, "order_by": [{"column": "id"}]});
                let found = runtime.block_on(data.column("id", query));
                prop_assert_eq!(found, expected, "{}", condition);
            }
            Ok(())
        })
        .unwrap();
}

pub(crate) async fn fill(data: &Data, rows: &[Row]) {
    let rows = rows.to_vec();
    let job = move |conn: &rusqlite::Connection| -> Result<(), zonai_data::DataError> {
        conn.prepare_cached("DELETE FROM t")?.execute([])?;
        let mut insert = conn.prepare_cached("INSERT INTO t VALUES (?, ?, ?, ?)")?;
        for (id, (s, n, b)) in rows.iter().enumerate() {
            insert.execute((i64::try_from(id).unwrap(), s, n, b))?;
        }
        Ok(())
    };
    data.db.engine().write(&data.pass, job).await.unwrap();
}

#[test]
fn two_thousand_random_conditions_find_what_a_naive_filter_finds() {
    run(200);
}

#[test]
#[ignore = "takes minutes: cargo nextest run -p zonai-data --run-ignored only"]
fn a_hundred_thousand_random_conditions_find_what_a_naive_filter_finds() {
    run(10_000);
}
