//! One policy file in YAML: every form it may have, and every fault it may hold.

use zonai_limit::{Kind, Mode};

use crate::support::{faults, good, place, shape, tables};

#[test]
fn the_documented_file_is_read() {
    let stated = good(
        "table: users\nlimits:\n  create: 10/1m\n  get: none\n  list: {maxRequests: 7, window: 30s}\n  \
         custom:\n    promote: 20/1m\n    default: 60/1m\nauth:\n  signIn: 10/15m\n  failedSignIn: 5/1h\n",
    );
    assert_eq!(stated.len(), 2);
    let (kind, table, mode, limits) = shape(&stated[0]);
    assert_eq!(
        (kind, table.as_str(), mode),
        (Kind::Table, "users", Mode::Enforce)
    );
    let limits: Vec<_> = limits
        .iter()
        .map(|(name, limit)| format!("{name} {limit}"))
        .collect();
    assert_eq!(
        limits,
        [
            "create 10/1m",
            "custom 60/1m",
            "custom:promote 20/1m",
            "get none",
            "list 7/30s"
        ]
    );
    let (kind, _, _, limits) = shape(&stated[1]);
    assert_eq!(kind, Kind::Auth);
    assert_eq!(limits["signIn"], "10/15m");
    assert_eq!(limits["failedSignIn"], "5/1h");
    assert_eq!(place(&stated[0].limits.origin), "p.yaml:2:1");
    assert_eq!(place(&stated[1].limits.origin), "p.yaml:9:1");
    let create = &stated[0].limits.operations[&zonai_limit::Operation::Create];
    assert_eq!(place(&create.origin), "p.yaml:3:3");
}

#[test]
fn several_windows_and_modes_are_read() {
    let stated = good(
        "table: tasks\nmode: observe\nlimits:\n  create: [10/1s, {maxRequests: 500, window: 1h}]\n  \
         update: {limit: [1/1s, 9/1m], mode: enforce}\n  get: {max_requests: 3, window: 1s, mode: enforce}\n  \
         delete: {limit: none}\n  count: {mode: enforce}\n  custom: 5/1m\n",
    );
    let (_, _, mode, limits) = shape(&stated[0]);
    assert_eq!(mode, Mode::Observe);
    let limits: Vec<_> = limits
        .iter()
        .map(|(name, limit)| format!("{name} {limit}"))
        .collect();
    assert_eq!(
        limits,
        [
            "count 100/1m",
            "create 10/1s + 500/1h observed",
            "custom 5/1m observed",
            "delete none observed",
            "get 3/1s",
            "update 1/1s + 9/1m",
        ]
    );
}

#[test]
fn failed_sign_ins_stay_enforced_when_a_table_is_observed() {
    let stated = good("table: users\nmode: observe\nauth:\n");
    let (_, _, _, limits) = shape(&stated[0]);
    assert_eq!(limits["failedSignIn"], "10/15m");
    let stated = good("table: users\nmode: observe\nauth: {failedSignIn: 3/1h}\n");
    assert_eq!(shape(&stated[0]).3["failedSignIn"], "3/1h");
    assert_eq!(
        faults("table: users\nauth:\n  failedSignIn: {limit: 3/1h, mode: observe}\n"),
        ["p.yaml:3:37: failed sign-ins are always refused past their limit, never only observed"]
    );
    let stated = good("table: users\nauth: {failedSignIn: none}\n");
    assert_eq!(shape(&stated[0]).3["failedSignIn"], "none");
}

#[test]
fn empty_sections_are_registrations_and_aliases_are_followed() {
    assert_eq!(good("table: notes\nlimits: {}\n").len(), 1);
    assert_eq!(good("table: notes\nlimits:\n").len(), 1);
    let stated = good(
        "table: tasks\nlimits:\n  create: &slow {maxRequests: 1, window: 1s}\n  update: *slow\n",
    );
    assert_eq!(shape(&stated[0]).3["update"], "1/1s");
}

/// What stands there, and the one line it is answered with.
const FAULTS: &[(&str, &str)] = &[
    (
        "tabel: tasks\nlimits: {}\n",
        "1:1: unknown key `tabel`; did you mean `table`?",
    ),
    (
        "table: taks\nlimits: {}\n",
        "1:8: unknown table `taks`; did you mean `tasks`?",
    ),
    (
        "table: 5\nlimits: {}\n",
        "1:8: `table` must be a text, not `5`; put it in quotes if it is meant as text",
    ),
    (
        "table: __auth_confirm__\nlimits: {}\n",
        "1:8: `__auth_confirm__` is no table but a shared bucket; set its limits under `rateLimit.shared` in zonai.yaml",
    ),
    (
        "table: tasks\n",
        "1:1: the file states no limits; add `limits:` or `auth:`, which may be empty",
    ),
    (
        "",
        "1:1: a policy file must be a map of keys and values, not nothing",
    ),
    (
        "- 1\n",
        "1:1: a policy file must be a map of keys and values, not a list",
    ),
    (
        "table: tasks\nlimits: 10/1m\n",
        "2:9: `limits` must be a map of keys and values, not `10/1m`",
    ),
    (
        "table: tasks\nauth: {}\n",
        "2:1: the table `tasks` has no accounts; list it with `auth` under `app.tables` in zonai.yaml, or leave this out",
    ),
    (
        "table: tasks\nmode: watch\nlimits: {}\n",
        "2:7: unknown mode `watch`; known: observe, enforce",
    ),
    (
        "table: tasks\nmode: obsrve\nlimits: {}\n",
        "2:7: unknown mode `obsrve`; did you mean `observe`?",
    ),
    (
        "table: tasks\ncreate: 10/1m\nlimits: {}\n",
        "2:1: `create` is no key here; it stands under `limits`",
    ),
    (
        "table: tasks\nlimits: {signIn: 10/1m}\n",
        "2:10: `signIn` is no key here; it stands under `auth`",
    ),
    (
        "table: users\nauth: {create: 10/1m}\n",
        "2:8: `create` is no key here; it stands under `limits`",
    ),
    (
        "table: users\nauth: {confirm: 10/1m}\n",
        "2:8: `confirm` is counted in a shared bucket and cannot be set for a table; set it under `rateLimit.shared` in zonai.yaml",
    ),
    (
        "table: users\nlimits: {logoutAll: 10/1m}\n",
        "2:10: `logoutAll` is counted in a shared bucket and cannot be set for a table; set it under `rateLimit.shared` in zonai.yaml",
    ),
    (
        "table: users\nauth: {adminAuthenticate: 10/1m}\n",
        "2:8: `adminAuthenticate` is counted in a shared bucket and cannot be set for a table; set it under `rateLimit.shared` in zonai.yaml",
    ),
    (
        "table: tasks\nlimits: {creat: 10/1m}\n",
        "2:10: unknown operation `creat`; did you mean `create`?",
    ),
    (
        "table: users\nauth: {sign_in: 10/1m}\n",
        "2:8: unknown operation `sign_in`; did you mean `signIn`?",
    ),
    (
        "table: tasks\nlimits:\n  create: 100/min\n",
        "3:11: `100/min` is no limit: a limit is a number of requests, a slash and a window, or `none`; write `100/1m`",
    ),
    (
        "table: tasks\nlimits: 100/min\n",
        "2:9: `limits` must be a map of keys and values, not `100/min`",
    ),
    (
        "table: tasks\nlimits:\n  create: -1/1m\n",
        "3:11: the number of requests must be a whole number from 0 to 4294967295, not `-1`",
    ),
    (
        "table: tasks\nlimits:\n  create: 10/0s\n",
        "3:11: the window must be at least 1 ms",
    ),
    (
        "table: tasks\nlimits:\n  create: 10/367d\n",
        "3:11: the window must be at most 366 days",
    ),
    (
        "table: tasks\nlimits:\n  create:\n",
        "3:3: `create` says no limit; write `10/1m`, or `none` for no limit",
    ),
    (
        "table: tasks\nlimits:\n  create: []\n",
        "3:11: an empty list is no limit; write `none` for no limit",
    ),
    (
        "table: tasks\nlimits:\n  create: [10/1m, none]\n",
        "3:19: `none` has no meaning beside other windows",
    ),
    (
        "table: tasks\nlimits:\n  create: [10/1m, 5/60s]\n",
        "3:19: the window 1m stands twice",
    ),
    (
        "table: tasks\nlimits:\n  create: [10/1m, [5/1h]]\n",
        "3:19: a list of windows holds limits such as `10/1s`, not lists",
    ),
    (
        "table: tasks\nlimits:\n  create: [1/1s, 1/2s, 1/3s, 1/4s, 1/5s, 1/6s, 1/7s, 1/8s, 1/9s]\n",
        "3:60: one operation may have at most 8 windows",
    ),
    (
        "table: tasks\nlimits:\n  create: {maxRequests: 10, windowMS: 60000}\n",
        "3:29: unknown key `windowMS`; did you mean `window`?",
    ),
    (
        "table: tasks\nlimits:\n  create: {maxRequests: 10, window: 60000}\n",
        "3:37: the window must be a whole number and a unit (ms, s, m, h or d), not `60000`; such as `1m` or `500ms`",
    ),
    (
        "table: tasks\nlimits:\n  create: {maxRequests: 10}\n",
        "3:11: `window` is missing; such as {maxRequests: 10, window: 1m}",
    ),
    (
        "table: tasks\nlimits:\n  create: {maxRequests: 1.5, window: 1m}\n",
        "3:25: `maxRequests` must be a whole number from 0 to 4294967295, not `1.5`",
    ),
    (
        "table: tasks\nlimits:\n  create: {maxRequests: 9223372036854775808, window: 1m}\n",
        "3:25: `maxRequests` must be a whole number from 0 to 4294967295, not `9223372036854775808`",
    ),
    (
        "table: tasks\nlimits:\n  create: {maxRequests: -1, window: 1m}\n",
        "3:25: `maxRequests` must be a whole number from 0 to 4294967295, not `-1`",
    ),
    (
        "table: tasks\nlimits:\n  create: {maxRequests: 1, max_requests: 2, window: 1m}\n",
        "3:28: `maxRequests` and `max_requests` are the same key; write one of them",
    ),
    (
        "table: tasks\nlimits:\n  create: {limit: 10/1m, window: 1m}\n",
        "3:26: `window` stands beside `limit`; write one of them",
    ),
    (
        "table: tasks\nlimits:\n  create: {limit: none, mode: observe}\n",
        "3:25: `mode` has no meaning where the limit is `none`",
    ),
    (
        "table: tasks\nlimits:\n  create: [{maxRequests: 1, window: 1m, mode: observe}]\n",
        "3:41: `mode` is set for the whole operation, beside `limit`",
    ),
    (
        "table: tasks\nlimits:\n  create: 10/1m\n  create: 5/1m\n",
        "4:3: the key `create` stands twice; first at line 3",
    ),
    (
        "table: tasks\nlimits: {}\nlimits: {}\n",
        "3:1: the key `limits` stands twice; first at line 2",
    ),
    (
        "table: tasks\nlimits:\n  custom: {fil: 1/1m}\n",
        "3:12: unknown custom operation `fil`; did you mean `fill`?",
    ),
    (
        "table: tasks\nlimits:\n  custom: {fill: {mode: observe}}\n",
        "3:18: `maxRequests` is missing; such as {maxRequests: 10, window: 1m}",
    ),
    (
        "table: tasks\nlimits:\n  custom: {maxRequests: 1}\n",
        "3:12: `custom` holds names of custom operations; maxRequests is none; write `default: {maxRequests: 10, window: 1m}` for all of them",
    ),
];

#[test]
fn every_fault_is_one_line_with_its_place() {
    let mut wrong = Vec::new();
    for (text, expected) in FAULTS {
        let told = faults(text);
        let mut expected = vec![format!("p.yaml:{expected}")];
        if text.starts_with("tabel") {
            expected.insert(
                0,
                "p.yaml:1:1: the key `table` is missing; say which table the limits are for".into(),
            );
        }
        if text.contains("fill: {mode") {
            expected.push(
                "p.yaml:3:18: `window` is missing; such as {maxRequests: 10, window: 1m}".into(),
            );
        }
        let mut told_sorted = told.clone();
        told_sorted.sort();
        expected.sort();
        if told_sorted != expected {
            wrong.push(format!(
                "{text}\n  told {told_sorted:#?}\n  not {expected:#?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn names_of_custom_operations_that_cannot_be_known_are_refused() {
    use zonai_policy::{CustomNames, Source, TableFacts, read_yaml};
    let mut tables = tables();
    tables.insert(
        "open",
        TableFacts {
            auth: false,
            operations: CustomNames::Open,
        },
    );
    let text = "table: open\nlimits:\n  custom: {fill: 1/1m, default: 2/1m}\n";
    let (_, faults) = read_yaml(&Source::new("p.yaml", text), &tables);
    assert_eq!(faults.len(), 1);
    assert!(
        faults[0].to_string().starts_with("p.yaml:3:12: the names"),
        "{}",
        faults[0]
    );
}

#[test]
fn broken_syntax_is_one_fault_with_its_place() {
    let told = faults("table: tasks\nlimits:\n  create: [10/1m\n");
    assert_eq!(told.len(), 1);
    assert!(
        told[0].starts_with("p.yaml:3:11: this is not YAML: "),
        "{told:?}"
    );
}

#[test]
fn shared_buckets_use_the_same_reader() {
    use zonai_policy::{Faults, Source, read_shared, yaml};
    let source = Source::new(
        "zonai.yaml",
        "confirm: 5/1m\nadminAuthenticate: [3/1m, 9/1h]\nsignIn: 1/1m\nlogot: none\n",
    );
    let mut faults = Faults::new(&source);
    let root = yaml::parse(&mut faults).unwrap();
    let limits = read_shared(&root, &mut faults);
    let shown: Vec<_> = limits
        .iter()
        .map(|(o, l)| format!("{} {}", o.name(), crate::support::written(l)))
        .collect();
    assert_eq!(shown, ["confirm 5/1m", "adminAuthenticate 3/1m + 9/1h"]);
    let told: Vec<String> = faults.into_list().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "zonai.yaml:3:1: `signIn` is no operation of a shared bucket; it is set per table, in a policy file",
            "zonai.yaml:4:1: unknown operation `logot`; did you mean `logout`?",
        ]
    );
}
