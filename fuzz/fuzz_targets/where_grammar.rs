//! A `where` in JSON: SQLite takes what the grammar takes, within the bounds, and the answer is that of the parts.
#![no_main]

use std::collections::BTreeSet;
use std::sync::LazyLock;

use libfuzzer_sys::{Corpus, fuzz_target};
use serde_json::{Map, Value, json};
use zonai_data::DataError;
use zonai_fuzz::data::{Data, value};

static DATA: LazyLock<Data> = LazyLock::new(Data::open);

type Ids = BTreeSet<i64>;

fuzz_target!(|text: &[u8]| -> Corpus {
    let Some(condition) = value(text) else {
        return Corpus::Reject;
    };
    let Some(found) = ids(&condition) else {
        return Corpus::Keep;
    };
    let size = Size::of(&condition, 1);
    assert!(
        size.depth <= 32 && size.tests <= 1_000 && size.groups <= 1_000 && size.values <= 10_000,
        "taken, but too large"
    );
    let total = DATA.count(&condition).unwrap();
    assert_eq!(total, json!(found.len()));
    // Every row meets a condition or its opposite, never both.
    let all = ids(&json!({})).unwrap();
    if let Some(others) = ids(&json!({"type": "not", "condition": condition})) {
        assert_eq!(others, &all - &found, "not {condition}");
    } else {
        assert!(size.depth == 32 || size.groups == 1_000, "not {condition}");
    }
    let other = respelled(&condition);
    assert_eq!(ids(&other), Some(found.clone()), "respelled: {other}");
    parts(&condition, &found, &all);
    Corpus::Keep
});

/// The rows that meet a condition; `None` where it is refused, which must say where.
fn ids(condition: &Value) -> Option<Ids> {
    match DATA.list(condition) {
        Ok(found) => {
            let items = found["items"].as_array().unwrap();
            assert_eq!(found["total"], json!(items.len()));
            assert!(items.iter().all(|row| row.get("secret").is_none()));
            Some(
                items
                    .iter()
                    .map(|row| row["id"].as_i64().unwrap())
                    .collect(),
            )
        }
        Err(DataError::BadRequest(text)) => {
            assert!(text.starts_with("where"), "no place: {text}");
            None
        }
        Err(other) => panic!("{other:?} for {condition}"),
    }
}

/// The rows of a group are those of its members, put together.
fn parts(condition: &Value, found: &Ids, all: &Ids) {
    let Some((name, inner)) = group(condition) else {
        return;
    };
    let inner: Vec<&Value> = match inner {
        Value::Array(items) => items.iter().take(9).collect(),
        one => vec![one],
    };
    if inner.len() > 8 {
        return;
    }
    let each = inner.iter().map(|part| ids(part).unwrap());
    let together = match name {
        "or" => each.fold(Ids::new(), |together, ids| &together | &ids),
        _ => each.fold(all.clone(), |together, ids| &together & &ids),
    };
    let expected = if name == "not" {
        all - &together
    } else {
        together
    };
    assert_eq!(*found, expected, "{condition}");
}

/// The name and the members of a condition that is a group and nothing else.
fn group(condition: &Value) -> Option<(&str, &Value)> {
    let members = condition.as_object()?;
    let (name, inner) = match members.get("type").and_then(Value::as_str) {
        Some(name) => (
            name,
            members.get("conditions").or(members.get("condition"))?,
        ),
        None if members.len() == 1 => members
            .iter()
            .next()
            .map(|(name, inner)| (name.as_str(), inner))?,
        None => return None,
    };
    ["and", "or", "not"]
        .contains(&name)
        .then_some((name, inner))
}

/// The same condition, each part in the other of the two spellings.
fn respelled(condition: &Value) -> Value {
    let members = condition.as_object().unwrap();
    let all = |inner: &Value| match inner {
        Value::Array(items) => items.iter().map(respelled).collect(),
        one => vec![respelled(one)],
    };
    if let Some(Value::String(name)) = members.get("type") {
        if let Some((name, inner)) = group(condition) {
            return json!({name: all(inner)});
        }
        let column = members["column"].as_str().unwrap();
        let operand = members.get("value").or(members.get("values"));
        let operand = operand.cloned().unwrap_or(Value::Null);
        return json!({column: {name: operand}});
    }
    let mut parts = Vec::new();
    for (name, inner) in members {
        if ["and", "or", "not"].contains(&name.as_str()) {
            parts.push(json!({"type": name, "conditions": all(inner)}));
            continue;
        }
        for (operator, operand) in inner.as_object().unwrap() {
            parts.push(json!({"type": operator, "column": name, "value": operand}));
        }
    }
    match parts.len() {
        1 => parts.remove(0),
        _ => flat(parts, members),
    }
}

/// Several tests side by side stand at one depth, which a list of them would not: they stay as they are.
fn flat(parts: Vec<Value>, members: &Map<String, Value>) -> Value {
    if parts.is_empty() {
        json!({})
    } else {
        Value::Object(members.clone())
    }
}

/// How large a condition is, counted by another hand than the reader's.
#[derive(Default)]
struct Size {
    depth: usize,
    tests: usize,
    groups: usize,
    values: usize,
}

impl Size {
    fn of(condition: &Value, depth: usize) -> Self {
        let mut size = Self {
            depth,
            ..Self::default()
        };
        let members = condition.as_object().unwrap();
        if members.get("type").is_some_and(Value::is_string) {
            match group(condition) {
                Some((_, inner)) => size.inner(inner, depth),
                None => size.test(members.get("value").or(members.get("values"))),
            }
            return size;
        }
        for (name, inner) in members {
            if ["and", "or", "not"].contains(&name.as_str()) {
                size.inner(inner, depth);
            } else {
                inner
                    .as_object()
                    .unwrap()
                    .values()
                    .for_each(|operand| size.test(Some(operand)));
            }
        }
        size
    }

    fn inner(&mut self, inner: &Value, depth: usize) {
        self.groups += 1;
        let items = inner
            .as_array()
            .map_or(std::slice::from_ref(inner), Vec::as_slice);
        for item in items {
            let inner = Self::of(item, depth + 1);
            self.depth = self.depth.max(inner.depth);
            self.tests += inner.tests;
            self.groups += inner.groups;
            self.values += inner.values;
        }
    }

    fn test(&mut self, operand: Option<&Value>) {
        self.tests += 1;
        self.values += operand.and_then(Value::as_array).map_or(0, Vec::len);
    }
}
