//! A service that asks the limiter first.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{Either, Full};
use tower_service::Service;
use zonai_clock::Clock;
use zonai_limit::Limiter;

use super::{GuardFuture, Target};

/// A service behind the limiter. Its body is that of the inner service, or the few bytes of a refusal.
#[derive(Clone)]
pub struct RateLimited<S, F> {
    inner: S,
    limiter: Arc<Limiter>,
    clock: Clock,
    target: F,
}

impl<S, F> RateLimited<S, F> {
    pub(super) fn new(inner: S, limiter: Arc<Limiter>, clock: Clock, target: F) -> Self {
        Self {
            inner,
            limiter,
            clock,
            target,
        }
    }
}

impl<S, F, B, R> Service<Request<B>> for RateLimited<S, F>
where
    S: Service<Request<B>, Response = Response<R>> + Clone,
    F: Fn(&Request<B>) -> Option<Target>,
{
    type Response = Response<Either<R, Full<Bytes>>>;
    type Error = S::Error;
    type Future = GuardFuture<S, B>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Some(target) = (self.target)(&request) else {
            return GuardFuture::inner(self.inner.call(request));
        };
        let now = self.clock.now();
        let operation = [target.operation];
        match self
            .limiter
            .check_now(now, target.client, &target.ask(&operation))
        {
            Some(verdict) => match super::future::refusal(verdict, now, &self.clock) {
                Some(refused) => GuardFuture::refused(refused),
                None => GuardFuture::inner(self.inner.call(request)),
            },
            // A policy has to be asked. The service that was made ready goes along; a copy stays.
            None => {
                let copy = self.inner.clone();
                let ready = std::mem::replace(&mut self.inner, copy);
                GuardFuture::asking(
                    Arc::clone(&self.limiter),
                    self.clock.clone(),
                    now,
                    target,
                    ready,
                    request,
                )
            }
        }
    }
}

impl<S: fmt::Debug, F> fmt::Debug for RateLimited<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimited")
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}
