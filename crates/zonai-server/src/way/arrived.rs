//! A request as it came, and the answer as it leaves: what every way has in common.
//!
//! Must never decide anything about a request.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use http::{HeaderValue, Request, request::Parts};
use http_body::Body;
use hyper::body::Incoming;
use zonai_connection::{InFlight, Refused};

use super::leftover;
use crate::cors;
use crate::reply::Answer;
use crate::state::State;

/// A request as it came.
pub(super) struct Arrived {
    pub(super) parts: Parts,
    pub(super) incoming: Incoming,
    pub(super) leaving: Leaving,
}

/// What is needed of a request when its answer leaves.
pub(super) struct Leaving {
    pub(super) in_flight: InFlight,
    /// Of a request by a page of another origin: the origin, where it is allowed.
    cross: Option<Option<HeaderValue>>,
}

impl Arrived {
    pub(super) fn new(state: &State, request: Request<Incoming>, mut in_flight: InFlight) -> Self {
        let (parts, incoming) = request.into_parts();
        if incoming.is_end_stream() {
            in_flight.ends_with_head();
        }
        let cross = parts
            .headers
            .contains_key(http::header::ORIGIN)
            .then(|| state.origins.allowed(&parts.headers));
        Self {
            parts,
            incoming,
            leaving: Leaving { in_flight, cross },
        }
    }

    /// The limiter refuses it, and nothing else was asked.
    pub(super) fn refused(&self, refused: impl FnOnce() -> Box<dyn Refused>) {
        if self.incoming.is_end_stream() {
            self.leaving.in_flight.activity().refused(refused);
        }
    }

    /// The answer to a browser that asks whether it may ask.
    pub(super) fn preflight(&self) -> Option<Answer> {
        let origin = self.leaving.cross.as_ref()?;
        cors::is_preflight(&self.parts.method, &self.parts.headers)
            .then(|| cors::preflight(&self.parts.headers, origin.as_ref()))
    }

    /// The answer to a request of whose body nothing was read.
    pub(super) fn leave(self, state: &Arc<State>, answer: Answer) -> Answer {
        // Most requests have no body: they are spared the copies.
        let answer = if self.incoming.is_end_stream() {
            answer
        } else {
            leftover::settle(state, &self.leaving.in_flight, answer, self.incoming)
        };
        self.leaving.finish(state, answer)
    }

    /// Whether a body comes whose length nobody announced.
    pub(super) fn is_unannounced(&self) -> bool {
        !self.incoming.is_end_stream() && self.incoming.size_hint().exact().is_none()
    }

    /// As [`Self::leave`], where the body may be an unannounced one.
    pub(super) async fn leave_late(mut self, state: &Arc<State>, answer: Answer) -> Answer {
        if self.is_unannounced()
            && leftover::left_of_unannounced(&mut self.incoming).await == Some(0)
        {
            return self.leaving.finish(state, answer);
        }
        self.leave(state, answer)
    }
}

impl Leaving {
    /// The last touch of every answer.
    pub(super) fn finish(self, state: &State, mut answer: Answer) -> Answer {
        if let Some(origin) = self.cross {
            cors::allow(&mut answer, origin);
        }
        state.telemetry.answered(answer.status());
        answer.body_mut().hold(self.in_flight);
        answer
    }
}

/// An answer that is there, or the work that makes it.
pub(crate) enum Answering {
    Now(Option<Answer>),
    Later(Pin<Box<dyn Future<Output = Answer> + Send>>),
}

impl Future for Answering {
    type Output = Result<Answer, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.get_mut() {
            // Polled again after its end it waits for ever, as a future may.
            Self::Now(answer) => answer
                .take()
                .map_or(Poll::Pending, |answer| Poll::Ready(Ok(answer))),
            Self::Later(work) => work.as_mut().poll(cx).map(Ok),
        }
    }
}
