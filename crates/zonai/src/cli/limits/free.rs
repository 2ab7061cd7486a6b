//! `zonai limits free`: counters of a client back to nothing.
//!
//! Must never touch the file while a server follows it: the server is asked, and its memory decides.

use std::process::ExitCode;

use serde_json::{Value, json};
use zonai_clock::Clock;
use zonai_data::error::with_causes;
use zonai_limit::{Client, Operation};
use zonai_limit_sqlite::{FILE_NAME, Filter, offline};

use super::{items, number, text};
use crate::cli::args::Format;
use crate::cli::args::limits::FreeArguments;
use crate::cli::{output, socket};
use crate::lock::DataLock;
use crate::{App, Error, Result};

pub(super) fn run(arguments: &FreeArguments) -> Result<ExitCode> {
    let app = App::open(&arguments.project)?;
    let filter = filter(arguments, &app)?;
    let data = &app.draft().paths.data;
    let mut request = json!({"command": "limits.free", "ip": arguments.ip});
    for (key, value) in [
        ("table", &arguments.table),
        ("operation", &arguments.operation),
    ] {
        if let Some(value) = value {
            request[key] = json!(value);
        }
    }
    let answer = match socket::ask(data, &request)? {
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

fn filter(arguments: &FreeArguments, app: &App) -> Result<Filter> {
    let prefix = app.draft().rate_limit.ipv6_prefix;
    let client = Client::parse(&arguments.ip, prefix).ok_or_else(|| {
        Error::Setting(format!("`{}` is no address and no network", arguments.ip))
    })?;
    let operation = arguments.operation.as_deref().map(operation).transpose()?;
    Ok(Filter {
        client: Some(client),
        table: arguments.table.clone(),
        operation,
    })
}

fn operation(name: &str) -> Result<Operation> {
    Operation::from_name(name).ok_or_else(|| {
        let near = zonai_policy::nearest(
            name,
            Operation::ALL.iter().map(|operation| operation.name()),
        );
        let near = near
            .map(|near| format!("; did you mean `{near}`?"))
            .unwrap_or_default();
        Error::Setting(format!("`{name}` is no operation{near}"))
    })
}
