//! What is put around a service.

use std::fmt;
use std::sync::Arc;

use tower_layer::Layer;
use zonai_clock::Clock;
use zonai_limit::Limiter;

use super::RateLimited;

/// Puts [`RateLimited`] around a service. `target` is asked once a request: `Fn(&Request<B>) -> Option<Target>`;
/// `None` lets the request through uncounted.
#[derive(Clone)]
pub struct RateLimitLayer<F> {
    limiter: Arc<Limiter>,
    clock: Clock,
    target: F,
}

impl<F> RateLimitLayer<F> {
    /// A layer that asks `limiter`, at the time of `clock`, about what `target` says of a request.
    #[must_use]
    pub fn new(limiter: Arc<Limiter>, clock: Clock, target: F) -> Self {
        Self {
            limiter,
            clock,
            target,
        }
    }
}

impl<S, F: Clone> Layer<S> for RateLimitLayer<F> {
    type Service = RateLimited<S, F>;

    fn layer(&self, inner: S) -> Self::Service {
        RateLimited::new(
            inner,
            Arc::clone(&self.limiter),
            self.clock.clone(),
            self.target.clone(),
        )
    }
}

impl<F> fmt::Debug for RateLimitLayer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateLimitLayer").finish_non_exhaustive()
    }
}
