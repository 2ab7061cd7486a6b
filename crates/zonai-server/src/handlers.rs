//! Where a request goes after the limiter: one file a kind of route.
//!
//! A handler takes a [`Passed`], which holds the limiter's `Admitted`. Must never hold SQL or count.

mod admin;
mod auth;
mod custom;
mod data;
pub(crate) mod health;
mod rate_limit;
mod stream;

use crate::errors::{self, Fault};
use crate::reply::Answer;
use crate::way::Passed;
use crate::way::target::{Nowhere, To};

/// Answers an admitted request.
pub(crate) async fn answer(passed: Passed<'_>, to: To) -> Answer {
    match to {
        To::Data(data, table) => data::answer(passed, data, table).await,
        To::Nowhere(nowhere) => errors::answer(&why(nowhere, passed.payload)),
        To::Auth(route, _table) => auth::answer(passed, route).await,
        To::Admin(route) => admin::answer(passed, route).await,
        To::Stream(data, _table) => stream::answer(passed, data).await,
        To::Custom { .. } => custom::answer(passed).await,
    }
}

fn why(nowhere: Nowhere, payload: &[u8]) -> Fault {
    match nowhere {
        Nowhere::Route | Nowhere::Table => Fault::NotFound,
        Nowhere::Method(allow) => Fault::WrongMethod(allow),
        Nowhere::Operation => Fault::UnknownOperation,
        Nowhere::Payload => match zonai_data::Payload::parse(payload) {
            Err(error) => Fault::BadRequest(error.to_string()),
            Ok(_) => Fault::BadRequest("`table` must be given, as a text".to_owned()),
        },
    }
}
