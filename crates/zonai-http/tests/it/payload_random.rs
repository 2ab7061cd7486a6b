//! Random payloads: what a JSON parser accepts is scanned alike, and nothing panics.

use std::fmt;

use proptest::prelude::*;
use serde::de::{Deserializer, IgnoredAny, MapAccess, Visitor};
use zonai_http::{Field, Progress, Scanner, Want, decode_body_param, scan_query};

use crate::random::Random;

/// The first `table` and the first `type` of a JSON object, by a real parser.
struct First;

type Pair = (Option<serde_json::Value>, Option<serde_json::Value>);

impl<'de> Visitor<'de> for First {
    type Value = Pair;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pair, A::Error> {
        let mut found: Pair = (None, None);
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "table" if found.0.is_none() => found.0 = Some(map.next_value()?),
                "type" if found.1.is_none() => found.1 = Some(map.next_value()?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

fn parsed(text: &[u8]) -> Option<Pair> {
    let mut parser = serde_json::Deserializer::from_slice(text);
    let pair = parser.deserialize_map(First).ok()?;
    parser.end().ok().map(|()| pair)
}

fn agrees(field: Field<'_>, value: Option<&serde_json::Value>, longest: usize) -> bool {
    match (field, value) {
        (Field::Missing, None) => true,
        (Field::Text(text), Some(serde_json::Value::String(value))) => text == value,
        (Field::TooLong, Some(serde_json::Value::String(value))) => value.len() > longest,
        (Field::NotString, Some(value)) => !value.is_string(),
        _ => false,
    }
}

/// Scans `text` in pieces cut at `cuts`, and compares with the parser where that accepts it.
fn check(text: &[u8], cuts: &[usize]) {
    for want in [Want::Table, Want::TableAndType] {
        let mut scanner = Scanner::new(want);
        let mut start = 0;
        let mut done = false;
        for end in cuts.iter().copied().chain([text.len()]) {
            let end = end.clamp(start, text.len());
            done |= scanner.feed(&text[start..end]) == Progress::Done;
            start = end;
        }
        if !done {
            scanner.finish();
        }
        if let Some((table, kind)) = parsed(text) {
            assert!(!scanner.is_broken(), "{}", text.escape_ascii());
            assert!(
                agrees(scanner.table(), table.as_ref(), 256),
                "{}: {scanner:?}",
                text.escape_ascii()
            );
            if want == Want::TableAndType {
                assert!(
                    agrees(scanner.kind(), kind.as_ref(), 64),
                    "{}",
                    text.escape_ascii()
                );
            }
        }
    }
}

const PIECES: [&str; 36] = [
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\"table\"",
    "\"type\"",
    "\"table\":\"notes\"",
    "\"type\":\"signIn\"",
    "{\"table\":",
    "\"t\\u0061ble\":",
    "\\u0061",
    "\\ud83e",
    "\\udd80",
    "\\\"",
    "\\\\",
    "\\n",
    "\\x",
    "1",
    "-",
    "0",
    ".5",
    "e+1",
    "true",
    "false",
    "null",
    " ",
    "\n",
    "\t",
    "a",
    "é",
    "\u{feff}",
    "\"a\":{\"table\":1},",
    "\"b\":[1,2],",
];

fn random_payload(random: &mut Random) -> Vec<u8> {
    let mut text = if random.below(4) > 0 {
        b"{".to_vec()
    } else {
        Vec::new()
    };
    for _ in 0..random.below(14) {
        match random.below(30) {
            0 => text.push(u8::try_from(random.below(256)).unwrap()),
            _ => text.extend_from_slice(random.pick(&PIECES).as_bytes()),
        }
    }
    if random.below(3) > 0 {
        text.push(b'}');
    }
    text
}

#[test]
fn random_pieces_are_scanned_as_a_parser_reads_them() {
    let mut random = Random::seeded(0x5eed_0002);
    for _ in 0..60_000 {
        let text = random_payload(&mut random);
        let cut = random.below(text.len() + 1);
        check(&text, &[cut]);
    }
}

fn json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        ".{0,12}".prop_map(serde_json::Value::String),
        ".{250,260}".prop_map(serde_json::Value::String),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::vec((key(), inner), 0..4)
                .prop_map(|pairs| pairs.into_iter().collect()),
        ]
    })
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof![Just("table".to_owned()), Just("type".to_owned()), ".{0,9}"]
}

/// Every character as an escape, so that both spellings are tried.
fn escaped(text: &str) -> String {
    text.encode_utf16()
        .map(|unit| format!("\\u{unit:04x}"))
        .collect()
}

/// Percent-encoded: every byte that is no letter or digit.
fn encoded(text: &[u8]) -> String {
    text.iter()
        .map(|&b| match b {
            b'a'..=b'z' | b'0'..=b'9' => char::from(b).to_string(),
            b' ' => "+".to_owned(),
            _ => format!("%{b:02X}"),
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn valid_objects_are_scanned_as_a_parser_reads_them(
        pairs in prop::collection::vec((key(), json(), any::<bool>()), 0..6),
        cuts in prop::collection::vec(0usize..200, 0..4),
    ) {
        let members: Vec<String> = pairs
            .iter()
            .map(|(key, value, escape)| {
                let key = if *escape { format!("\"{}\"", escaped(key)) } else { serde_json::to_string(key).unwrap() };
                format!("{key} : {value}")
            })
            .collect();
        let text = format!("{{{}}}", members.join(" , "));
        let mut cuts = cuts;
        cuts.sort_unstable();
        prop_assert!(parsed(text.as_bytes()).is_some());
        check(text.as_bytes(), &cuts);

        let query = format!("a=b&body={}", encoded(text.as_bytes()));
        let decoded = decode_body_param(&query).unwrap();
        prop_assert_eq!(decoded.as_ref(), text.as_bytes());
        let found = scan_query(&query);
        let mut direct = Scanner::new(Want::Table);
        let _ = direct.feed(text.as_bytes());
        prop_assert_eq!(found.named().unwrap().table, direct.table());
    }
}
