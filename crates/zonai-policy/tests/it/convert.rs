//! Limits written as YAML mean what they meant before.

use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;
use zonai_limit::{Kind, Limit, Mode, Operation, Origin, RateLimitPolicy, TableLimits};
use zonai_policy::{CustomNames, Source, TableFacts, Tables, read_dart, read_yaml, to_yaml};

use crate::support::{shape, tables};

#[test]
fn a_dart_file_becomes_the_yaml_that_one_would_write() {
    let dart = "class A extends TableRateLimits {
  A() : super(tasks);
  f createPolicy() async => const RateLimitPolicy(maxRequests: 10, window: Duration(seconds: 60));
  f getPolicy() async => null;
  f customPolicy(String? o) async => switch (o) {
    'fill' => RateLimitPolicy(maxRequests: 20, window: Duration(minutes: 1)),
    _ => .defaultPolicy,
  };
}
A main() => A();
";
    let (stated, faults) = read_dart(&Source::new("t.dart", dart), &tables());
    assert!(faults.is_empty(), "{faults:?}");
    let yaml = to_yaml(&stated[0].limits, stated[0].kind);
    assert_eq!(
        yaml,
        "table: tasks\nlimits:\n  get: none\n  create: 10/1m\n  custom:\n    fill: 20/1m\n    default: 100/1m\n"
    );
}

fn limit() -> impl Strategy<Value = Limit> {
    let window = prop_oneof![
        1..31_622_400_000_u64,
        (1..366_u64).prop_map(|days| days * 86_400_000),
        1..100_u64
    ];
    let windows = proptest::collection::btree_map(window, any::<u32>(), 0..8);
    (windows, any::<bool>()).prop_map(|(windows, observe)| Limit {
        windows: windows
            .into_iter()
            .map(|(ms, max)| RateLimitPolicy::new(max, Duration::from_millis(ms)).unwrap())
            .collect(),
        mode: if observe {
            Mode::Observe
        } else {
            Mode::Enforce
        },
        origin: Origin::Default,
    })
}

fn table_limits(kind: Kind) -> impl Strategy<Value = TableLimits> {
    let operations: Vec<Operation> = match kind {
        Kind::Table => Operation::TABLE.to_vec(),
        Kind::Auth => Operation::AUTH.to_vec(),
    };
    let names = if kind == Kind::Table {
        0..4_usize
    } else {
        0..1
    };
    let operations =
        proptest::collection::btree_map(proptest::sample::select(operations), limit(), 0..8);
    let custom = proptest::collection::btree_map("\\PC{1,12}|true|[0-9]{1,3}", limit(), names);
    (
        "\\PC{1,12}|[a-z_]{1,9}|null|12",
        operations,
        custom,
        any::<bool>(),
    )
        .prop_map(move |(table, mut operations, custom, observe)| {
            if let Some(limit) = operations.get_mut(&Operation::FailedSignIn) {
                limit.mode = Mode::Enforce;
            }
            let mode = if observe {
                Mode::Observe
            } else {
                Mode::Enforce
            };
            TableLimits {
                table,
                origin: Origin::Default,
                operations,
                custom,
                mode,
            }
        })
}

/// Where there is no limit, its mode means nothing.
fn without_idle_modes(mut limits: BTreeMap<String, String>) -> BTreeMap<String, String> {
    limits.retain(|name, _| name != "custom:default");
    for limit in limits
        .values_mut()
        .filter(|limit| limit.starts_with("none"))
    {
        *limit = "none".to_owned();
    }
    limits
}

fn round_trip(limits: &TableLimits, kind: Kind) {
    let mut tables = Tables::new();
    let names = limits.custom.keys().cloned().collect();
    tables.insert(
        limits.table.clone(),
        TableFacts {
            auth: true,
            operations: CustomNames::Known(names),
        },
    );
    let yaml = to_yaml(limits, kind);
    let (stated, faults) = read_yaml(&Source::new("c.yaml", &yaml), &tables);
    assert!(faults.is_empty(), "{yaml}\n{faults:?}");
    let (read_kind, table, mode, read) = shape(&stated[0]);
    let written = zonai_policy::Stated {
        kind,
        limits: limits.clone(),
    };
    let (_, _, _, mut meant) = shape(&written);
    if kind == Kind::Auth && mode == Mode::Observe {
        meant
            .entry("failedSignIn".into())
            .or_insert("10/15m".into());
    }
    assert_eq!(
        (read_kind, table, mode),
        (kind, limits.table.clone(), limits.mode),
        "{yaml}"
    );
    assert_eq!(
        without_idle_modes(read),
        without_idle_modes(meant),
        "{yaml}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::default())]

    #[test]
    fn what_is_written_is_read_back(limits in table_limits(Kind::Table)) {
        round_trip(&limits, Kind::Table);
    }

    #[test]
    fn what_is_written_for_accounts_is_read_back(limits in table_limits(Kind::Auth)) {
        round_trip(&limits, Kind::Auth);
    }
}
