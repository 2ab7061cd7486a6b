//! `zonai limits explain`: what would happen to a request, by the code that decides, without counting it.
//!
//! Must never decide anything itself.

use std::fs;
use std::process::ExitCode;

use serde_json::{Value, json};
use zonai_server::explain::Explain;

use super::{collection, items, number, policy, seconds, text};
use crate::cli::args::Format;
use crate::cli::args::limits::ExplainArguments;
use crate::cli::{output, socket};
use crate::{App, Error, Result};

pub(super) fn run(arguments: &ExplainArguments) -> Result<ExitCode> {
    let (request, project) = request(arguments)?;
    let app = App::open(&project)?;
    let answer = match socket::ask(&app.draft().paths.data, &request)? {
        Some(answer) => answer,
        None => {
            let asked = Explain::from_question(&request)
                .map_err(|error| Error::Setting(error.to_string()))?;
            output::note(
                "no server runs on this data folder: by the files and the stored counters",
            );
            app.explain(&asked)?
        }
    };
    match arguments.format {
        Format::Json => output::json(&answer),
        Format::Text => print(&answer),
    }
    Ok(ExitCode::SUCCESS)
}

/// The question, and the project that it is about.
fn request(arguments: &ExplainArguments) -> Result<(Value, String)> {
    let words = &arguments.arguments;
    let mut request = json!({"command": "limits.explain"});
    if let Some(ip) = &arguments.ip {
        request["peer"] = json!(ip);
    }
    let project = if let Some(file) = &arguments.request {
        let raw = fs::read(file).map_err(|source| Error::Io {
            what: "read the request",
            path: file.clone(),
            source,
        })?;
        request["request"] = json!(String::from_utf8_lossy(&raw));
        match words.as_slice() {
            [] => ".",
            [project] => project,
            _ => {
                return Err(Error::Setting(
                    "with --request, METHOD and PATH are in the file; only DIR may follow".into(),
                ));
            }
        }
    } else {
        let (method, path, project) = match words.as_slice() {
            [method, path] => (method, path, "."),
            [method, path, project] => (method, path, project.as_str()),
            _ => {
                return Err(Error::Setting(
                    "METHOD and PATH are missing: zonai limits explain GET /db/list".into(),
                ));
            }
        };
        request["method"] = json!(method);
        request["path"] = json!(path);
        if let Some(body) = &arguments.body {
            request["body"] = json!(body);
        }
        project
    };
    Ok((request, project.to_owned()))
}

fn print(answer: &Value) {
    let client = &answer["client"];
    output::line(format_args!("client   {}", text(client, "client")));
    for step in items(client, "steps") {
        output::line(format_args!(
            "         {}",
            step.as_str()
                .map_or_else(|| step.to_string(), str::to_owned)
        ));
    }
    let outcome = match text(answer, "outcome") {
        "refuse" => format!(
            "refused: 429, retry after {} s, by {}",
            number(answer, "retryAfter"),
            text(answer, "refusedBy")
        ),
        "admit" => "admitted".to_owned(),
        "fail" => "500: every check fails until this is mended".to_owned(),
        other => other.to_owned(),
    };
    output::line(format_args!("outcome  {outcome}"));
    if let Some(why) = answer.get("why").and_then(Value::as_str) {
        output::line(format_args!("because  {why}"));
    }
    if answer.get("exempt") == Some(&Value::Bool(true)) {
        output::line("exempt   by rateLimit.exempt: counted, never refused");
    }
    let counters = items(answer, "counters");
    if counters.is_empty() {
        output::line("counters none: this request is not limited");
        return;
    }
    output::line("");
    output::table(
        [
            "TABLE",
            "OPERATION",
            "LIMIT",
            "COUNT",
            "RESETS IN",
            "COUNTED AS",
            "FROM",
        ],
        counters.iter().map(row),
    );
}

fn row(counter: &Value) -> [String; 7] {
    let observed = if text(counter, "mode") == "observe" {
        " (observe)"
    } else {
        ""
    };
    let resets = counter
        .get("resetInMs")
        .and_then(Value::as_u64)
        .map_or_else(|| "no window".to_owned(), seconds);
    [
        collection(counter),
        text(counter, "operation").to_owned(),
        format!("{}{observed}", policy(counter)),
        number(counter, "count").to_string(),
        resets,
        text(counter, "countedAs").to_owned(),
        text(counter, "origin").to_owned(),
    ]
}
