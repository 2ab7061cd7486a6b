//! One policy file in Dart: the subset that is understood, and that everything else is named.

use std::collections::BTreeMap;

use zonai_limit::Kind;
use zonai_policy::{CustomNames, Source, Stated, TableFacts, Tables, read_dart};

use crate::support::{place, shape};

fn tables() -> Tables {
    crate::support::tables().with("user_profiles", &[])
}

fn read(text: &str) -> (Vec<Stated>, Vec<String>) {
    let (stated, faults) = read_dart(&Source::new("t.dart", text), &tables());
    (stated, faults.iter().map(ToString::to_string).collect())
}

fn good(text: &str) -> Stated {
    let (mut stated, faults) = read(text);
    assert_eq!(faults, [""; 0], "{text}");
    assert_eq!(stated.len(), 1);
    stated.remove(0)
}

fn limits(text: &str) -> BTreeMap<String, String> {
    shape(&good(text)).3
}

/// A class for `tasks` with these members, and its `main`.
fn class(members: &str) -> String {
    format!(
        "class A extends TableRateLimits<T, U> {{\n  A() : super(tasks);\n{members}\n}}\nA main() => A();\n"
    )
}

fn auth_class(members: &str) -> String {
    class(members)
        .replace("TableRateLimits<T, U>", "AuthTableRateLimits")
        .replace("tasks", "users")
}

/// A `createPolicy` that returns this expression.
fn create(expression: &str) -> String {
    class(&format!(
        "  Future<RateLimitPolicy?> createPolicy() async => {expression};"
    ))
}

const EXAMPLE: &str = "import 'package:my_app/src/schemas/tasks.dart';
import 'package:zonai_schema/zonai_schema.dart';

final class TaskRateLimits extends TableRateLimits<TaskTable, Task> {
  TaskRateLimits() : super(tasks);

  @override
  Future<RateLimitPolicy?> createPolicy() async =>
      const RateLimitPolicy(maxRequests: 10, window: Duration(minutes: 1));
}

TaskRateLimits main() => TaskRateLimits();
";

#[test]
fn a_policy_file_works_as_it_is() {
    let stated = good(EXAMPLE);
    let (kind, table, _, limits) = shape(&stated);
    assert_eq!((kind, table.as_str()), (Kind::Table, "tasks"));
    assert_eq!(limits, BTreeMap::from([("create".into(), "10/1m".into())]));
    assert_eq!(place(&stated.limits.origin), "t.dart:4:13");
    let create = &stated.limits.operations[&zonai_limit::Operation::Create];
    assert_eq!(place(&create.origin), "t.dart:8:28");
}

#[test]
fn every_method_sets_its_operation() {
    let policy = "async => const RateLimitPolicy(maxRequests: 1, window: Duration(seconds: 1));";
    let members = |names: &[&str]| {
        names
            .iter()
            .map(|n| format!("  p {n}() {policy}\n"))
            .collect::<String>()
    };
    let all = limits(&class(&members(&[
        "getPolicy",
        "limitPolicy",
        "countPolicy",
        "createPolicy",
        "updatePolicy",
        "deletePolicy",
    ])));
    assert_eq!(
        all.keys().collect::<Vec<_>>(),
        ["count", "create", "delete", "get", "list", "update"]
    );
    let stated = good(&auth_class(&members(&[
        "signInPolicy",
        "signUpPolicy",
        "failedSignInPolicy",
        "authenticatePolicy",
        "sendOtpPolicy",
        "sendMagicLinkPolicy",
        "sendResetPasswordPolicy",
        "sendVerifyEmailPolicy",
    ])));
    assert_eq!(stated.kind, Kind::Auth);
    assert_eq!(stated.limits.operations.len(), 8);
}

#[test]
fn constants_are_read_in_every_spelling() {
    for (expression, meant) in [
        ("null", "none"),
        (".defaultPolicy", "100/1m"),
        ("RateLimitPolicy.defaultPolicy", "100/1m"),
        (
            "RateLimitPolicy(window: Duration(minutes: 1), maxRequests: 0)",
            "0/1m",
        ),
        (
            "new RateLimitPolicy(maxRequests: 4294967295, window: const Duration(days: 366))",
            "4294967295/366d",
        ),
        (
            "RateLimitPolicy(maxRequests: 1_000, window: Duration(hours: 1, minutes: 30, seconds: 15))",
            "1000/5415s",
        ),
        (
            "RateLimitPolicy(maxRequests: 0x10, window: Duration(milliseconds: 1, microseconds: 2000),)",
            "16/3ms",
        ),
        (
            "RateLimitPolicy(maxRequests: 2 * 5, window: Duration(seconds: 60 * 60 * 24))",
            "10/1d",
        ),
        (
            "RateLimitPolicy(maxRequests: 1, window: Duration(minutes: 1, seconds: -30))",
            "1/30s",
        ),
        (
            "Future.value(RateLimitPolicy(maxRequests: 1, window: Duration(minutes: 1)))",
            "1/1m",
        ),
        ("Future<RateLimitPolicy?>.value(null)", "none"),
    ] {
        assert_eq!(limits(&create(expression))["create"], meant, "{expression}");
    }
    let block = class("  f createPolicy() async {\n    // why\n    return null;\n  }");
    assert_eq!(limits(&block)["create"], "none");
}

#[test]
fn a_switch_over_the_name_is_read_as_expression_and_as_statement() {
    let policy = |n| format!("RateLimitPolicy(maxRequests: {n}, window: Duration(minutes: 1))");
    let expression = class(&format!(
        "  f customPolicy(String? operation) async => switch (operation) {{\n    'fill' || 'archive' => {},\n    \
         null => {},\n    _ => {},\n  }};",
        policy(1),
        policy(2),
        policy(3)
    ));
    let meant: Vec<(String, String)> = [
        ("custom", "3/1m"),
        ("custom:archive", "1/1m"),
        ("custom:fill", "1/1m"),
    ]
    .map(|(a, b)| (a.into(), b.into()))
    .into();
    assert_eq!(limits(&expression).into_iter().collect::<Vec<_>>(), meant);
    let statement = class(&format!(
        "  f customPolicy(String? name) async {{\n    switch (name) {{\n      case 'fill':\n      case \"archive\":\n        \
         return {};\n      case null: {{ return {}; }}\n      default:\n        return {};\n    }}\n  }}",
        policy(1),
        policy(2),
        policy(3)
    ));
    assert_eq!(limits(&statement).into_iter().collect::<Vec<_>>(), meant);
    let after = class(&format!(
        "  f customPolicy(String? name) async {{\n    switch (name) {{\n      case 'fill':\n        return {};\n    }}\n    return null;\n  }}",
        policy(1)
    ));
    assert_eq!(limits(&after)["custom"], "none");
    let plain = class(&format!(
        "  f customPolicy(String? operation) async => {};",
        policy(7)
    ));
    assert_eq!(limits(&plain)["custom"], "7/1m");
    let stated = good(&expression);
    assert_eq!(
        place(&stated.limits.custom["archive"].origin),
        "t.dart:4:15"
    );
}

#[test]
fn where_names_cannot_be_validated_the_null_case_applies() {
    let mut tables = tables();
    tables.insert(
        "tasks",
        TableFacts {
            auth: false,
            operations: CustomNames::Open,
        },
    );
    let text = class(
        "  f customPolicy(String? o) async => switch (o) { null => null, _ => .defaultPolicy };",
    );
    let (stated, faults) = read_dart(&Source::new("t.dart", text), &tables);
    assert!(faults.is_empty());
    assert_eq!(shape(&stated[0]).3["custom"], "none");
}

#[test]
fn tables_are_found_by_name_camel_case_and_prefix() {
    for (written, table) in [
        ("tasks", "tasks"),
        ("userProfiles", "user_profiles"),
        ("schema.notes", "notes"),
    ] {
        let stated = good(&class("").replace("super(tasks)", &format!("super({written})")));
        assert_eq!(stated.limits.table, table);
        assert!(stated.limits.operations.is_empty());
    }
}

/// Members of the class (or, with `class` in them, a whole file), and what is said of them.
const FAULTS: &[(&str, &str)] = &[
    (
        "  f creatPolicy() async => null;",
        "3:5: unknown method `creatPolicy`; did you mean `createPolicy`?",
    ),
    (
        "  f listPolicy() async => null;",
        "3:5: unknown method `listPolicy`; did you mean `limitPolicy`?",
    ),
    (
        "  f signInPolicy() async => null;",
        "3:5: `signInPolicy` is a method of `AuthTableRateLimits`",
    ),
    (
        "  f confirmPolicy() async => null;",
        "3:5: `confirm` is counted in a shared bucket and cannot be set for a table; set it under `rateLimit.shared` in zonai.yaml",
    ),
    (
        "  f getPolicy() async => null;\n  f getPolicy() async => null;",
        "4:5: the method `getPolicy` stands twice",
    ),
    (
        "  static f getPolicy() async => null;",
        "3:12: a `static` method is never asked for a policy",
    ),
    (
        "  f getPolicy(int x) async => null;",
        "3:15: `getPolicy` takes no parameters",
    ),
    (
        "  f getPolicy() async* { yield null; }",
        "3:17: a generator (`async*`) is not understood here",
    ),
    (
        "  f getPolicy() async {}",
        "3:23: an empty block returns nothing; return `null` for no limit",
    ),
    (
        "  f getPolicy() async { if (a) return null; return null; }",
        "3:25: an `if` statement is not understood here; the method only returns a constant",
    ),
    (
        "  f getPolicy() async { return null; return null; }",
        "3:38: nothing may stand after `return`",
    ),
    (
        "  final int x = 1;",
        "3:9: a field is not understood here; the class holds its constructor and policy methods",
    ),
    (
        "  int get x => 1;",
        "3:3: a getter is not understood here; the class holds its constructor and policy methods",
    ),
    (
        "  A.other() : super(tasks);",
        "3:3: a second constructor, or one with a body is not understood here; the class holds its constructor and policy methods",
    ),
    (
        "  factory A.f() => A();",
        "3:3: a factory constructor is not understood here; the class holds its constructor and policy methods",
    ),
    (
        "  f getPolicy();",
        "3:3: a method without a body is not understood here; the class holds its constructor and policy methods",
    ),
    (
        "  f customPolicy() async => null;",
        "3:5: `customPolicy` takes one parameter, the operation's name; write `customPolicy(String? operation)`",
    ),
    (
        "  f customPolicy(String? o) async => switch (o) { 'fil' => null, _ => null };",
        "3:51: unknown custom operation `fil`; did you mean `fill`?",
    ),
    (
        "  f customPolicy(String? o) async => switch (o) { 'fill' => null };",
        "3:29: the `switch` leaves other names open; add `_ => .defaultPolicy` (or `default: return …;`) for all other names",
    ),
    (
        "  f customPolicy(String? o) async => switch (o) { 'fill' when x => null, _ => null };",
        "3:51: a condition beside a case is not understood here; a case is one name, several with `||`, `null` or `_`",
    ),
    (
        "  f customPolicy(String? o) async => switch (o) { _ => null, 'fill' => null };",
        "3:62: this case is never reached: an earlier one takes what it takes",
    ),
    (
        "  f customPolicy(String? o) async => switch (o) { 'fill' => null, 'fill' => null, _ => null };",
        "3:67: this case is never reached: an earlier one takes what it takes",
    ),
    (
        "  f customPolicy(String? o) async => switch (o) { fill => null, _ => null };",
        "3:51: the name `fill` is not understood here; a case is a plain string, `null` or `_`",
    ),
    (
        "  f customPolicy(String? o) async => switch (o) { 'fi$x' => null, _ => null };",
        "3:51: a string is not understood here; a case is a plain string, `null` or `_`",
    ),
    (
        "  f customPolicy(String? o) async => switch (x) { _ => null };",
        "3:46: the name `x` is not understood here; the `switch` is over `o`",
    ),
    (
        "  f customPolicy(String? o) async { switch (o) { case 'fill': break; default: return null; } }",
        "3:63: `break` is not understood here; each case only returns a constant",
    ),
    (
        "  f getPolicy() async => switch (x) { _ => null };",
        "3:26: a `switch` is not understood here; write `const RateLimitPolicy(maxRequests: 10, window: Duration(minutes: 1))`, `.defaultPolicy` or `null`",
    ),
    (
        "class A extends TableRateLimits { A() : super(tasks); }",
        "1:1: `main()` is missing; end the file with `MyRateLimits main() => MyRateLimits();`",
    ),
    (
        "A main() => A();",
        "1:1: the file has no class; write a class that extends `TableRateLimits` or `AuthTableRateLimits`|1:13: `main()` returns `A`, which is no class of this file",
    ),
    (
        "class A extends TableRateLimits { A() : super(taks); }\nA main() => A();",
        "1:47: unknown table `taks`; did you mean `tasks`?",
    ),
    (
        "class A extends AuthTableRateLimits { A() : super(tasks); }\nA main() => A();",
        "1:51: the table `tasks` has no accounts; list it with `auth` under `app.tables` in zonai.yaml, or leave this out",
    ),
    (
        "class A extends TableRateLimit { A() : super(tasks); }\nA main() => A();",
        "1:17: the class extends `TableRateLimit`, which is no class of policies; did you mean `TableRateLimits`?",
    ),
    (
        "class A extends TableRateLimits with M { A() : super(tasks); }\nA main() => A();",
        "1:33: `with` is not understood here; the class only extends `TableRateLimits` or `AuthTableRateLimits`",
    ),
    (
        "class A extends TableRateLimits { }\nA main() => A();",
        "1:7: the class has no constructor that names its table; such as `TaskRateLimits() : super(tasks);`",
    ),
    (
        "class A extends TableRateLimits { A() : super('tasks'); }\nA main() => A();",
        "1:47: a string is not understood here; such as `TaskRateLimits() : super(tasks);`",
    ),
    (
        "class A extends TableRateLimits { A(); }\nA main() => A();",
        "1:35: the constructor must only call `super(table)`; such as `TaskRateLimits() : super(tasks);`",
    ),
    (
        "class A extends TableRateLimits { A(int x) : super(tasks); }\nA main() => A();",
        "1:35: a constructor with a name or parameters is not understood here; such as `TaskRateLimits() : super(tasks);`",
    ),
    (
        "class A extends TableRateLimits { A() : super(tasks); }\nclass B extends TableRateLimits { B() : super(notes); }\nA main() => A();",
        "2:7: `main()` does not return the class `B`",
    ),
    (
        "final x = 1;\nclass A extends TableRateLimits { A() : super(tasks); }\nA main() => A();",
        "1:1: a top-level variable is not understood here; a policy file holds imports, one class and `main()`",
    ),
    (
        "class A extends TableRateLimits { A() : super(tasks); }\nmain() => [A()];",
        "2:11: a list is not understood here; such as `MyRateLimits main() => MyRateLimits();`",
    ),
    (
        "abstract class A extends TableRateLimits { A() : super(tasks); }\nA main() => A();",
        "1:16: the class is `abstract` and cannot be returned by `main()`",
    ),
];

#[test]
fn anything_else_is_named_with_its_place() {
    let mut wrong = Vec::new();
    for (text, expected) in FAULTS {
        let text = if text.contains("class ") || text.starts_with("A main") {
            (*text).to_owned()
        } else {
            class(text)
        };
        let (stated, told) = read(&text);
        let expected: Vec<String> = expected
            .split("|1:")
            .enumerate()
            .map(|(i, e)| {
                if i == 0 {
                    format!("t.dart:{e}")
                } else {
                    format!("t.dart:1:{e}")
                }
            })
            .collect();
        if told != expected || !stated.is_empty() {
            wrong.push(format!("{text}\n  told {told:#?}\n  not {expected:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_expression_that_is_no_constant_is_named() {
    let mut wrong = Vec::new();
    let form = "write `const RateLimitPolicy(maxRequests: 10, window: Duration(minutes: 1))`, `.defaultPolicy` or `null`";
    for (expression, says) in [
        ("limited", format!("3:52: the name `limited` is not understood here; {form}")),
        ("a ? null : null", format!("3:52: a conditional expression (`? :`) is not understood here; {form}")),
        ("await load()", format!("3:52: `await` is not understood here; {form}")),
        ("RateLimitPolicy.perMinute(10)", format!("3:52: a call of `RateLimitPolicy.perMinute` is not understood here; {form}")),
        ("super.createPolicy()", format!("3:52: a call of `super.createPolicy` is not understood here; {form}")),
        ("RateLimitPolicy(maxRequests: 10)", format!("3:52: `window` is missing; {form}")),
        ("RateLimitPolicy(10, window: Duration(minutes: 1))", "3:68: a decimal integer literal (`10`) is not understood here; named arguments: maxRequests, window".into()),
        ("RateLimitPolicy(maxRequests: -1, window: Duration(minutes: 1))", "3:81: `maxRequests` must be a whole number from 0 to 4294967295".into()),
        ("RateLimitPolicy(maxRequests: 9223372036854775808, window: Duration(minutes: 1))", "3:81: `9223372036854775808` is too large".into()),
        ("RateLimitPolicy(maxRequests: 1.5, window: Duration(minutes: 1))", "3:81: a number with a fraction is not understood here; write a whole number".into()),
        ("RateLimitPolicy(maxRequests: 1 + 1, window: Duration(minutes: 1))", "3:81: arithmetic is not understood here; write a whole number".into()),
        ("RateLimitPolicy(maxRequests: n, window: Duration(minutes: 1))", "3:81: the name `n` is not understood here; write a whole number".into()),
        ("RateLimitPolicy(maxRequests: 1, window: Duration())", "3:92: the window must be at least 1 ms".into()),
        ("RateLimitPolicy(maxRequests: 1, window: Duration(minutes: -1))", "3:92: the window must be at least 1 ms".into()),
        ("RateLimitPolicy(maxRequests: 1, window: Duration(microseconds: 1500))", "3:92: the window must be a whole number of milliseconds".into()),
        ("RateLimitPolicy(maxRequests: 1, window: Duration(days: 367))", "3:92: the window must be at most 366 days".into()),
        ("RateLimitPolicy(maxRequests: 1, window: Duration(days: 9223372036854775807))", "3:92: the window must be at most 366 days".into()),
        ("RateLimitPolicy(maxRequests: 1, window: Duration(minute: 1))", "3:101: unknown argument `minute`; did you mean `minutes`?".into()),
        ("RateLimitPolicy(maxRequests: 1, windowMS: 1)", "3:84: unknown argument `windowMS`; did you mean `window`?".into()),
        ("RateLimitPolicy(maxRequests: 1, window: Duration.zero)", "3:92: `Duration.zero` is not understood here; write `Duration(minutes: 1)`".into()),
        ("RateLimitPolicy(maxRequests: 1, maxRequests: 1, window: Duration(minutes: 1))", "3:84: the argument `maxRequests` stands twice".into()),
    ] {
        let (_, told) = read(&create(expression));
        if told != [format!("t.dart:{says}")] {
            wrong.push(format!("{expression}\n  told {told:#?}\n  not {says}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_fault_ends_with_its_line_whatever_ends_the_line() {
    for end in ["\n", "\r\n", "\r"] {
        for text in [
            format!("class A {end}B{end}extends {{{end}"),
            // What is missing stands behind the comment, and that takes the `\r` for its own.
            format!("class A extends B'c => d// e{end}"),
        ] {
            let source = Source::new("t.dart", text);
            let (_, faults) = read_dart(&source, &tables());
            assert!(!faults.is_empty());
            for fault in faults {
                let line = source.line(fault.line).chars().count();
                let ends = fault.column as usize + fault.length as usize;
                assert!(ends <= line + 1, "{end:?}: {fault:?}");
            }
        }
    }
}

#[test]
fn broken_syntax_is_told_with_its_place() {
    let (stated, told) =
        read("class A extends TableRateLimits {\n  A( : super(tasks);\n}\nA main() => A();\n");
    assert!(stated.is_empty());
    assert!(
        !told.is_empty() && told[0].contains("this is not Dart"),
        "{told:?}"
    );
    assert!(told[0].starts_with("t.dart:2:"), "{told:?}");
    let (_, told) = read(&create(""));
    assert_eq!(told, ["t.dart:3:51: this is not Dart: a name is missing"]);
    let (_, told) = read("");
    assert_eq!(told.len(), 2, "{told:?}");
}

#[test]
fn a_deep_long_or_tangled_file_is_refused_in_bounded_time() {
    let product = |factors| {
        create(&format!(
            "RateLimitPolicy(maxRequests: {}1, window: Duration(minutes: 1))",
            "1 * ".repeat(factors)
        ))
    };
    assert_eq!(read(&product(15)).1, [""; 0]);
    assert_eq!(read(&product(3_000)).1.len(), 1);
    assert_eq!(
        read(&product(5_000)).1,
        ["t.dart:1:1: is larger than 16384 bytes, the most a Dart file may have"]
    );
    let deep = create(&"(".repeat(5_000));
    assert_eq!(
        read(&deep).1,
        ["t.dart:3:115: more than 64 brackets are open here"]
    );
    for tangled in [
        "a<",
        "@a(b)",
        "f() => switch (a) { b when c => ",
        "f() => a ? b : ",
        "f() => a(b<c)>,",
    ] {
        let (stated, told) = read(&tangled.repeat(100));
        assert!(stated.is_empty() && !told.is_empty(), "{tangled}");
    }
}
