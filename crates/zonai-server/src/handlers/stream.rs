//! The `/db/stream` routes.

use http::{HeaderValue, Method, Response, header};
use zonai_data::{Caller, DataError, Payload};

use crate::accounts;
use crate::errors;
use crate::live::{self, Framing, Question, Watcher};
use crate::reply::{Answer, Reply};
use crate::route::Data;
use crate::way::Passed;

/// Opens a live query. A `HEAD` gets its head alone, and holds nothing open.
pub(super) async fn answer(mut passed: Passed<'_>, data: Data) -> Answer {
    let mut payload = match Payload::parse(passed.payload) {
        Ok(payload) => payload,
        Err(error) => return errors::data(&error.into()),
    };
    let (caller, token) = match who(&passed) {
        Ok(who) => who,
        Err(error) => return errors::auth(&error),
    };
    let code = &passed.state.code;
    if let Err(error) = code.before_stream(&caller, data, &mut payload).await {
        return errors::data(&error);
    }
    let question = match Question::new(passed.state, data, &payload, &caller) {
        Ok(question) => question,
        Err(error) => return errors::data(&error),
    };
    let framing = Framing::of(&passed.parts.headers);
    let head_only = passed.parts.method == Method::HEAD;
    let Some(place) = passed
        .place
        .take()
        .or_else(|| passed.state.live.places.take(passed.found.client))
    else {
        let cause = "no place was taken for it, and none is free";
        return errors::data(&DataError::internal("opening a live query", &cause));
    };
    let watcher = Watcher {
        data,
        payload,
        token,
        admitted: passed.admitted,
    };
    match live::open(passed.state, question, watcher, framing, place).await {
        Err(error) => errors::data(&error),
        Ok(_) if head_only => head(Reply::whole(bytes::Bytes::new()), framing),
        Ok(messages) => head(Reply::open(messages), framing),
    }
}

type Who = (Caller, Option<(String, i64)>);

fn who(passed: &Passed<'_>) -> Result<Who, zonai_auth::AuthError> {
    match accounts::token(&passed.parts.headers)? {
        None => Ok((Caller::Anonymous, None)),
        Some(token) => {
            let found = passed.state.auth.authenticate(&passed.admitted, token)?;
            Ok((
                accounts::as_data(&found),
                Some((token.to_owned(), found.expires_at)),
            ))
        }
    }
}

fn head(body: Reply, framing: Framing) -> Answer {
    let mut answer = Response::new(body);
    let headers = answer.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static(framing.content_type()),
    );
    headers.insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("no-cache, no-transform"),
    );
    // A proxy in front must not collect messages.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    answer
}
