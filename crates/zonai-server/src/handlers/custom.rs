//! `PATCH /db/custom/:operation`: the project's own changes of rows.

use zonai_code::Ask;
use zonai_data::Payload;

use super::data::data_json;
use crate::accounts;
use crate::errors::{self, Fault};
use crate::reply::{self, Answer};
use crate::route::{self, Route};
use crate::way::Passed;

/// Answers an admitted request for a custom operation.
pub(super) async fn answer(passed: Passed<'_>) -> Answer {
    let Route::Custom { name, many } = route::of(&passed.parts.method, passed.parts.uri.path())
    else {
        return errors::answer(&Fault::UnknownOperation);
    };
    let payload = match Payload::parse(passed.payload) {
        Ok(payload) => payload,
        Err(error) => return errors::data(&error.into()),
    };
    let caller = match accounts::caller(&passed.state.auth, &passed.admitted, &passed.parts.headers)
    {
        Ok(caller) => caller,
        Err(error) => return errors::auth(&error),
    };
    let ask = Ask::Custom { name, many };
    let code = &passed.state.code;
    match code.perform(&passed.admitted, &caller, ask, payload).await {
        Ok(Some(json)) => data_json(json),
        Ok(None) => reply::no_content(),
        Err(error) => errors::data(&error),
    }
}
