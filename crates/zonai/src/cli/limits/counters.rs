//! `zonai limits counters`: the open counters, the fullest first.
//!
//! Must never show stored counters as those of a running server: the answer says which they are.

use std::process::ExitCode;

use serde_json::{Value, json};
use zonai_clock::Clock;

use super::filter::Wanted;
use super::{items, number, seconds, stored, text};
use crate::cli::args::Format;
use crate::cli::args::limits::CountersArguments;
use crate::cli::{output, socket};
use crate::config::units::show_duration;
use crate::{App, Result};

pub(super) fn run(arguments: &CountersArguments) -> Result<ExitCode> {
    let app = App::open(&arguments.project)?;
    let wanted = Wanted {
        ip: arguments.ip.as_deref(),
        table: arguments.table.as_deref(),
        operation: arguments.operation.as_deref(),
    };
    let filter = wanted.filter(&app)?;
    let data = &app.draft().paths.data;
    let mut question = wanted.question("limits.counters");
    question["limit"] = json!(arguments.most);
    let answer = match socket::ask(data, &question)? {
        Some(answer) => answer,
        None => {
            let rows = stored::fullest(data, &filter)?;
            let shown = rows.iter().take(arguments.most.into());
            json!({
                "total": rows.len(),
                "counters": shown.map(zonai_server::admin::row).collect::<Vec<_>>(),
                "stored": true,
            })
        }
    };
    match arguments.format {
        Format::Json => output::json(&answer),
        Format::Text => print(&answer, Clock::system().wall_ms()),
    }
    Ok(ExitCode::SUCCESS)
}

fn print(answer: &Value, now_ms: i64) {
    if answer.get("stored").is_some() {
        output::note("no server runs on this data folder; these are the stored counters");
    }
    let counters = items(answer, "counters");
    if counters.is_empty() {
        output::line("no counter is open");
        return;
    }
    output::table(
        [
            "CLIENT",
            "TABLE",
            "OPERATION",
            "COUNT",
            "WINDOW",
            "CLOSES IN",
        ],
        counters.iter().map(|counter| row(counter, now_ms)),
    );
    let (shown, total) = (counters.len() as u64, number(answer, "total"));
    if total > shown {
        output::note(format_args!(
            "{shown} of {total} counters; more with --most"
        ));
    }
}

fn row(counter: &Value, now_ms: i64) -> [String; 6] {
    let owned = |key| text(counter, key).to_owned();
    let window_ms = number(counter, "window_ms");
    let start_ms = counter.get("window_start").and_then(Value::as_i64);
    let open_ms = u64::try_from(now_ms.saturating_sub(start_ms.unwrap_or(now_ms))).unwrap_or(0);
    [
        owned("client_ip"),
        owned("table"),
        owned("operation"),
        number(counter, "count").to_string(),
        show_duration(std::time::Duration::from_millis(window_ms)),
        seconds(window_ms.saturating_sub(open_ms)),
    ]
}
