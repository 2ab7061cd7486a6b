//! The answer of a guarded service: the inner one's, or the refusal.
//!
//! Must never call the inner service before the limiter has let the request through.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::{Either, Full};
use pin_project_lite::pin_project;
use tower_service::Service;
use zonai_clock::Clock;
use zonai_limit::{Limiter, Moment, Verdict};

use super::Target;
use crate::{RefusedRequest, too_many_requests};

type Asking = Pin<Box<dyn Future<Output = Option<Response<Bytes>>> + Send>>;

pin_project! {
    /// The future of [`RateLimited`](super::RateLimited).
    pub struct GuardFuture<S: Service<Request<B>>, B> {
        #[pin]
        state: State<S, B>,
    }
}

pin_project! {
    #[project = StateProjection]
    enum State<S: Service<Request<B>>, B> {
        Inner { #[pin] future: S::Future },
        Refused { response: Option<Response<Bytes>> },
        Asking { verdict: Asking, waiting: Option<(S, Request<B>)> },
    }
}

impl<S: Service<Request<B>>, B> GuardFuture<S, B> {
    pub(super) fn inner(future: S::Future) -> Self {
        Self {
            state: State::Inner { future },
        }
    }

    pub(super) fn refused(response: Response<Bytes>) -> Self {
        Self {
            state: State::Refused {
                response: Some(response),
            },
        }
    }

    pub(super) fn asking(
        limiter: Arc<Limiter>,
        clock: Clock,
        now: Moment,
        target: Target,
        ready: S,
        request: Request<B>,
    ) -> Self {
        let verdict = Box::pin(async move {
            let verdict = limiter
                .check(now, target.client, &target.ask(&[target.operation]))
                .await;
            // The policy may have been waited for.
            refusal(verdict, clock.now(), &clock)
        });
        Self {
            state: State::Asking {
                verdict,
                waiting: Some((ready, request)),
            },
        }
    }
}

impl<S, B, R> Future for GuardFuture<S, B>
where
    S: Service<Request<B>, Response = Response<R>>,
{
    type Output = Result<Response<Either<R, Full<Bytes>>>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            let (refused, waiting) = match state.as_mut().project() {
                StateProjection::Inner { future } => {
                    return future
                        .poll(cx)
                        .map_ok(|response| response.map(Either::Left));
                }
                StateProjection::Refused { response } => (response.take(), None),
                StateProjection::Asking { verdict, waiting } => {
                    (ready!(verdict.as_mut().poll(cx)), waiting.take())
                }
            };
            if let Some(refused) = refused {
                return Poll::Ready(Ok(refused.map(|body| Either::Right(Full::new(body)))));
            }
            // Polled again after it was ready: like other futures of the kind, it has nothing more to say.
            let Some((mut ready, request)) = waiting else {
                return Poll::Pending;
            };
            state.set(State::Inner {
                future: ready.call(request),
            });
        }
    }
}

/// The response to a request that may not go on.
pub(super) fn refusal(verdict: Verdict, now: Moment, clock: &Clock) -> Option<Response<Bytes>> {
    match verdict {
        Verdict::Admitted(_) => None,
        Verdict::Refused(refusal) => Some(too_many_requests(&RefusedRequest::new(
            &refusal, now, clock,
        ))),
        Verdict::Misregistered(misregistered) => {
            let mut body = b"{\"error\":".to_vec();
            crate::refusal::push_json(&mut body, &misregistered.to_string());
            body.push(b'}');
            let mut response = Response::new(body.into());
            *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
            response.headers_mut().insert(
                header::CONTENT_TYPE,
                HeaderValue::from_static("application/json"),
            );
            Some(response)
        }
    }
}

impl<S: Service<Request<B>>, B> fmt::Debug for GuardFuture<S, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GuardFuture").finish_non_exhaustive()
    }
}
