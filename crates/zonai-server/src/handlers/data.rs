//! The `/db` routes that answer once.

use bytes::Bytes;
use http::StatusCode;
use zonai_data::{Caller, DataError, Json, Payload};
use zonai_limit::TableId;

use super::rate_limit;
use crate::accounts;
use crate::errors;
use crate::project::RATE_LIMIT_TABLE;
use crate::reply::{self, Answer};
use crate::route::Data;
use crate::way::Passed;

/// Answers an admitted request for rows.
pub(super) async fn answer(passed: Passed<'_>, data: Data, table: TableId) -> Answer {
    let payload = match Payload::parse(passed.payload) {
        Ok(payload) => payload,
        Err(error) => return errors::data(&error.into()),
    };
    let caller = match accounts::caller(&passed.state.auth, &passed.admitted, &passed.parts.headers) {
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
    match work(&passed, data, &caller, &payload).await {
        Ok(Some(json)) => data_json(json),
        Ok(None) => reply::no_content(),
        Err(error) => errors::data(&error),
    }
}

async fn work(
    passed: &Passed<'_>,
    data: Data,
    caller: &Caller,
    payload: &Payload,
) -> Result<Option<Json>, DataError> {
    let (database, pass) = (&passed.state.data, &passed.admitted);
    match data {
        Data::Get => database.get(pass, caller, payload).await.map(Some),
        Data::List => database.list(pass, caller, payload).await.map(Some),
        Data::Count => database.count(pass, caller, payload).await.map(Some),
        Data::Create => database.create(pass, caller, payload).await.map(Some),
        Data::CreateMany => database.create_many(pass, caller, payload).await.map(Some),
        Data::Update => database.update(pass, caller, payload).await.map(Some),
        Data::UpdateMany => database.update_many(pass, caller, payload).await.map(Some),
        Data::Delete => database.delete(pass, caller, payload).await.map(|()| None),
        Data::DeleteMany => database.delete_many(pass, caller, payload).await.map(|_count| None),
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
