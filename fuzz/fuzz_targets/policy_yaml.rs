//! A policy file in YAML: faults with a place in the file, or limits that the limiter takes, and the same ones in Dart.
#![no_main]

use std::fmt::Write as _;

use libfuzzer_sys::{Corpus, fuzz_target};
use zonai_fuzz::limits::{check_faults, check_stated, meaning, tables};
use zonai_limit::{Kind, Limit, Mode, Operation};
use zonai_policy::{Source, Stated, read_dart, read_yaml};

fuzz_target!(|text: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(text) else {
        return Corpus::Reject;
    };
    let source = Source::new("f.yaml", text);
    let (stated, faults) = read_yaml(&source, &tables());
    check_faults(&source, &faults);
    if faults.is_empty() {
        check_stated(&source, &stated);
        stated.iter().for_each(same_in_dart);
    }
    Corpus::Keep
});

/// Dart has one window for an operation and no modes; what it can say means there what it means here.
fn same_in_dart(stated: &Stated) {
    let limits = &stated.limits;
    let all = || limits.operations.values().chain(limits.custom.values());
    let plain = |limit: &Limit| limit.windows.len() <= 1 && limit.mode == Mode::Enforce;
    if limits.mode != Mode::Enforce || !all().all(plain) {
        return;
    }
    let source = Source::new("f.dart", dart(stated));
    let (read, faults) = read_dart(&source, &tables());
    assert!(faults.is_empty(), "{faults:?} in {}", source.text());
    assert_eq!(
        meaning(&read),
        meaning(std::slice::from_ref(stated)),
        "{}",
        source.text()
    );
}

/// The file that one would write in Dart.
fn dart(stated: &Stated) -> String {
    let base = match stated.kind {
        Kind::Table => "TableRateLimits",
        Kind::Auth => "AuthTableRateLimits",
    };
    let limits = &stated.limits;
    let mut out = format!(
        "class A extends {base} {{\n  A() : super({});\n",
        limits.table
    );
    for (operation, limit) in &limits.operations {
        if *operation != Operation::Custom {
            // The method for `list` has a name of its own.
            let name = if *operation == Operation::List {
                "limit"
            } else {
                operation.name()
            };
            let _ = writeln!(
                out,
                "  Future<RateLimitPolicy?> {name}Policy() async => {};",
                policy(limit)
            );
        }
    }
    let other = limits.operations.get(&Operation::Custom);
    if other.is_some() || !limits.custom.is_empty() {
        out.push_str("  Future<RateLimitPolicy?> customPolicy(String? o) async => switch (o) {\n");
        for (name, limit) in &limits.custom {
            let _ = writeln!(out, "    '{name}' => {},", policy(limit));
        }
        let other = other.map_or(".defaultPolicy".to_owned(), policy);
        let _ = writeln!(out, "    _ => {other},\n  }};");
    }
    out + "}\nA main() => A();\n"
}

fn policy(limit: &Limit) -> String {
    limit.windows.first().map_or("null".to_owned(), |window| {
        let (max, ms) = (window.max_requests(), window.window_ms());
        format!("const RateLimitPolicy(maxRequests: {max}, window: Duration(milliseconds: {ms}))")
    })
}
