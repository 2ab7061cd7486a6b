//! No text, however strange, makes a reader panic, hang, or print more than a line a fault.

use proptest::prelude::*;
use zonai_policy::{Diagnostic, Source, parse_limit, read_dart, read_yaml};

use crate::support::tables;

fn check(faults: &[Diagnostic], text: &str) {
    for fault in faults {
        assert!(
            !fault.to_string().contains(['\n', '\r', '\u{1b}']),
            "{fault:?}"
        );
        assert!(fault.line >= 1 && fault.column >= 1, "{fault:?}");
        assert!(
            fault.line as usize <= text.split(['\n', '\r']).count() + 1,
            "{fault:?}\n{text}"
        );
        let _ = (fault.render(true), serde_json::to_string(fault).unwrap());
    }
}

fn yaml(text: &str) {
    let (stated, faults) = read_yaml(&Source::new("f.yaml", text), &tables());
    assert!(
        !stated.is_empty() || !faults.is_empty(),
        "said nothing of {text:?}"
    );
    check(&faults, text);
}

fn dart(text: &str) {
    let (stated, faults) = read_dart(&Source::new("f.dart", text), &tables());
    assert_eq!(stated.len() == 1, faults.is_empty(), "{text:?}\n{faults:?}");
    check(&faults, text);
}

/// Words of the language in any order: far more of them get past the parser than of letters.
fn words(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    proptest::collection::vec(proptest::sample::select(words), 0..40)
        .prop_map(|words| words.concat())
}

const YAML: &[&str] = &[
    "table",
    ": ",
    "tasks",
    "users",
    "\n",
    "  ",
    "limits",
    "auth",
    "create",
    "custom",
    "default",
    "fill",
    "10/1m",
    "none",
    "[",
    "]",
    "{",
    "}",
    ", ",
    "maxRequests",
    "window",
    "mode",
    "observe",
    "limit",
    "- ",
    "&a ",
    "*a",
    "!x ",
    "'",
    "\"",
    "# ",
    "? ",
    "| ",
    "> ",
    "~",
    "---\n",
    "...\n",
    "\t",
    "\u{feff}",
    "ü",
    "signIn",
    "1m",
    "5",
];

const DART: &[&str] = &[
    "class ",
    "A ",
    "extends ",
    "TableRateLimits ",
    "AuthTableRateLimits ",
    "{",
    "}",
    "(",
    ")",
    "=> ",
    "async ",
    "; ",
    ": ",
    "super",
    "tasks",
    "main",
    "createPolicy",
    "customPolicy",
    "const ",
    "RateLimitPolicy",
    "maxRequests",
    "window",
    "Duration",
    "minutes",
    "1",
    "null",
    ".defaultPolicy",
    "switch ",
    "case ",
    "default",
    "return ",
    "'fill'",
    "_",
    ", ",
    "|| ",
    "String? o",
    "o",
    "\n",
    "// x\n",
    "await ",
    "-",
    "* ",
    "< ",
    "> ",
    "? ",
    "@override ",
    "Future",
    "\"",
    "'",
    "$",
    "{}",
    "static ",
    "get ",
];

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn any_text_is_read_or_refused(text in "(?s).{0,80}") {
        yaml(&text);
        dart(&text);
        let _ = parse_limit(&text).map_err(|error| (error.to_string(), error.help()));
    }

    #[test]
    fn any_words_of_yaml_are_read_or_refused(text in words(YAML)) {
        yaml(&text);
        yaml(&format!("table: tasks\nlimits: {text}"));
        yaml(&format!("table: users\nauth:\n  signIn: {text}"));
    }

    #[test]
    fn any_words_of_dart_are_read_or_refused(text in words(DART)) {
        dart(&text);
        let class = |members: &str| format!("class A extends TableRateLimits {{ A() : super(tasks); {members} }} A main() => A();");
        dart(&class(&text));
        dart(&class(&format!("f createPolicy() async => {text};")));
        dart(&class(&format!("f customPolicy(String? o) async => switch (o) {{ {text}, _ => null }};")));
        dart(&class(&format!("f customPolicy(String? o) async {{ switch (o) {{ {text} default: return null; }} }}")));
    }

    #[test]
    fn a_good_file_with_a_hole_is_read_or_refused(at in 0_usize..400, length in 1_usize..20) {
        let text = "class A extends TableRateLimits<T, U> {\n  A() : super(tasks);\n  Future<RateLimitPolicy?> createPolicy() async => \
            const RateLimitPolicy(maxRequests: 10, window: Duration(minutes: 1));\n  Future<RateLimitPolicy?> customPolicy(String? o) async => \
            switch (o) { 'fill' => null, _ => .defaultPolicy };\n}\nA main() => A();\n";
        let at = at.min(text.len());
        let end = (at + length).min(text.len());
        dart(&format!("{}{}", &text[..at], &text[end..]));
    }
}
