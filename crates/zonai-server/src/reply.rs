//! What an answer is made of: whole JSON bodies, and bodies that stay open.
//!
//! Must never decide on a status: errors are mapped in [`crate::errors`], refusals are built by `zonai-http`.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::Stream;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use serde_json::Value;
use zonai_connection::{Held, Hold, InFlight};
use zonai_data::DataError;
use zonai_limit::Client;

/// The body of an answer.
pub(crate) struct Reply {
    content: Content,
    /// Held until the body was handed over, so that the connection is not taken for idle.
    in_flight: Option<InFlight>,
    /// Held as long, of an answer that is large.
    room: Option<Hold>,
}

/// An answer is handed over in pieces of so many bytes, so that of one whose reader is slow the rest stays here, where it is
/// counted.
const PIECE: usize = 64 * 1024;

/// Messages of a body that stays open; the end of the stream ends the body.
pub(crate) type Messages = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

enum Content {
    Whole(Bytes),
    Open(Messages),
}

/// An answer.
pub(crate) type Answer = Response<Reply>;

impl Reply {
    pub(crate) fn whole(bytes: Bytes) -> Self {
        Self {
            content: Content::Whole(bytes),
            in_flight: None,
            room: None,
        }
    }

    pub(crate) fn open(messages: Messages) -> Self {
        Self {
            content: Content::Open(messages),
            in_flight: None,
            room: None,
        }
    }

    /// Keeps the connection busy for as long as the body lasts.
    pub(crate) fn hold(&mut self, in_flight: InFlight) {
        self.in_flight = Some(in_flight);
    }
}

/// Takes room for an answer that was only read, so that nothing is lost where there is none: then it is 503.
pub(crate) fn with_room(mut answer: Answer, answers: &Arc<Held>, client: Client) -> Answer {
    let Content::Whole(bytes) = &answer.body().content else {
        return answer;
    };
    if bytes.len() <= Hold::SMALL {
        return answer;
    }
    let mut room = answers.hold(client);
    if !room.grow(bytes.len()) {
        return crate::errors::data(&DataError::NoRoom);
    }
    answer.body_mut().room = Some(room);
    answer
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.get_mut().content {
            Content::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Content::Whole(bytes) => {
                let piece = bytes.split_to(bytes.len().min(PIECE));
                Poll::Ready(Some(Ok(Frame::data(piece))))
            }
            Content::Open(messages) => messages
                .as_mut()
                .poll_next(cx)
                .map(|message| message.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.content, Content::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Content::Open(_) => SizeHint::default(),
        }
    }
}

/// `{"data": …}`.
pub(crate) fn data(value: &Value) -> Answer {
    let mut bytes = Vec::with_capacity(128);
    bytes.extend_from_slice(b"{\"data\":");
    // Writing JSON to memory fails for no value that was read from JSON or SQLite.
    if let Err(cause) = serde_json::to_writer(&mut bytes, value) {
        return crate::errors::data(&DataError::internal("writing an answer", &cause));
    }
    bytes.push(b'}');
    json(StatusCode::OK, bytes.into())
}

/// 204.
pub(crate) fn no_content() -> Answer {
    let mut answer = Response::new(Reply::whole(Bytes::new()));
    *answer.status_mut() = StatusCode::NO_CONTENT;
    answer
}

/// A whole JSON body.
pub(crate) fn json(status: StatusCode, body: Bytes) -> Answer {
    let mut answer = Response::new(Reply::whole(body));
    *answer.status_mut() = status;
    answer.headers_mut().insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    answer
}
