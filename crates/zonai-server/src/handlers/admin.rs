//! Routes for admins: metrics and crons.

use http::{HeaderValue, Response, header};
use percent_encoding::percent_decode_str;
use serde_json::json;
use zonai_data::DataError;
use zonai_limit_sqlite::Health;

use crate::errors::{self, Fault};
use crate::jobs::{JobError, Jobs};
use crate::reply::{self, Answer, Reply};
use crate::route::Admin;
use crate::state::State;
use crate::way::Passed;

/// Answers an admitted request of an admin.
pub(super) async fn answer(passed: Passed<'_>, admin: Admin) -> Answer {
    match crate::accounts::caller(&passed.state.auth, &passed.admitted, &passed.parts.headers) {
        Err(error) => return errors::auth(&error),
        Ok(caller) if !caller.is_admin() => return errors::answer(&Fault::Forbidden),
        Ok(_) => {}
    }
    match admin {
        Admin::Metrics => metrics(passed.state),
        Admin::CronList => match passed.state.jobs.list(passed.state) {
            Ok(jobs) => reply::data(&jobs),
            Err(error) => errors::data(&error),
        },
        Admin::CronRun => cron_run(&passed).await,
    }
}

/// `POST /crons/run?name=…`.
async fn cron_run(passed: &Passed<'_>) -> Answer {
    let query = passed.parts.uri.query().unwrap_or_default();
    let name = query.split('&').find_map(|pair| pair.strip_prefix("name="));
    let Some(Ok(name)) = name.map(|name| percent_decode_str(name).decode_utf8()) else {
        return errors::answer(&Fault::BadRequest(
            "the query parameter `name` is missing".to_owned(),
        ));
    };
    match Jobs::run_by_hand(passed.state, &name).await {
        Ok(done) => reply::data(&json!({"name": name, "message": done})),
        Err(JobError::Unknown { .. }) => errors::answer(&Fault::NotFound),
        Err(error @ JobError::Running(_)) => errors::data(&DataError::Conflict(error.to_string())),
        // Admins read what failed; it is their SQL.
        Err(JobError::Failed(text)) => errors::data(&DataError::Unprocessable(text)),
    }
}

fn metrics(state: &State) -> Answer {
    let store = state.store.metrics();
    let engine = state.data.engine();
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let gauges = [
        ("connections", "Open connections", number(state.watch.len())),
        (
            "counters",
            "Rate limit counters in memory",
            number(state.gate.counters.len()),
        ),
        (
            "counters_max",
            "At most so many counters",
            number(state.gate.counters.max()),
        ),
        (
            "crowded",
            "Decisions in a wider counter because all places were taken",
            state.gate.counters.crowded(),
        ),
        (
            "counter_backlog",
            "Counters that the counter file does not show yet",
            number(store.backlog),
        ),
        (
            "counter_commit_ms",
            "How long the last commit of the counter file took",
            store.last_commit_ms,
        ),
        (
            "counter_commit_timeouts",
            "Durable counts that went on from memory",
            store.commit_timeouts,
        ),
        (
            "counter_faults",
            "How often the counter file had a fault",
            store.faults,
        ),
        (
            "counter_file_ok",
            "Whether the counter file follows",
            u64::from(state.store.health() == Health::Ok),
        ),
        (
            "streams",
            "Open live queries",
            number(state.live.places.open()),
        ),
        (
            "stream_questions",
            "Different live queries",
            number(state.live.questions()),
        ),
        (
            "writes_waiting",
            "Writes that wait",
            number(engine.writes_waiting()),
        ),
        (
            "reads_in_flight",
            "Reads in flight",
            number(engine.reads_in_flight()),
        ),
        (
            "sql_jobs",
            "Reads and writes that were asked for since the start",
            engine.jobs(),
        ),
        (
            "rules_asked",
            "How often rules were asked since the start",
            state.data.rules_asked(),
        ),
        (
            "policy_version",
            "Which policies are in force",
            state.policies.status().version,
        ),
    ];
    let mut answer = Response::new(Reply::whole(state.telemetry.text(&gauges).into()));
    answer.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"),
    );
    answer
}
