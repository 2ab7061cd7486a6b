//! The one place that turns errors into answers.
//!
//! What a caller reads never holds internals; what the operator needs was logged where the fault arose. A 429 is no
//! error and is not built here.

use bytes::Bytes;
use http::{HeaderValue, StatusCode, header};
use serde_json::{Value, json};
use zonai_auth::AuthError;
use zonai_connection::BodyCut;
use zonai_data::DataError;

use crate::reply::{self, Answer};
use crate::way;

/// What can be wrong with a request outside the data layer and the accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// 400, with what is wrong.
    BadRequest(String),
    /// 403.
    Forbidden,
    /// 404, for routes and tables alike.
    NotFound,
    /// 404, for a custom operation that is not registered.
    UnknownOperation,
    /// 405, with what the path takes.
    WrongMethod(&'static str),
    /// 415.
    NotJson,
    /// 500: a table's limits are registered twice. The one internal text a caller sees.
    Misregistered(String),
}

/// The answer to a fault.
pub(crate) fn answer(fault: &Fault) -> Answer {
    match fault {
        Fault::BadRequest(text) => error(StatusCode::BAD_REQUEST, text),
        Fault::Forbidden => error(StatusCode::FORBIDDEN, "Forbidden"),
        Fault::NotFound => error(StatusCode::NOT_FOUND, "Not found"),
        Fault::UnknownOperation => error(StatusCode::NOT_FOUND, "Unknown operation"),
        Fault::WrongMethod(allow) => {
            let mut answer = error(StatusCode::METHOD_NOT_ALLOWED, "Method not allowed");
            answer
                .headers_mut()
                .insert(header::ALLOW, HeaderValue::from_static(allow));
            answer
        }
        Fault::NotJson => error(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "The payload must be JSON (Content-Type: application/json)",
        ),
        Fault::Misregistered(text) => error(StatusCode::INTERNAL_SERVER_ERROR, text),
    }
}

/// The answer to an error of the data layer.
pub(crate) fn data(fault: &DataError) -> Answer {
    match fault {
        DataError::BadRequest(text) => error(StatusCode::BAD_REQUEST, text),
        DataError::Forbidden => error(StatusCode::FORBIDDEN, "Forbidden"),
        DataError::NotFound => error(StatusCode::NOT_FOUND, "Not found"),
        DataError::RecordNotFound { .. } => error(StatusCode::NOT_FOUND, &fault.to_string()),
        DataError::Conflict(text) => error(StatusCode::CONFLICT, text),
        DataError::PreconditionFailed { message, details } => body(
            StatusCode::PRECONDITION_FAILED,
            &json!({"error": {"code": "precondition_failed", "message": message, "details": details}}),
        ),
        DataError::Unprocessable(text) => error(StatusCode::UNPROCESSABLE_ENTITY, text),
        DataError::BusyWriting
        | DataError::BusyReading
        | DataError::BrokenOff
        | DataError::NoRoom => busy(&fault.to_string()),
        _ => internal(),
    }
}

/// The answer to an error of the accounts.
pub(crate) fn auth(fault: &AuthError) -> Answer {
    match fault {
        AuthError::BadRequest(text) => error(StatusCode::BAD_REQUEST, text),
        AuthError::Unauthorized(text) => unauthorized(text),
        AuthError::Forbidden => error(StatusCode::FORBIDDEN, "Forbidden"),
        AuthError::Conflict(text) => error(StatusCode::CONFLICT, text),
        AuthError::Unprocessable(text) => error(StatusCode::UNPROCESSABLE_ENTITY, text),
        AuthError::NotFound(text) => error(StatusCode::NOT_FOUND, text),
        AuthError::Busy(text) => busy(text),
        _ => internal(),
    }
}

/// The answer to a body that was not read to its end.
pub(crate) fn cut(cut: BodyCut, max: usize) -> Answer {
    match cut {
        BodyCut::TooLarge => error(
            StatusCode::PAYLOAD_TOO_LARGE,
            &format!("The payload is larger than {max} bytes"),
        ),
        BodyCut::NoRoom => {
            busy("Server is busy receiving; retry shortly (request bodies saturated).")
        }
        BodyCut::TooSlow => {
            let mut answer = busy("The payload did not come in time.");
            way::close(&mut answer);
            answer
        }
        BodyCut::Aborted => error(StatusCode::BAD_REQUEST, "The payload was cut off"),
    }
}

/// 503 for everyone: not a rate limit, and so without its headers.
pub(crate) fn busy(text: &str) -> Answer {
    let mut answer = error(StatusCode::SERVICE_UNAVAILABLE, text);
    answer
        .headers_mut()
        .insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    answer
}

/// 500; its cause was logged where it arose.
fn internal() -> Answer {
    error(StatusCode::INTERNAL_SERVER_ERROR, "Internal error")
}

fn unauthorized(text: &str) -> Answer {
    let mut answer = error(StatusCode::UNAUTHORIZED, text);
    answer
        .headers_mut()
        .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    answer
}

fn error(status: StatusCode, text: &str) -> Answer {
    body(status, &json!({"error": text}))
}

fn body(status: StatusCode, value: &Value) -> Answer {
    reply::json(status, Bytes::from(value.to_string()))
}
