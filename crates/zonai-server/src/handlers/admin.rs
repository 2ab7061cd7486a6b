//! Routes for admins: metrics. Crons come with the jobs.

use http::{HeaderValue, Response, header};
use zonai_limit_sqlite::Health;

use crate::errors::{self, Fault};
use crate::reply::{Answer, Reply};
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
        Admin::CronList | Admin::CronRun => errors::answer(&Fault::NotFound),
    }
}

fn metrics(state: &State) -> Answer {
    let store = state.store.metrics();
    let engine = state.data.engine();
    let number = |count: usize| u64::try_from(count).unwrap_or(u64::MAX);
    let gauges = [
        ("connections", "Open connections", number(state.watch.len())),
        ("counters", "Rate limit counters in memory", number(state.gate.counters.len())),
        ("counters_max", "At most so many counters", number(state.gate.counters.max())),
        ("crowded", "Decisions in a wider counter because all places were taken", state.gate.counters.crowded()),
        ("counter_backlog", "Counters that the counter file does not show yet", number(store.backlog)),
        ("counter_commit_ms", "How long the last commit of the counter file took", store.last_commit_ms),
        ("counter_commit_timeouts", "Durable counts that went on from memory", store.commit_timeouts),
        ("counter_faults", "How often the counter file had a fault", store.faults),
        ("counter_file_ok", "Whether the counter file follows", u64::from(state.store.health() == Health::Ok)),
        ("streams", "Open live queries", number(state.live.places.open())),
        ("stream_questions", "Different live queries", number(state.live.questions())),
        ("writes_waiting", "Writes that wait", number(engine.writes_waiting())),
        ("reads_in_flight", "Reads in flight", number(engine.reads_in_flight())),
        ("policy_version", "Which policies are in force", state.policies.status().version),
    ];
    let mut answer = Response::new(Reply::whole(state.telemetry.text(&gauges).into()));
    answer.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8"),
    );
    answer
}
