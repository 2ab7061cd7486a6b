//! `zonai limits`: what limits there are, whom they refuse, and a way out for those who were refused wrongly.
//!
//! Each asks the running server, whose memory is the truth; where none runs, the files.

mod convert;
mod counters;
mod explain;
mod filter;
mod free;
mod list;
mod stored;
mod top;

use std::process::ExitCode;

use serde_json::Value;

use super::args::limits::LimitsCommand;
use crate::Result;

/// Runs one of the commands.
pub(super) fn run(command: &LimitsCommand) -> Result<ExitCode> {
    match command {
        LimitsCommand::List(arguments) => list::run(arguments),
        LimitsCommand::Top(arguments) => top::run(arguments),
        LimitsCommand::Counters(arguments) => counters::run(arguments),
        LimitsCommand::Convert(arguments) => convert::run(arguments),
        LimitsCommand::Explain(arguments) => explain::run(arguments),
        LimitsCommand::Free(arguments) => free::run(arguments),
    }
}

/// A text of an answer; empty where there is none.
fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A number of an answer; 0 where there is none.
fn number(value: &Value, key: &str) -> u64 {
    value.get(key).and_then(Value::as_u64).unwrap_or_default()
}

/// The items of a list of an answer.
fn items<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value
        .get(key)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// The table, with the custom operation where there is one.
fn collection(value: &Value) -> String {
    match value.get("customOperation").and_then(Value::as_str) {
        Some(custom) => format!("{}:{custom}", text(value, "collection")),
        None => text(value, "collection").to_owned(),
    }
}

/// `100/1m`.
fn policy(value: &Value) -> String {
    let window = std::time::Duration::from_millis(number(value, "windowMs"));
    format!(
        "{}/{}",
        number(value, "maxRequests"),
        crate::config::units::show_duration(window)
    )
}

/// Milliseconds as seconds, rounded up.
fn seconds(ms: u64) -> String {
    format!("{} s", ms.div_ceil(1_000))
}
