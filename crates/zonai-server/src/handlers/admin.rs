//! Routes for admins: metrics and crons.

use http::{HeaderValue, Response, header};
use percent_encoding::percent_decode_str;
use serde_json::json;
use zonai_data::DataError;

use crate::errors::{self, Fault};
use crate::jobs::{JobError, Jobs};
use crate::reply::{self, Answer, Reply};
use crate::route::Admin;
use crate::state::State;
use crate::telemetry;
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
    let mut answer = Response::new(Reply::whole(telemetry::text(state).into()));
    answer.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(telemetry::CONTENT_TYPE),
    );
    answer
}
