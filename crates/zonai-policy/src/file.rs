//! A policy file in YAML: `table`, `mode`, `limits`, `auth`.
//!
//! Must never ignore what stands in the file, nor stop at the first fault.

use std::collections::BTreeMap;

use zonai_limit::{Kind, Limit, Mode, Operation, Shared, TableLimits};

use crate::diagnostic::quote;
use crate::limit::{LimitContext, read_limit, read_mode};
use crate::tables::{CustomNames, TableFacts, Tables};
use crate::yaml::{self, Entry, Map, Value};
use crate::{Diagnostic, Faults, Source, Span};

/// The limits that one file states for one table: its `/db` traffic, or its auth routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    /// Which of the table's two registrations.
    pub kind: Kind,
    /// The limits.
    pub limits: TableLimits,
}

/// Reads one policy file in YAML. Where there are faults, the registrations are not to be used.
#[must_use]
pub fn read_yaml(source: &Source, tables: &Tables) -> (Vec<Stated>, Vec<Diagnostic>) {
    let mut faults = Faults::new(source);
    let stated = yaml::parse(&mut faults)
        .map(|root| document(&root, tables, &mut faults))
        .unwrap_or_default();
    (stated, faults.into_list())
}

/// Finds the table of that name, or adds a fault with the nearest.
pub(crate) fn known_table<'t>(
    name: &str,
    span: Span,
    tables: &'t Tables,
    faults: &mut Faults<'_>,
) -> Option<&'t TableFacts> {
    let found = tables.get(name);
    if found.is_none() {
        if Shared::ALL.iter().any(|shared| shared.name() == name) {
            let message = format!("{} is no table but a shared bucket", quote(name));
            faults.at_with_help(
                span,
                message,
                "set its limits under `rateLimit.shared` in zonai.yaml",
            );
        } else {
            faults.unknown(span, "table", name, tables.names());
        }
    }
    found
}

/// Says that an account operation was stated for a table without accounts.
pub(crate) fn no_auth_table(name: &str, span: Span, faults: &mut Faults<'_>) {
    faults.at_with_help(
        span,
        format!("the table {} has no accounts", quote(name)),
        "list it with `auth` under `app.tables` in zonai.yaml, or leave this out",
    );
}

/// Whether a custom operation of that name may have a limit; else a fault with the nearest.
pub(crate) fn check_custom(
    name: &str,
    span: Span,
    facts: Option<&TableFacts>,
    faults: &mut Faults<'_>,
) {
    match facts.map(|facts| &facts.operations) {
        _ if name == "default" => faults.at_with_help(
            span,
            "`default` means all other names, so an operation of that name has no limit of its own",
            "rename the operation",
        ),
        None => {}
        Some(CustomNames::Open) => faults.at_with_help(
            span,
            format!("the names of this table's custom operations are not known, so {} cannot have a limit of its own", quote(name)),
            "`default` applies to all of them",
        ),
        Some(CustomNames::Known(names)) if names.contains(name) => {}
        Some(CustomNames::Known(_)) if ["maxRequests", "max_requests", "window", "limit", "mode"].contains(&name) => {
            faults.at_with_help(
                span,
                format!("`custom` holds names of custom operations; {name} is none"),
                "write `default: {maxRequests: 10, window: 1m}` for all of them",
            );
        }
        Some(CustomNames::Known(names)) => {
            let known = names.iter().map(String::as_str).chain(["default"]);
            faults.unknown(span, "custom operation", name, known);
        }
    }
}

const KEYS: [&str; 4] = ["table", "mode", "limits", "auth"];

fn document(root: &yaml::Node, tables: &Tables, faults: &mut Faults<'_>) -> Vec<Stated> {
    let Some(map) = root.expect_map("a policy file", faults) else {
        return Vec::new();
    };
    check_keys(map, faults);
    let name = match map.get("table") {
        Some(entry) => entry
            .value
            .expect_str("`table`", faults)
            .map(|name| (name, entry.value.span)),
        None => {
            faults.at_with_help(
                root.span,
                "the key `table` is missing",
                "say which table the limits are for",
            );
            None
        }
    };
    let facts = name.and_then(|(name, span)| known_table(name, span, tables, faults));
    let mode = map
        .get("mode")
        .and_then(|entry| read_mode(&entry.value, faults))
        .unwrap_or_default();
    if map.get("limits").is_none() && map.get("auth").is_none() {
        faults.at_with_help(
            map.entries
                .first()
                .map_or(root.span, |entry| entry.key_span),
            "the file states no limits",
            "add `limits:` or `auth:`, which may be empty",
        );
    }
    let section = Section {
        table: name.map_or("", |(name, _)| name),
        facts,
        mode,
    };
    let mut stated = Vec::new();
    stated.extend(
        map.get("limits")
            .and_then(|entry| section.read(Kind::Table, entry, faults)),
    );
    if let Some(entry) = map.get("auth") {
        if facts.is_some_and(|facts| !facts.auth) {
            no_auth_table(section.table, entry.key_span, faults);
        }
        stated.extend(section.read(Kind::Auth, entry, faults));
    }
    stated
}

/// A fault for every key that is none, and a hint where it only stands in the wrong place.
fn check_keys(map: &Map, faults: &mut Faults<'_>) {
    for entry in &map.entries {
        if KEYS.contains(&entry.key.as_str()) {
            continue;
        }
        match Operation::from_name(&entry.key) {
            Some(operation)
                if Operation::TABLE.contains(&operation)
                    || Operation::AUTH.contains(&operation) =>
            {
                misplaced(entry, operation, faults);
            }
            _ => faults.unknown(entry.key_span, "key", &entry.key, KEYS),
        }
    }
}

/// What the two sections of a file have in common.
struct Section<'a> {
    table: &'a str,
    facts: Option<&'a TableFacts>,
    mode: Mode,
}

impl Section<'_> {
    fn read(&self, kind: Kind, section: &Entry, faults: &mut Faults<'_>) -> Option<Stated> {
        let mut limits = TableLimits {
            table: self.table.to_owned(),
            origin: faults.source().origin(section.key_span),
            operations: BTreeMap::new(),
            custom: BTreeMap::new(),
            mode: self.mode,
        };
        if !section.value.is_null() {
            let map = section.value.expect_map(&quote(&section.key), faults)?;
            for entry in &map.entries {
                self.operation(kind, entry, &mut limits, faults);
            }
        }
        enforce_failed_sign_in(kind, &mut limits);
        Some(Stated { kind, limits })
    }

    fn operation(
        &self,
        kind: Kind,
        entry: &Entry,
        limits: &mut TableLimits,
        faults: &mut Faults<'_>,
    ) {
        let known: &[Operation] = match kind {
            Kind::Table => &Operation::TABLE,
            Kind::Auth => &Operation::AUTH,
        };
        match Operation::from_name(&entry.key) {
            Some(Operation::Custom) if kind == Kind::Table => self.custom(entry, limits, faults),
            Some(operation) if known.contains(&operation) => {
                let context = LimitContext::of(operation, self.mode);
                if let Some(limit) = read_limit(entry, context, faults) {
                    limits.operations.insert(operation, limit);
                }
            }
            Some(operation) if operation != Operation::Stream => {
                misplaced(entry, operation, faults)
            }
            _ => faults.unknown(
                entry.key_span,
                "operation",
                &entry.key,
                known.iter().map(|o| o.name()),
            ),
        }
    }

    /// `custom: {fill: 20/1m, default: 60/1m}`, or one limit for all of them.
    fn custom(&self, entry: &Entry, limits: &mut TableLimits, faults: &mut Faults<'_>) {
        let context = LimitContext::of(Operation::Custom, self.mode);
        let Value::Map(map) = &entry.value.value else {
            if let Some(limit) = read_limit(entry, context, faults) {
                limits.operations.insert(Operation::Custom, limit);
            }
            return;
        };
        self.custom_names(map, context, limits, faults);
    }

    fn custom_names(
        &self,
        map: &Map,
        context: LimitContext,
        limits: &mut TableLimits,
        faults: &mut Faults<'_>,
    ) {
        for entry in &map.entries {
            if entry.key == "default" {
                if let Some(limit) = read_limit(entry, context, faults) {
                    limits.operations.insert(Operation::Custom, limit);
                }
                continue;
            }
            let before = faults.len();
            check_custom(&entry.key, entry.key_span, self.facts, faults);
            if faults.len() > before {
                continue;
            }
            // A name without a limit of its own has no default that everybody would expect.
            let context = LimitContext {
                default: None,
                ..context
            };
            if let Some(limit) = read_limit(entry, context, faults) {
                limits.custom.insert(entry.key.clone(), limit);
            }
        }
    }
}

/// A table-wide `mode: observe` leaves failed sign-ins enforced: said in the limits, so that nobody must know.
pub(crate) fn enforce_failed_sign_in(kind: Kind, limits: &mut TableLimits) {
    if kind == Kind::Auth && limits.mode == Mode::Observe {
        limits
            .operations
            .entry(Operation::FailedSignIn)
            .or_insert_with(|| Limit {
                windows: vec![Operation::FailedSignIn.default_policy()],
                mode: Mode::Enforce,
                origin: zonai_limit::Origin::Default,
            });
    }
}

/// An operation that exists, but not here.
fn misplaced(entry: &Entry, operation: Operation, faults: &mut Faults<'_>) {
    let name = operation.name();
    let (message, help) = if Operation::TABLE.contains(&operation) {
        (
            format!("`{name}` is no key here"),
            "it stands under `limits`",
        )
    } else if Operation::AUTH.contains(&operation) {
        (format!("`{name}` is no key here"), "it stands under `auth`")
    } else {
        let message =
            format!("`{name}` is counted in a shared bucket and cannot be set for a table");
        (message, "set it under `rateLimit.shared` in zonai.yaml")
    };
    faults.at_with_help(entry.key_span, message, help);
}
