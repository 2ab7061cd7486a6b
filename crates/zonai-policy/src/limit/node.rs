//! One limit as a YAML node: a text, a map, or a list of windows; with or without a mode.
//!
//! Must never drop a part: whatever stands in the node is in the limit or in a fault.

use zonai_limit::limits::MAX_WINDOWS;
use zonai_limit::{Limit, Mode, Operation, RateLimitPolicy, Shared};

use super::{LimitError, parse_limit, parse_window};
use crate::Faults;
use crate::diagnostic::quote;
use crate::yaml::{Entry, Map, Node, Value};

/// What holds for a limit where its node says nothing.
#[derive(Clone, Copy, Debug)]
pub struct LimitContext {
    /// The windows where only a `mode` is written; `None` where a limit must be.
    pub default: Option<RateLimitPolicy>,
    /// The mode where none is written.
    pub mode: Mode,
    /// Whether `mode: observe` may be written.
    pub may_observe: bool,
}

impl LimitContext {
    /// What holds for an operation of a table or a shared bucket whose surrounding mode is `mode`.
    /// Failed sign-ins are never only observed: a guesser would have to be let through.
    #[must_use]
    pub fn of(operation: Operation, mode: Mode) -> Self {
        let may_observe = operation != Operation::FailedSignIn;
        let mode = if may_observe { mode } else { Mode::Enforce };
        Self {
            default: Some(operation.default_policy()),
            mode,
            may_observe,
        }
    }
}

/// Reads the limit of an entry; its origin is the place of the key. `None` where faults were added.
///
/// Forms: `10/1m`, `none`, `[10/1s, 500/1h]`, `{maxRequests: 10, window: 1m, mode: observe}`,
/// `{limit: <any form before>, mode: observe}`, `{mode: observe}`.
pub fn read_limit(entry: &Entry, context: LimitContext, faults: &mut Faults<'_>) -> Option<Limit> {
    let before = faults.len();
    let mut mode = context.mode;
    let windows = match &entry.value.value {
        Value::Map(map) => {
            if let Some(written) = map.get("mode") {
                mode = mode_of_limit(written, context, faults).unwrap_or(mode);
            }
            map_windows(entry, map, context, faults)
        }
        _ => windows(&entry.key, &entry.value, faults),
    };
    let windows = windows?;
    let limit = Limit {
        windows,
        mode,
        origin: faults.source().origin(entry.key_span),
    };
    (faults.len() == before).then_some(limit)
}

/// Reads `observe` or `enforce`.
pub fn read_mode(node: &Node, faults: &mut Faults<'_>) -> Option<Mode> {
    match node.expect_str("`mode`", faults)? {
        "observe" => Some(Mode::Observe),
        "enforce" => Some(Mode::Enforce),
        other => {
            faults.unknown(node.span, "mode", other, ["observe", "enforce"]);
            None
        }
    }
}

/// Reads `rateLimit.shared` of `zonai.yaml`: limits of the buckets that carry no table, by operation.
pub fn read_shared(node: &Node, faults: &mut Faults<'_>) -> Vec<(Operation, Limit)> {
    let mut limits = Vec::new();
    if node.is_null() {
        return limits;
    }
    let Some(map) = node.expect_map("`shared`", faults) else {
        return limits;
    };
    for entry in &map.entries {
        match Operation::from_name(&entry.key) {
            Some(operation) if Shared::of(operation).is_some() => {
                let context = LimitContext::of(operation, Mode::Enforce);
                limits.extend(read_limit(entry, context, faults).map(|limit| (operation, limit)));
            }
            Some(_) => faults.at_with_help(
                entry.key_span,
                format!("{} is no operation of a shared bucket", quote(&entry.key)),
                "it is set per table, in a policy file",
            ),
            None => {
                let known = Shared::ALL
                    .iter()
                    .flat_map(|shared| shared.operations())
                    .map(|o| o.name());
                faults.unknown(entry.key_span, "operation", &entry.key, known);
            }
        }
    }
    limits
}

fn mode_of_limit(entry: &Entry, context: LimitContext, faults: &mut Faults<'_>) -> Option<Mode> {
    let mode = read_mode(&entry.value, faults)?;
    if mode == Mode::Observe && !context.may_observe {
        faults.at(
            entry.value.span,
            "failed sign-ins are always refused past their limit, never only observed",
        );
        return None;
    }
    Some(mode)
}

/// The windows of a map that stands for a whole limit.
fn map_windows(
    entry: &Entry,
    map: &Map,
    context: LimitContext,
    faults: &mut Faults<'_>,
) -> Option<Vec<RateLimitPolicy>> {
    let Some(inner) = map.get("limit") else {
        if let (Some(default), [only]) = (context.default, map.entries.as_slice())
            && only.key == "mode"
        {
            return Some(vec![default]);
        }
        let policy = one_window(
            &entry.value,
            map,
            &["maxRequests", "window", "mode"],
            faults,
        );
        return policy.map(|policy| vec![policy]);
    };
    for other in &map.entries {
        match other.key.as_str() {
            "limit" | "mode" => {}
            "maxRequests" | "max_requests" | "window" => {
                faults.at(
                    other.key_span,
                    format!(
                        "{} stands beside `limit`; write one of them",
                        quote(&other.key)
                    ),
                );
            }
            _ => faults.unknown(other.key_span, "key", &other.key, ["limit", "mode"]),
        }
    }
    let windows = windows("limit", &inner.value, faults)?;
    if windows.is_empty()
        && let Some(mode) = map.get("mode")
    {
        faults.at(
            mode.key_span,
            "`mode` has no meaning where the limit is `none`",
        );
    }
    Some(windows)
}

/// The windows of a text, a map of one window, or a list. Empty is "no limit".
fn windows(name: &str, node: &Node, faults: &mut Faults<'_>) -> Option<Vec<RateLimitPolicy>> {
    match &node.value {
        Value::Seq(items) => list(node, items, faults),
        Value::Map(map) => {
            one_window(node, map, &["maxRequests", "window"], faults).map(|policy| vec![policy])
        }
        Value::Scalar { .. } => {
            scalar(name, node, faults).map(|policy| policy.into_iter().collect())
        }
    }
}

fn scalar(name: &str, node: &Node, faults: &mut Faults<'_>) -> Option<Option<RateLimitPolicy>> {
    let Some(text) = node.as_scalar() else {
        let message = format!("{} says no limit", quote(name));
        faults.at_with_help(node.span, message, "write `10/1m`, or `none` for no limit");
        return None;
    };
    parse_limit(text)
        .map_err(|error| limit_fault(node, &error, faults))
        .ok()
}

fn list(node: &Node, items: &[Node], faults: &mut Faults<'_>) -> Option<Vec<RateLimitPolicy>> {
    if items.is_empty() {
        faults.at_with_help(
            node.span,
            "an empty list is no limit",
            "write `none` for no limit",
        );
        return None;
    }
    if let Some(surplus) = items.get(MAX_WINDOWS) {
        faults.at(
            surplus.span,
            format!("one operation may have at most {MAX_WINDOWS} windows"),
        );
    }
    let before = faults.len();
    let mut policies: Vec<RateLimitPolicy> = Vec::new();
    for item in items.iter().take(MAX_WINDOWS) {
        let policy = match &item.value {
            Value::Map(map) => one_window(item, map, &["maxRequests", "window"], faults),
            Value::Seq(_) => {
                faults.at(
                    item.span,
                    "a list of windows holds limits such as `10/1s`, not lists",
                );
                None
            }
            Value::Scalar { .. } => match scalar("an item", item, faults) {
                Some(None) => {
                    faults.at(item.span, "`none` has no meaning beside other windows");
                    None
                }
                read => read.flatten(),
            },
        };
        let Some(policy) = policy else { continue };
        if policies
            .iter()
            .any(|other| other.window_ms() == policy.window_ms())
        {
            faults.at(
                item.span,
                format!("the window {} stands twice", super::write_window(policy)),
            );
            continue;
        }
        policies.push(policy);
    }
    (faults.len() == before).then_some(policies)
}

/// `{maxRequests: 10, window: 1m}`.
fn one_window(
    node: &Node,
    map: &Map,
    known: &[&str],
    faults: &mut Faults<'_>,
) -> Option<RateLimitPolicy> {
    let before = faults.len();
    for entry in &map.entries {
        if entry.key == "mode" && !known.contains(&"mode") {
            faults.at(
                entry.key_span,
                "`mode` is set for the whole operation, beside `limit`",
            );
        } else if entry.key != "max_requests" && !known.contains(&entry.key.as_str()) {
            faults.unknown(entry.key_span, "key", &entry.key, known.iter().copied());
        }
    }
    if let (Some(first), Some(second)) = (map.get("maxRequests"), map.get("max_requests")) {
        let later = first.key_span.max(second.key_span);
        faults.at(
            later,
            "`maxRequests` and `max_requests` are the same key; write one of them",
        );
    }
    let strange = faults.len() > before;
    let requests = map.get("maxRequests").or_else(|| map.get("max_requests"));
    let max_requests = requests.and_then(|entry| {
        entry
            .value
            .expect_int("`maxRequests`", 0..=u32::MAX, faults)
    });
    let window = map
        .get("window")
        .and_then(|entry| window(&entry.value, faults));
    // A misspelt key is one fault, not a missing one beside it.
    if !strange {
        for (key, missing) in [
            ("maxRequests", requests.is_none()),
            ("window", map.get("window").is_none()),
        ] {
            if missing {
                faults.at_with_help(
                    node.span,
                    format!("`{key}` is missing"),
                    "such as {maxRequests: 10, window: 1m}",
                );
            }
        }
    }
    if faults.len() > before {
        return None;
    }
    RateLimitPolicy::new(max_requests?, window?).ok()
}

fn window(node: &Node, faults: &mut Faults<'_>) -> Option<std::time::Duration> {
    let Some(text) = node.as_scalar() else {
        faults.at_with_help(
            node.span,
            format!(
                "`window` must be a whole number and a unit, not {}",
                node.describe()
            ),
            "such as `1m` or `500ms`",
        );
        return None;
    };
    parse_window(text)
        .map_err(|error| limit_fault(node, &error, faults))
        .ok()
}

fn limit_fault(node: &Node, error: &LimitError, faults: &mut Faults<'_>) {
    let fault = faults.source().fault(node.span, error.to_string());
    faults.push(match error.help() {
        Some(help) => fault.with_help(help),
        None => fault,
    });
}
