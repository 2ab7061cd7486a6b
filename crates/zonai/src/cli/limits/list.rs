//! `zonai limits list`: the effective policy of each operation, and where it is written.
//!
//! Must never show what a file says where the running server has something else in force.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::{collection, items, policy, text};
use crate::cli::args::Format;
use crate::cli::args::limits::ListArguments;
use crate::cli::{output, socket};
use crate::{App, Error, Result};

pub(super) fn run(arguments: &ListArguments) -> Result<ExitCode> {
    let app = App::open(&arguments.project)?;
    let running = socket::ask(&app.draft().paths.data, &json!({"command": "limits.list"}))?;
    let mut answer = match running {
        Some(answer) => answer,
        None => app.limits()?,
    };
    if let Some(table) = &arguments.table {
        keep(&mut answer, table)?;
    }
    match arguments.format {
        Format::Json => output::json(&answer),
        Format::Text => print(&answer),
    }
    Ok(ExitCode::SUCCESS)
}

fn keep(answer: &mut Value, table: &str) -> Result<()> {
    let names: Vec<String> = items(answer, "limits")
        .iter()
        .map(|limit| text(limit, "collection").to_owned())
        .collect();
    if !names.iter().any(|name| name == table) {
        let near = zonai_policy::nearest(table, names.iter().map(String::as_str));
        let near = near
            .map(|near| format!("; did you mean `{near}`?"))
            .unwrap_or_default();
        return Err(Error::Setting(format!("there is no table `{table}`{near}")));
    }
    if let Some(limits) = answer.get_mut("limits").and_then(Value::as_array_mut) {
        limits.retain(|limit| text(limit, "collection") == table);
    }
    Ok(())
}

fn print(answer: &Value) {
    let rows = items(answer, "limits").iter().map(|limit| {
        let windows: Vec<String> = items(limit, "windows").iter().map(policy).collect();
        let shown = if windows.is_empty() {
            "none".to_owned()
        } else {
            windows.join(" and ")
        };
        let mode = if text(limit, "mode") == "observe" {
            " (observe)"
        } else {
            ""
        };
        let origin = text(limit, "origin").to_owned();
        [
            collection(limit),
            text(limit, "operation").to_owned(),
            format!("{shown}{mode}"),
            origin,
        ]
    });
    output::table(["TABLE", "OPERATION", "LIMIT", "FROM"], rows);
}
