//! The table of a payload.

use std::borrow::Cow;

use zonai_http::{Field, Progress, QueryError, Scanner, Want, decode_body_param, scan_query};

/// Scans `text` in pieces of every size and compares: where it is cut must not matter.
fn scan(want: Want, text: &[u8]) -> Scanner {
    let mut whole = Scanner::new(want);
    if whole.feed(text) == Progress::More {
        whole.finish();
    }
    for size in 1..=text.len().clamp(1, 9) {
        let mut scanner = Scanner::new(want);
        let done = text
            .chunks(size)
            .any(|piece| scanner.feed(piece) == Progress::Done);
        if !done {
            scanner.finish();
        }
        assert_eq!(scanner.table(), whole.table(), "{}", text.escape_ascii());
        assert_eq!(scanner.kind(), whole.kind());
        assert_eq!(scanner.is_broken(), whole.is_broken());
    }
    whole
}

#[track_caller]
fn is_table(text: &str, table: &str) {
    let scanner = scan(Want::Table, text.as_bytes());
    assert_eq!(scanner.table(), Field::Text(table), "{text}");
    assert!(!scanner.is_broken());
}

#[test]
fn keys_are_compared_unescaped_and_only_at_the_top() {
    is_table(r#"{"table":"notes"}"#, "notes");
    is_table("\u{feff} \r\n\t{ \"table\" : \"notes\" ", "notes");
    is_table(r#"{"t\u0061ble":"notes"}"#, "notes");
    is_table(
        r#"{"\u0074\u0061\u0062\u006C\u0065":"no\u0074es"}"#,
        "notes",
    );
    is_table(
        r#"{"Table":"x","tables":"x","tabl":"x"," table":"x","table\u0000":"x","":"x","table":"notes"}"#,
        "notes",
    );
    is_table(
        r#"{"where":{"table":"x"},"a":[{"table":"y"},["table"]],"b":"table","table":"notes"}"#,
        "notes",
    );
    is_table(
        r#"{"a":"\"table\":\"x\"","b\\":"}","table":"notes"}"#,
        "notes",
    );
    is_table(
        r#"{"a":-0.5e+10,"b":[1,2.5,true,false,null,{}],"c":0,"table":"notes"}"#,
        "notes",
    );
}

#[test]
fn values_are_unescaped() {
    is_table(
        r#"{"table":"a\"b\\c\/d\n\t\r\b\f"}"#,
        "a\"b\\c/d\n\t\r\u{8}\u{c}",
    );
    is_table(r#"{"table":"\ud83e\udd80\u00e9🦀é"}"#, "🦀é🦀é");
    is_table(r#"{"table":""}"#, "");
}

#[test]
fn the_first_table_counts_and_nothing_after_it_is_read() {
    is_table(r#"{"table":"notes","table":"tasks"}"#, "notes");
    is_table(r#"{"table":"notes" this is no JSON"#, "notes");
    let mut scanner = Scanner::new(Want::Table);
    assert_eq!(scanner.feed(br#"{"table":"note"#), Progress::More);
    assert_eq!(scanner.table(), Field::Missing);
    assert_eq!(scanner.feed(b"s\""), Progress::Done);
    assert_eq!(scanner.feed(br#","table":"tasks"}"#), Progress::Done);
    assert_eq!(scanner.table(), Field::Text("notes"));
    // The first is no string: a second does not help.
    assert_eq!(
        scan(Want::Table, br#"{"table":1,"table":"tasks"}"#).table(),
        Field::NotString
    );
}

#[test]
fn table_and_type_are_found_in_any_order() {
    for text in [
        r#"{"type":"signIn","table":"users"}"#,
        r#"{"table":"users","table":"other","type":"signIn"}"#,
        r#"{"type":"signIn","type":"other","table":"users"}"#,
        r#"{"table":"users","email":"a@b.c","type":"signIn","x":"#,
        r#"{"table":"users","typ\u0065":"signIn","type":"other"}"#,
    ] {
        let scanner = scan(Want::TableAndType, text.as_bytes());
        assert_eq!(
            (scanner.table(), scanner.kind()),
            (Field::Text("users"), Field::Text("signIn")),
            "{text}"
        );
        assert!(!scanner.is_broken());
    }
    let scanner = scan(Want::TableAndType, br#"{"type":"signIn","email":"a@b.c"}"#);
    assert_eq!(
        (scanner.table(), scanner.kind()),
        (Field::Missing, Field::Text("signIn"))
    );
    assert!(!scanner.is_broken());
    let scanner = scan(Want::TableAndType, br#"{"table":"users","type":{"a":1}}"#);
    assert_eq!(
        (scanner.table(), scanner.kind()),
        (Field::Text("users"), Field::NotString)
    );
    assert_eq!(
        scan(Want::Table, br#"{"type":"signIn","table":"users"}"#).kind(),
        Field::Missing
    );
}

#[test]
fn what_is_no_text_is_said() {
    for text in [
        &br#"{"table":null}"#[..],
        br#"{"table":12}"#,
        br#"{"table":["notes"]}"#,
        br#"{"table":{"table":"notes"}}"#,
        b"{\"table\":\"\xff\"}",
        b"{\"table\":\"\xc3\"}",
        br#"{"table":"\ud800"}"#,
        br#"{"table":"\udc00"}"#,
        br#"{"table":"\ud800x"}"#,
        br#"{"table":"\ud800\n"}"#,
        br#"{"table":"\ud800\ud800"}"#,
        br#"{"table":"\ud800\u0061"}"#,
    ] {
        let scanner = scan(Want::Table, text);
        assert_eq!(scanner.table(), Field::NotString, "{}", text.escape_ascii());
        assert!(!scanner.is_broken());
    }
}

#[test]
fn a_long_name_is_too_long_as_soon_as_it_is_and_takes_no_memory() {
    let fits = "n".repeat(256);
    is_table(&format!(r#"{{"table":"{fits}"}}"#), &fits);
    assert_eq!(
        scan(Want::Table, format!(r#"{{"table":"{fits}n"}}"#).as_bytes()).table(),
        Field::TooLong
    );
    let mut scanner = Scanner::new(Want::Table);
    assert_eq!(
        scanner.feed(format!(r#"{{"table":"{fits}n"#).as_bytes()),
        Progress::Done
    );
    let long_key = format!(r#"{{"{}":1,"table":"notes"}}"#, "table".repeat(10_000));
    is_table(&long_key, "notes");
    assert!(size_of::<Scanner>() <= 512);
}

#[test]
fn nothing_is_read_past_the_answer_wherever_the_pieces_are_cut() {
    let half = b"{\"table\":\"a\\udde0b\0\"}";
    let scanner = scan(Want::Table, half);
    assert_eq!(scanner.table(), Field::NotString);
    assert!(!scanner.is_broken());
    let long = [b"{\"table\":\"", "x".repeat(300).as_bytes(), b"\0\"}"].concat();
    let scanner = scan(Want::Table, &long);
    assert_eq!(scanner.table(), Field::TooLong);
    assert!(!scanner.is_broken());
}

#[test]
fn broken_json_is_said_and_a_table_that_was_cut_off_is_not_known() {
    for text in [
        "",
        " ",
        "[]",
        "1",
        "\"table\"",
        "null",
        "x",
        "{",
        "}",
        "{]",
        "{\"a\":[}",
        "{\"a\":{]",
        "{\"a\":[1},\"table\":\"x\"}",
        "{\"a\":{\"b\":1],\"table\":\"x\"}",
        "{\"a\":1]",
        "{\"a\"}",
        "{\"a\":}",
        "{\"a\":1,}",
        "{,}",
        "{a:1}",
        "{\"a\":1 \"table\":\"x\"}",
        "{\"a\":01,\"table\":\"x\"}",
        "{\"a\":-,\"table\":\"x\"}",
        "{\"a\":1.,\"table\":\"x\"}",
        "{\"a\":1e,\"table\":\"x\"}",
        "{\"a\":.5,\"table\":\"x\"}",
        "{\"a\":tru,\"table\":\"x\"}",
        "{\"a\":nulll,\"table\":\"x\"}",
        "{\"a\":[1,],\"table\":\"x\"}",
        "{\"a\":[,1],\"table\":\"x\"}",
        "{\"a\":\"\n\",\"table\":\"x\"}",
        "{\"a\":\"\\x\",\"table\":\"x\"}",
        "{\"a\":\"\\u00g0\",\"table\":\"x\"}",
        "{\"table\":\"x",
        "{\"table\":\"\\q\"}",
        "{\"table\"",
        "{\"table\":",
        "{'table':'x'}",
        "\u{feff}\u{feff}{\"table\":\"x\"}",
        "// {\"table\":\"x\"}",
        "{\"table\":}",
    ] {
        let scanner = scan(Want::Table, text.as_bytes());
        assert!(scanner.is_broken(), "{text}");
        assert!(!matches!(scanner.table(), Field::Text(_)), "{text}");
    }
    let missing = scan(Want::Table, br#"{"a":1} trailing text is not read"#);
    assert_eq!(
        (missing.table(), missing.is_broken()),
        (Field::Missing, false)
    );
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| {
        format!(
            r#"{{"a":{}{},"table":"notes"}}"#,
            "[".repeat(depth),
            "]".repeat(depth)
        )
    };
    is_table(&nested(127), "notes");
    assert!(scan(Want::Table, nested(128).as_bytes()).is_broken());
    assert!(scan(Want::Table, nested(100_000).as_bytes()).is_broken());
}

fn query_table(query: &str) -> Option<String> {
    scan_query(query).named().map(|named| match named.table {
        Field::Text(table) => table.to_owned(),
        other => format!("{other:?}"),
    })
}

/// Every beginning of a plain payload, with one byte of it replaced: the short way finds what the scanner does.
#[test]
fn a_plain_spelling_names_what_the_scanner_finds() {
    let marks = ["\"", "%22", "%2", "%27", "x", " ", "+", "&", "%", ":", "{"];
    let spellings = [
        r#"{"table":"my_Notes2","where":{}}"#,
        "%7B%22table%22%3A%22my_Notes2%22%7D",
        "%7b%22table%22%3a%22my_Notes2%22%7d",
        r#"{"table":"","#,
        r#"{"table":"my notes"}"#,
        r#"{"table":null}"#,
        r#"{"tables":"a"}"#,
    ];
    for spelling in spellings {
        for at in 0..=spelling.len() {
            for mark in marks {
                let query = format!(
                    "body={}{mark}{}",
                    &spelling[..at],
                    spelling.get(at + 1..).unwrap_or("")
                );
                let mut scanner = Scanner::new(Want::Table);
                let value = query["body=".len()..].split('&').next().unwrap();
                match decode_body_param(&format!("body={value}")) {
                    Ok(decoded) => {
                        let _ = scanner.feed(&decoded);
                        scanner.finish();
                    }
                    // What follows the name may be broken: then it is the scanner that says so.
                    Err(_) => continue,
                }
                assert_eq!(
                    scan_query(&query).named().unwrap().table,
                    scanner.table(),
                    "{query}"
                );
            }
        }
    }
    let long = "n".repeat(257);
    assert_eq!(
        query_table(&format!(r#"body={{"table":"{long}"}}"#)).as_deref(),
        Some("TooLong")
    );
    assert_eq!(
        query_table(&format!(r#"body={{"table":"{}"}}"#, &long[..256])).as_deref(),
        Some(&long[..256])
    );
}

#[test]
fn the_body_of_a_query_is_decoded_on_the_fly() {
    for query in [
        r#"body={"table":"my notes"}"#,
        r#"body={"table":"my+notes"}"#,
        "body=%7B%22table%22%3A%22my%20notes%22%7D",
        "body=%7b%22t%5cu0061ble%22:%22my+notes%22",
        "a=1&b%6fd%79=%7B%22table%22%3A%22my%20notes%22%7D&body=%7B%22table%22%3A%22other%22%7D",
        "bodyx=1&=2&&Body=3&body=%7B%22table%22%3A%22my%20notes%22%7D",
        "body=%7B%22table%22%3A%22my%20notes%22%zz",
    ] {
        assert_eq!(query_table(query).as_deref(), Some("my notes"), "{query}");
    }
    let far = format!(
        "body=%7B%22a%22:%22{}%22,%22table%22:%22notes%22%7D",
        "%C3%A9".repeat(1_000)
    );
    assert_eq!(query_table(&far).as_deref(), Some("notes"));
    for query in [
        "",
        "bod=1",
        "a=body",
        "BODY={}",
        "body%00=1",
        "body+=1",
        "%zz=1",
    ] {
        assert_eq!(query_table(query), None, "{query}");
    }
    for query in [
        "body",
        "body=",
        "body=%",
        "body=%7",
        r#"body={"table":"a&b"}"#,
        "body=%zz",
        "body=%7B%22table%22%3A%22no%g0tes%22%7D",
        "body=[]",
    ] {
        let body = scan_query(query);
        let named = body.named().unwrap();
        assert!(named.broken, "{query}");
        assert_eq!(named.table, Field::Missing, "{query}");
    }
}

#[test]
fn the_body_of_a_query_is_decoded_whole_once() {
    let decode = |query| decode_body_param(query);
    assert!(matches!(
        decode(r#"a=1&body={"table":"x"}"#),
        Ok(Cow::Borrowed(br#"{"table":"x"}"#))
    ));
    assert_eq!(
        decode("body=%7b+%7D%F0%9F%A6%80").unwrap(),
        "{ }🦀".as_bytes()
    );
    assert_eq!(decode("a=1"), Err(QueryError::Missing));
    assert_eq!(decode("body=1&b%6fdy=2"), Err(QueryError::Duplicate));
    assert_eq!(decode("body=1%"), Err(QueryError::Escape));
    assert_eq!(decode("body=%g0"), Err(QueryError::Escape));
    assert_eq!(decode("body").unwrap(), b"".as_slice());
}
