//! What must hold of every policy file that was read: of its faults, and of its limits where it has none.
//!
//! Must never look at what a file says; only at what the readers made of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use zonai_limit::limits::MAX_WINDOWS;
use zonai_limit::{
    Accounts, Counters, CustomNames, Kind, Known, KnownTable, Limit, Limiter, Mode, Operation, Origin,
    RateLimitPolicy, Registration,
};
use zonai_policy::diagnostic::MAX_FAULTS_PER_FILE;
use zonai_policy::{Diagnostic, Source, Stated, Tables, read_yaml, to_yaml};

/// A plain table with two operations, one with none, and one of accounts.
pub fn tables() -> Tables {
    Tables::new()
        .with("tasks", &["fill", "archive"])
        .with("notes", &[])
        .with_auth("users", &["promote"])
}

fn known() -> Known {
    let table = |name: &str, accounts, custom: &[&str]| KnownTable {
        name: name.to_owned(),
        accounts,
        custom: CustomNames::Registered(custom.iter().map(|&name| name.to_owned()).collect()),
    };
    Known {
        tables: vec![
            table("tasks", Accounts::None, &["fill", "archive"]),
            table("notes", Accounts::None, &[]),
            table("users", Accounts::Users, &["promote"]),
        ],
    }
}

/// Each fault is one line, has its place in the file, and can be shown.
pub fn check_faults(source: &Source, faults: &[Diagnostic]) {
    assert!(faults.len() <= MAX_FAULTS_PER_FILE + 1);
    assert!(faults.is_sorted_by_key(|fault| (fault.line, fault.column)));
    let lines = lines(source.text());
    for fault in faults {
        assert_eq!(fault.path, **source.path());
        let line = lines
            .get((fault.line as usize).wrapping_sub(1))
            .unwrap_or_else(|| panic!("line {} of {}: {fault:?}", fault.line, lines.len()));
        let characters = line.chars().count();
        let column = fault.column as usize;
        assert!(
            (1..=characters + 1).contains(&column),
            "{fault:?}: the line has {characters}"
        );
        assert!(
            column + fault.length as usize <= characters + 1,
            "{fault:?}: ends past the line's {characters}"
        );
        let shown = [fault.to_string(), fault.render(false)];
        let strange = |c: char| c.is_control() && c != '\n';
        assert!(
            shown.iter().all(|shown| !shown.contains(strange)),
            "{fault:?}"
        );
        assert!(!shown[0].contains('\n'), "{fault:?}");
        serde_json::to_string(fault).unwrap();
    }
}

/// Lines as editors count them: they end with `\n`, `\r\n` or `\r`.
fn lines(text: &str) -> Vec<String> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.split('\n').map(str::to_owned).collect()
}

/// What was read without a fault: the limiter takes it, every window is one, and written as YAML it means the same.
pub fn check_stated(source: &Source, stated: &[Stated]) {
    assert!(!stated.is_empty(), "neither limits nor faults");
    let end = lines(source.text()).len();
    for one in stated {
        let limits = &one.limits;
        let operations: &[Operation] = match one.kind {
            Kind::Table => &Operation::TABLE,
            Kind::Auth => &Operation::AUTH,
        };
        assert!(
            limits
                .operations
                .keys()
                .all(|operation| operations.contains(operation))
        );
        assert!(one.kind == Kind::Table || limits.custom.is_empty());
        let failed = limits.operations.get(&Operation::FailedSignIn);
        assert!(
            failed.is_none_or(|failed| failed.mode == Mode::Enforce),
            "only observed"
        );
        for limit in limits.operations.values().chain(limits.custom.values()) {
            check_limit(limit, end);
        }
    }
    let registrations = stated.iter().cloned();
    let registrations = registrations.map(|one| Registration::stated(one.kind, one.limits));
    let limiter = Limiter::new(
        Arc::new(Counters::new(16)),
        known(),
        registrations.collect(),
        Vec::new(),
    );
    if let Err(faults) = limiter {
        panic!("the limiter does not take it: {faults:?}");
    }
    for one in stated {
        let yaml = Source::new("w.yaml", to_yaml(&one.limits, one.kind));
        let (read, faults) = read_yaml(&yaml, &tables());
        assert!(faults.is_empty(), "{faults:?} in {}", yaml.text());
        assert_eq!(
            meaning(&read),
            meaning(std::slice::from_ref(one)),
            "{}",
            yaml.text()
        );
    }
}

fn check_limit(limit: &Limit, lines: usize) {
    assert!(limit.windows.len() <= MAX_WINDOWS);
    let lengths: BTreeSet<u64> = limit
        .windows
        .iter()
        .map(|window| window.window_ms())
        .collect();
    assert_eq!(lengths.len(), limit.windows.len(), "a window stands twice");
    for window in &limit.windows {
        let same = RateLimitPolicy::new(window.max_requests(), window.window());
        assert_eq!(same, Ok(*window));
    }
    if let Origin::File { line, column, .. } = &limit.origin {
        assert!((1..=lines).contains(&(*line as usize)) && *column >= 1);
    }
}

/// What limits mean, without where they were written: table, kind, and each limit by its name.
pub fn meaning(stated: &[Stated]) -> Vec<(String, Kind, BTreeMap<String, String>)> {
    let all = stated.iter().map(|one| {
        let limits = &one.limits;
        let named = limits
            .operations
            .iter()
            .map(|(operation, limit)| (operation.name().to_owned(), limit));
        let custom = limits
            .custom
            .iter()
            .map(|(name, limit)| (format!("custom:{name}"), limit));
        let mut each: BTreeMap<String, String> = named
            .chain(custom)
            .map(|(name, limit)| (name, written(limit)))
            .collect();
        // What is not said of custom operations has the default, written or not.
        if !limits.custom.is_empty() {
            let default = format!("{:?} {:?}", vec![(100, 60_000)], limits.mode);
            each.entry("custom".to_owned()).or_insert(default);
        }
        (limits.table.clone(), one.kind, each)
    });
    all.collect()
}

fn written(limit: &Limit) -> String {
    let windows: Vec<(u32, u64)> = limit
        .windows
        .iter()
        .map(|window| (window.max_requests(), window.window_ms()))
        .collect();
    if windows.is_empty() {
        return "none".to_owned();
    }
    format!("{windows:?} {:?}", limit.mode)
}
