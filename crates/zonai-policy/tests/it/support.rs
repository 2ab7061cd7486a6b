//! What the tests share: a schema, and short ways to read a text.

use std::collections::BTreeMap;

use zonai_limit::{Kind, Limit, Mode, Operation, Origin};
use zonai_policy::{Source, Stated, Tables, read_yaml};

/// `tasks` and `notes` are plain tables, `users` holds accounts.
pub(crate) fn tables() -> Tables {
    Tables::new()
        .with("tasks", &["fill", "archive"])
        .with("notes", &[])
        .with_auth("users", &["promote"])
}

/// The registrations of a YAML text that has no fault.
pub(crate) fn good(text: &str) -> Vec<Stated> {
    let (stated, faults) = read_yaml(&Source::new("p.yaml", text), &tables());
    assert!(faults.is_empty(), "{text}\n{faults:?}");
    stated
}

/// The faults of a YAML text, one line each.
pub(crate) fn faults(text: &str) -> Vec<String> {
    let (_, faults) = read_yaml(&Source::new("p.yaml", text), &tables());
    faults.iter().map(ToString::to_string).collect()
}

/// The windows and modes of one registration, as one would write them.
pub(crate) fn shape(stated: &Stated) -> (Kind, String, Mode, BTreeMap<String, String>) {
    let limits = &stated.limits;
    let named =
        |(operation, limit): (&Operation, &Limit)| (operation.name().to_owned(), written(limit));
    let mut all: BTreeMap<String, String> = limits.operations.iter().map(named).collect();
    all.extend(
        limits
            .custom
            .iter()
            .map(|(name, limit)| (format!("custom:{name}"), written(limit))),
    );
    (stated.kind, limits.table.clone(), limits.mode, all)
}

pub(crate) fn written(limit: &Limit) -> String {
    let windows: Vec<String> = limit
        .windows
        .iter()
        .map(|&w| zonai_policy::limit::write_policy(w))
        .collect();
    let observed = if limit.mode == Mode::Observe {
        " observed"
    } else {
        ""
    };
    format!(
        "{}{observed}",
        if windows.is_empty() {
            "none".to_owned()
        } else {
            windows.join(" + ")
        }
    )
}

pub(crate) fn place(origin: &Origin) -> String {
    origin.to_string()
}
