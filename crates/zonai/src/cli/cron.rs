//! `zonai cron`: the jobs of a project, with and without a running server.
//!
//! Must never run a job beside a server that could run it at the same time: the server is asked.

use std::process::ExitCode;

use serde_json::{Value, json};
use zonai_clock::Clock;
use zonai_server::JobError;
use zonai_server::offline::Offline;

use super::args::Format;
use super::args::cron::{CronCommand, CronListArguments, RunArguments};
use super::{output, socket};
use crate::lock::DataLock;
use crate::{App, Error, Result, files};

/// Runs one of the commands.
pub(super) fn run(command: &CronCommand) -> Result<ExitCode> {
    match command {
        CronCommand::List(arguments) => list(arguments),
        CronCommand::Run(arguments) => run_job(arguments),
    }
}

fn list(arguments: &CronListArguments) -> Result<ExitCode> {
    let app = App::open(&arguments.project)?;
    let answer = match socket::ask(&app.draft().paths.data, &json!({"command": "cron.list"}))? {
        Some(answer) => answer,
        None => offline(app, async |project| {
            let jobs = project.jobs();
            jobs.map_err(|error| Error::Server(error.to_string()))
        })?,
    };
    match arguments.format {
        Format::Json => output::json(&answer),
        Format::Text => output::table(
            ["JOB", "SCHEDULE", "NEXT", "LAST", "OUTCOME"],
            answer["jobs"].as_array().into_iter().flatten().map(row),
        ),
    }
    Ok(ExitCode::SUCCESS)
}

fn row(job: &Value) -> [String; 5] {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let time = |value: &Value| value.as_i64().and_then(local_time);
    let next = match job["enabled"].as_bool() {
        Some(false) => "disabled".to_owned(),
        _ => time(&job["nextMs"]).unwrap_or_default(),
    };
    let last = &job["last"];
    let outcome = [text(&last["status"]), text(&last["message"])];
    let outcome: Vec<String> = outcome
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect();
    [
        text(&job["name"]),
        text(&job["schedule"]),
        next,
        time(&last["startedAt"]).unwrap_or_else(|| "never".to_owned()),
        outcome.join(": "),
    ]
}

/// A time in the machine's time zone, which is that of the schedules.
fn local_time(ms: i64) -> Option<String> {
    let at = jiff::Timestamp::from_millisecond(ms).ok()?;
    let at = at.to_zoned(jiff::tz::TimeZone::system());
    Some(at.strftime("%Y-%m-%d %H:%M:%S %Z").to_string())
}

fn run_job(arguments: &RunArguments) -> Result<ExitCode> {
    let app = App::open(&arguments.project)?;
    let name = arguments.name.as_str();
    let request = json!({"command": "cron.run", "name": name});
    let answer = match socket::ask_patiently(&app.draft().paths.data, &request)? {
        Some(answer) => answer,
        None => offline(app, async |project| match project.run_job(name).await {
            Ok(done) => Ok(json!({"name": name, "ok": true, "message": done})),
            Err(error @ JobError::Unknown { .. }) => Err(Error::Setting(error.to_string())),
            Err(error) => Ok(json!({"name": name, "ok": false, "message": error.to_string()})),
        })?,
    };
    let (ok, message) = (
        answer["ok"] == true,
        answer["message"].as_str().unwrap_or_default(),
    );
    match arguments.format {
        Format::Json => output::json(&answer),
        Format::Text if ok => output::line(format_args!("{name}: {message}")),
        Format::Text => output::note(format_args!("{name}: {message}")),
    }
    Ok(if ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Opens the project where no server runs, and closes it again whatever came of the work.
fn offline<T>(app: App, work: impl AsyncFnOnce(&Offline) -> Result<T>) -> Result<T> {
    let draft = app.draft().clone();
    let (resolved, additions) = app.resolve()?;
    let _lock = DataLock::acquire(&resolved.settings.paths.data)?;
    crate::app::runtime()?.block_on(async {
        let project = Offline::open(resolved.settings, additions, Clock::system())
            .await
            .map_err(|error| files::refused(&draft, error))?;
        let done = work(&project).await;
        if project.close().await {
            done
        } else {
            done.and(Err(Error::Server("not everything could be written".into())))
        }
    })
}
