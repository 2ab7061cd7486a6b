//! `updates` in JSON: all or nothing, the named columns only, and what is answered can be sent back unchanged.
//!
//! The first character of an input chooses the row that is changed, from `1` to `5`.
#![no_main]

use std::collections::BTreeSet;
use std::sync::LazyLock;

use libfuzzer_sys::{Corpus, fuzz_target};
use serde_json::{Map, Value, json};
use zonai_data::DataError;
use zonai_fuzz::data::{Data, value};

static DATA: LazyLock<Data> = LazyLock::new(|| {
    let data = Data::open();
    data.sql(KEEP);
    data
});
static BEFORE: LazyLock<Vec<Row>> = LazyLock::new(|| (1..=5).map(|id| DATA.row(id)).collect());

type Row = Map<String, Value>;

/// What an update never sets, or not by its name.
const NOT_WRITTEN: [&str; 3] = ["id", "twice", "updatedAt"];
const MOST: usize = 1_000;

fuzz_target!(|text: &[u8]| -> Corpus {
    let Some((&choice, text)) = text.split_first() else {
        return Corpus::Reject;
    };
    let Some(updates) = value(text) else {
        return Corpus::Reject;
    };
    let id = i64::from(choice % 5) + 1;
    let before = &BEFORE[usize::from(choice % 5)];
    let Some(after) = updated(id, before, &updates) else {
        return Corpus::Keep;
    };
    let named = names(&updates);
    assert!(
        (1..=MOST).contains(&changes(&updates)),
        "taken, but too many or none"
    );
    for (name, value) in &after {
        let follows = name == "updatedAt" || name == "twice" && named.contains("n");
        let stays = !named.contains(name.as_str()) && !follows;
        assert!(!stays || before[name] == *value, "`{name}` is now {value}");
    }
    let sent_back: Row = after
        .iter()
        .filter(|(name, _)| !NOT_WRITTEN.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let again = DATA.update(id, &json!({"type": "object", "object": sent_back}));
    assert_eq!(
        again.as_ref().map(Value::as_object),
        Ok(Some(&after)),
        "sent back"
    );
    if let Some(other) = respelled(&updates) {
        put_back();
        assert_eq!(
            updated(id, before, &other),
            Some(after),
            "respelled: {other}"
        );
    }
    put_back();
    Corpus::Keep
});

/// The row after an update; `None` where it was refused, which must leave everything as it was.
fn updated(id: i64, before: &Row, updates: &Value) -> Option<Row> {
    match DATA.update(id, updates) {
        Ok(row) => {
            let row = row.as_object().unwrap().clone();
            assert_eq!(row, DATA.row(id), "the answer is not the row");
            for other in (1..=5).filter(|other| *other != id) {
                assert_eq!(BEFORE[other as usize - 1], DATA.row(other), "another row");
            }
            Some(row)
        }
        Err(DataError::BadRequest(text)) => {
            assert!(text.starts_with("updates"), "no place: {text}");
            assert_eq!(*before, DATA.row(id), "refused, but changed");
            None
        }
        Err(DataError::Unprocessable(_)) => {
            assert_eq!(*before, DATA.row(id), "refused, but changed");
            None
        }
        Err(other) => panic!("{other:?} for {updates}"),
    }
}

fn put_back() {
    DATA.sql(PUT_BACK);
}

/// Every text that could name a column.
fn names(updates: &Value) -> BTreeSet<&str> {
    match updates {
        Value::String(text) => BTreeSet::from([text.as_str()]),
        Value::Array(items) => items.iter().flat_map(names).collect(),
        Value::Object(members) => {
            let keys = members.keys().map(String::as_str);
            keys.chain(members.values().flat_map(names)).collect()
        }
        _ => BTreeSet::new(),
    }
}

/// How many changes there are, counted by another hand than the reader's.
fn changes(updates: &Value) -> usize {
    match updates {
        Value::Array(items) => items.iter().map(changes).sum(),
        one if one["type"] == "object" => one["object"].as_object().map_or(0, Map::len),
        _ => 1,
    }
}

/// The same changes in another of the spellings; only where there is no object, which names each column once.
fn respelled(updates: &Value) -> Option<Value> {
    let one = |item: &Value| {
        let members = item.as_object()?;
        let column = members.get("column")?.as_str()?;
        let operand = members.get("value").or(members.get("values"))?;
        let change = match members.get("type").and_then(Value::as_str) {
            None | Some("column") => operand.clone(),
            Some(step) => json!({step: operand}),
        };
        Some(json!({"type": "object", "object": {column: change}}))
    };
    match updates {
        Value::Array(items) => items
            .iter()
            .map(one)
            .collect::<Option<Vec<_>>>()
            .map(Value::from),
        single => one(single),
    }
}

const KEEP: &str = r#"CREATE TABLE _kept AS
SELECT id, s, n, r, b, j, x, d, a, free, type, "a ""b", must, secret, updatedAt FROM t"#;
/// The rows as they were.
const PUT_BACK: &str = r#"
DELETE FROM t;
INSERT INTO t (id, s, n, r, b, j, x, d, a, free, type, "a ""b", must, secret, updatedAt) SELECT * FROM _kept;
"#;
