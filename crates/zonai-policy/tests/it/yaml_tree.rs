//! The tree of places: what is refused whoever reads it, and what cannot blow up.

use zonai_policy::yaml::{self, Value};
use zonai_policy::{Faults, Source, Span};

fn read(text: &str) -> (Option<yaml::Node>, Vec<String>) {
    let source = Source::new("f.yaml", text);
    let mut faults = Faults::new(&source);
    let root = yaml::parse(&mut faults);
    (
        root,
        faults.into_list().iter().map(ToString::to_string).collect(),
    )
}

#[test]
fn every_node_knows_its_place() {
    let (root, faults) = read(
        "# head\na: 1\nb:\n  - x\n  - {ü: \"two words\", d: *e}\n"
            .replace("*e", "~")
            .as_str(),
    );
    assert_eq!(faults, [""; 0]);
    let root = root.unwrap();
    let b = root.as_map().unwrap().get("b").unwrap();
    assert_eq!((b.key_span.line, b.key_span.column), (3, 1));
    let items = b.value.as_seq().unwrap();
    assert_eq!(
        (
            items[0].span.line,
            items[0].span.column,
            items[0].span.length
        ),
        (4, 5, 1)
    );
    let inner = items[1].as_map().unwrap();
    assert_eq!(
        inner.entries[0].value.span,
        Span {
            line: 5,
            column: 9,
            length: 11
        }
    );
    assert_eq!(
        (
            inner.entries[1].key_span.line,
            inner.entries[1].key_span.column
        ),
        (5, 22)
    );
    assert!(inner.entries[1].value.is_null());
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_move_no_place() {
    let (root, faults) = read("\u{feff}a: 1\r\nb: [1,\r\n");
    assert!(root.is_none());
    assert_eq!(faults.len(), 1);
    let (root, _) = read("\u{feff}a: 1\r\nb: x\r\n");
    let b = root.unwrap().as_map().unwrap().get("b").unwrap().clone();
    assert_eq!(
        (b.key_span.line, b.key_span.column, b.value.as_str()),
        (2, 1, Some("x"))
    );
}

#[test]
fn an_empty_file_is_nothing() {
    for text in ["", "\n\n", "# only a comment\n", "---\n", "---\n...\n"] {
        let (root, faults) = read(text);
        assert!(root.unwrap().is_null(), "{text:?}");
        assert_eq!(faults, [""; 0]);
    }
}

#[test]
fn duplicates_tags_and_second_documents_are_faults_with_a_place() {
    let (root, faults) = read("a: 1\nb: 2\na: 3\nc: !!binary aGk=\nd: !mine x\n? [k]\n: v\n");
    assert_eq!(
        faults,
        [
            "f.yaml:3:1: the key `a` stands twice; first at line 1",
            "f.yaml:4:13: the tag `!!binary` is not understood here",
            "f.yaml:5:10: the tag `!mine` is not understood here",
            "f.yaml:6:3: a key must be a text",
        ]
    );
    let root = root.unwrap();
    assert_eq!(
        root.as_map().unwrap().get("a").unwrap().value.as_scalar(),
        Some("1")
    );
    let (_, faults) = read("a: 1\n---\nb: 2\n");
    assert_eq!(
        faults,
        ["f.yaml:2:1: a second document begins here; a file holds one"]
    );
}

#[test]
fn an_alias_stands_at_its_own_place() {
    let (root, faults) = read("a: &x 10/1m\nb: *x\n");
    assert_eq!(faults, [""; 0]);
    let root = root.unwrap();
    let b = &root.as_map().unwrap().get("b").unwrap().value;
    assert_eq!(
        (b.as_str(), b.span.line, b.span.column),
        (Some("10/1m"), 2, 4)
    );
}

#[test]
fn bombs_are_refused() {
    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let refs = vec![format!("*a{}", level - 1); 10].join(", ");
        laughs.push_str(&format!("a{level}: &a{level} [{refs}]\n"));
    }
    let (root, faults) = read(&laughs);
    assert!(root.is_none());
    assert!(faults[0].contains("aliases multiply"), "{faults:?}");

    for deep in [
        "[".repeat(100_000),
        "- ".repeat(100_000),
        "{a: ".repeat(10_000),
    ] {
        let (root, faults) = read(&deep);
        assert!(root.is_none());
        assert_eq!(faults.len(), 1);
    }
    let (root, faults) = read("a: &a [*a]\n");
    assert!(root.is_none());
    assert_eq!(faults.len(), 1, "{faults:?}");
    let mut chain = String::from("a0: &a0 [x]\n");
    for level in 1..100 {
        chain.push_str(&format!("a{level}: &a{level} [*a{}]\n", level - 1));
    }
    assert!(read(&chain).1[0].contains("deep"));
}

#[test]
fn the_largest_file_without_aliases_is_held() {
    let text = "- a\n".repeat((1 << 20) / 4);
    let (root, faults) = read(&text);
    assert_eq!(faults, [""; 0]);
    assert!(matches!(root.unwrap().value, Value::Seq(items) if items.len() == (1 << 20) / 4));
}

#[test]
fn a_wrong_type_says_what_was_expected_and_what_stands_there() {
    let source = Source::new(
        "z.yaml",
        "port: eighty\nname: 12\nlist: {}\nhost:\nflag: 'true'\nbig: 70000\n",
    );
    let mut faults = Faults::new(&source);
    let root = yaml::parse(&mut faults).unwrap();
    let get = |key| &root.as_map().unwrap().get(key).unwrap().value;
    get("port").expect_int("`port`", 1..=65_535_u16, &mut faults);
    get("big").expect_int("`big`", 1..=65_535_u16, &mut faults);
    get("name").expect_str("`name`", &mut faults);
    get("list").expect_seq("`list`", &mut faults);
    get("host").expect_str("`host`", &mut faults);
    get("flag").expect_bool("`flag`", &mut faults);
    root.as_map().unwrap().check_keys(
        &["ports", "name", "list", "host", "flag", "big"],
        &mut faults,
    );
    let told: Vec<String> = faults.into_list().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "z.yaml:1:1: unknown key `port`; did you mean `ports`?",
            "z.yaml:1:7: `port` must be a whole number from 1 to 65535, not `eighty`",
            "z.yaml:2:7: `name` must be a text, not `12`; put it in quotes if it is meant as text",
            "z.yaml:3:7: `list` must be a list, not a map",
            "z.yaml:4:1: `host` must be a text, not nothing",
            "z.yaml:5:7: `flag` must be true or false, not the text `true`",
            "z.yaml:6:6: `big` must be a whole number from 1 to 65535, not `70000`",
        ]
    );
}
