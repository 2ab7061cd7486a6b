//! The `/db` routes that answer once.

use bytes::Bytes;
use http::StatusCode;
use zonai_code::Ask;
use zonai_data::{Json, Payload};
use zonai_limit::TableId;

use super::rate_limit;
use crate::accounts;
use crate::errors;
use crate::reply::{self, Answer};
use crate::route::Data;
use crate::way::Passed;
use zonai_project::RATE_LIMIT_TABLE;

/// Answers an admitted request for rows.
pub(super) async fn answer(passed: Passed<'_>, data: Data, table: TableId) -> Answer {
    let payload = match Payload::parse(passed.payload) {
        Ok(payload) => payload,
        Err(error) => return errors::data(&error.into()),
    };
    let caller = match accounts::caller(&passed.state.auth, &passed.admitted, &passed.parts.headers)
    {
        Ok(caller) => caller,
        Err(error) => return errors::auth(&error),
    };
    if Some(table) == passed.state.gate.limiter.table(RATE_LIMIT_TABLE) {
        return match rate_limit::answer(passed.state, data, &caller, &payload).await {
            Ok(Some(value)) => reply::data(&value),
            Ok(None) => reply::no_content(),
            Err(error) => errors::data(&error),
        };
    }
    let ask = Ask::Data(data);
    let code = &passed.state.code;
    match code.perform(&passed.admitted, &caller, ask, payload).await {
        Ok(Some(json)) if matches!(data, Data::Get | Data::List | Data::Count) => {
            let (answers, client) = (&passed.state.answers, passed.found.client);
            reply::with_room(data_json(json), answers, client)
        }
        Ok(Some(json)) => data_json(json),
        Ok(None) => reply::no_content(),
        Err(error) => errors::data(&error),
    }
}

/// `{"data": …}` around a text that is JSON already.
pub(super) fn data_json(json: Json) -> Answer {
    let json = json.into_string();
    let mut body = String::with_capacity(json.len() + 9);
    body.push_str("{\"data\":");
    body.push_str(&json);
    body.push('}');
    reply::json(StatusCode::OK, Bytes::from(body))
}
