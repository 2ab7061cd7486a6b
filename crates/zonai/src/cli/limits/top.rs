//! `zonai limits top`: who is refused now; where no server runs, whose stored counters are fullest.
//!
//! Must never show the one as the other: the answer says which it is.

use std::process::ExitCode;

use serde_json::{Value, json};
use zonai_limit_sqlite::Filter;

use super::{items, number, stored, text};
use crate::cli::args::Format;
use crate::cli::args::limits::TopArguments;
use crate::cli::{output, socket};
use crate::{App, Result};

/// How many counters are shown.
const SHOWN: usize = 20;

pub(super) fn run(arguments: &TopArguments) -> Result<ExitCode> {
    let app = App::open(&arguments.project)?;
    let data = &app.draft().paths.data;
    let Some(answer) = socket::ask(data, &json!({"command": "limits.top"}))? else {
        return from_file(data, arguments.format);
    };
    match arguments.format {
        Format::Json => output::json(&answer),
        Format::Text if items(&answer, "refused").is_empty() => output::line("nobody is refused"),
        Format::Text => output::table(
            ["CLIENT", "TABLE", "OPERATION", "REFUSED"],
            items(&answer, "refused").iter().map(refused),
        ),
    }
    Ok(ExitCode::SUCCESS)
}

fn refused(place: &Value) -> [String; 4] {
    let owned = |key| text(place, key).to_owned();
    // Of many clients the top is kept with a known error: the true number is that much smaller at most.
    let error = match number(place, "error") {
        0 => String::new(),
        error => format!(" (at most {error} too many)"),
    };
    [
        owned("client"),
        owned("collection"),
        owned("operation"),
        format!("{}{error}", number(place, "refused")),
    ]
}

fn from_file(data: &std::path::Path, format: Format) -> Result<ExitCode> {
    let mut rows = stored::fullest(data, &Filter::default())?;
    rows.truncate(SHOWN);
    match format {
        Format::Json => output::json(
            &json!({"stored": rows.iter().map(zonai_server::admin::row).collect::<Vec<_>>()}),
        ),
        Format::Text => {
            output::note(
                "no server runs on this data folder; these are the fullest of the stored counters",
            );
            output::table(
                ["CLIENT", "TABLE", "OPERATION", "COUNT"],
                rows.into_iter().map(|row| {
                    [
                        row.client_ip,
                        row.table,
                        row.operation,
                        row.count.to_string(),
                    ]
                }),
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}
