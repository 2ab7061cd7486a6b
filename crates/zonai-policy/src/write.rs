//! Limits back into the text of a policy file, for `zonai limits convert`.
//!
//! Must never write what the reader would read otherwise.

use std::fmt::Write as _;

use zonai_limit::{Kind, Limit, Mode, Operation, TableLimits};

use crate::limit::write_policy;

/// The YAML of one registration: what [`crate::read_yaml`] reads as the same limits.
#[must_use]
pub fn to_yaml(limits: &TableLimits, kind: Kind) -> String {
    let mut out = format!("table: {}\n", word(&limits.table));
    if limits.mode == Mode::Observe {
        out.push_str("mode: observe\n");
    }
    let (section, operations): (_, &[Operation]) = match kind {
        Kind::Table => ("limits", &Operation::TABLE),
        Kind::Auth => ("auth", &Operation::AUTH),
    };
    let written = operations
        .iter()
        .filter_map(|operation| Some((*operation, limits.operations.get(operation)?)));
    let mut lines = String::new();
    for (operation, limit) in written {
        let name = operation.name();
        if operation == Operation::Custom {
            continue;
        }
        let _ = writeln!(
            lines,
            "  {name}: {}",
            value(limit, inherited(operation, limits))
        );
    }
    lines.push_str(&custom(limits));
    let _ = if lines.is_empty() {
        writeln!(out, "{section}: {{}}")
    } else {
        write!(out, "{section}:\n{lines}")
    };
    out
}

/// One limit for all custom operations where that can be said in a word, else a limit for each name.
fn custom(limits: &TableLimits) -> String {
    let other = limits.operations.get(&Operation::Custom);
    match other {
        None if limits.custom.is_empty() => return String::new(),
        Some(limit)
            if limits.custom.is_empty()
                && (limit.mode == limits.mode || limit.windows.is_empty()) =>
        {
            return format!("  custom: {}\n", value(limit, limits.mode));
        }
        _ => {}
    }
    let mut lines = String::from("  custom:\n");
    for (name, limit) in &limits.custom {
        let _ = writeln!(lines, "    {}: {}", word(name), value(limit, limits.mode));
    }
    if let Some(limit) = other {
        let _ = writeln!(lines, "    default: {}", value(limit, limits.mode));
    }
    lines
}

/// The mode that the reader gives an operation which says none.
fn inherited(operation: Operation, limits: &TableLimits) -> Mode {
    if operation == Operation::FailedSignIn {
        Mode::Enforce
    } else {
        limits.mode
    }
}

fn value(limit: &Limit, inherited: Mode) -> String {
    let windows: Vec<String> = limit
        .windows
        .iter()
        .map(|window| write_policy(*window))
        .collect();
    let plain = match windows.as_slice() {
        // A mode has no meaning here.
        [] => return "none".to_owned(),
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    match limit.mode {
        mode if mode == inherited => plain,
        Mode::Observe => format!("{{limit: {plain}, mode: observe}}"),
        Mode::Enforce => format!("{{limit: {plain}, mode: enforce}}"),
    }
}

/// A name, in quotes where YAML would read it otherwise.
fn word(name: &str) -> String {
    let simple = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let reserved = ["null", "true", "false", "yes", "no", "on", "off", "y", "n"];
    if simple && !reserved.contains(&name.to_ascii_lowercase().as_str()) {
        return name.to_owned();
    }
    let mut quoted = String::from("\"");
    for letter in name.chars() {
        match letter {
            '"' | '\\' => {
                quoted.push('\\');
                quoted.push(letter);
            }
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                let _ = write!(quoted, "\\U{:08x}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
