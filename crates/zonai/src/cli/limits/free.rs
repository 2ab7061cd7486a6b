//! `zonai limits free`: counters of a client back to nothing.
//!
//! Must never touch the file while a server follows it: the server is asked, and its memory decides.

use std::process::ExitCode;

use serde_json::{Value, json};
use zonai_clock::Clock;
use zonai_data::error::with_causes;
use zonai_limit_sqlite::{FILE_NAME, offline};

use super::filter::Wanted;
use super::{items, number, text};
use crate::cli::args::Format;
use crate::cli::args::limits::FreeArguments;
use crate::cli::{output, socket};
use crate::lock::DataLock;
use crate::{App, Error, Result};

pub(super) fn run(arguments: &FreeArguments) -> Result<ExitCode> {
    let app = App::open(&arguments.project)?;
    let wanted = Wanted {
        ip: Some(&arguments.ip),
        table: arguments.table.as_deref(),
        operation: arguments.operation.as_deref(),
    };
    let filter = wanted.filter(&app)?;
    let data = &app.draft().paths.data;
    let answer = match socket::ask(data, &wanted.question("limits.free"))? {
        Some(answer) => answer,
        None => {
            let path = data.join(FILE_NAME);
            // No server may start meanwhile. Where there is no file, nothing is made.
            let _lock = if path.exists() {
                Some(DataLock::acquire(data)?)
            } else {
                None
            };
            let freed = offline::free(&path, &Clock::system(), &filter).map_err(|error| {
                Error::Server(format!(
                    "the stored counters cannot be changed: {}",
                    with_causes(&error)
                ))
            })?;
            json!({"freed": freed, "onFile": true, "wider": []})
        }
    };
    match arguments.format {
        Format::Json => output::json(&answer),
        Format::Text => print(&answer),
    }
    Ok(ExitCode::SUCCESS)
}

fn print(answer: &Value) {
    match number(answer, "freed") {
        1 => output::line("1 counter freed"),
        freed => output::line(format_args!("{freed} counters freed")),
    }
    if answer.get("onFile").and_then(Value::as_bool) == Some(false) {
        output::note("the counter file cannot be written now; the counters are free in memory");
    }
    let wider = items(answer, "wider");
    if !wider.is_empty() {
        output::note(
            "the client may still be refused by counters that it shares with its network:",
        );
        for row in wider {
            output::note(format_args!(
                "  {} {} {}",
                text(row, "client_ip"),
                text(row, "table"),
                text(row, "operation")
            ));
        }
    }
}
