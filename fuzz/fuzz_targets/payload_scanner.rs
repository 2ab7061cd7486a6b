//! Payloads: no panic, cuts do not matter, and what a JSON parser accepts is scanned alike.
#![no_main]

use std::fmt;

use libfuzzer_sys::fuzz_target;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use zonai_http::{Field, Progress, Scanner, Want, decode_body_param, scan_query};

// The first byte is the size of the pieces.
fuzz_target!(|data: &[u8]| {
    let Some((&size, text)) = data.split_first() else {
        return;
    };
    let whole = scan(text, text.len().max(1));
    let pieces = scan(text, usize::from(size).max(1));
    assert_eq!(whole.table(), pieces.table());
    assert_eq!(whole.is_broken(), pieces.is_broken());
    if let Some(table) = first_table(text) {
        assert!(!whole.is_broken());
        match (whole.table(), table) {
            (Field::Missing, None) => {}
            (Field::Text(found), Some(serde_json::Value::String(table))) => {
                assert_eq!(found, table)
            }
            (Field::TooLong, Some(serde_json::Value::String(table))) => assert!(table.len() > 256),
            (Field::NotString, Some(other)) => assert!(!other.is_string()),
            (found, table) => panic!("{found:?} is not {table:?}"),
        }
    }
    if let Ok(query) = std::str::from_utf8(text) {
        let in_query = scan_query(query);
        let Some(found) = in_query.named() else {
            return;
        };
        if let Ok(body) = decode_body_param(query) {
            let direct = scan(&body, body.len().max(1));
            assert_eq!(found.table, direct.table());
            assert_eq!(found.broken, direct.is_broken());
        }
    }
});

fn scan(text: &[u8], size: usize) -> Scanner {
    let mut scanner = Scanner::new(Want::Table);
    if !text
        .chunks(size)
        .any(|piece| scanner.feed(piece) == Progress::Done)
    {
        scanner.finish();
    }
    scanner
}

/// The first `table` by a real parser, where that accepts the text.
fn first_table(text: &[u8]) -> Option<Option<serde_json::Value>> {
    let mut parser = serde_json::Deserializer::from_slice(text);
    let table = parser.deserialize_map(First).ok()?;
    parser.end().ok().map(|()| table)
}

struct First;

impl<'de> Visitor<'de> for First {
    type Value = Option<serde_json::Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = None;
        while let Some(key) = map.next_key::<String>()? {
            if key == "table" && found.is_none() {
                found = Some(map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}
