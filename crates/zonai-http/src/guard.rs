//! The limiter as a `tower` layer, for any other HTTP service: the caller chooses the bucket, the refusal is the same 429.
//!
//! Counts in memory; to keep counts over a restart, let a store follow the limiter's counters. Must never call the inner
//! service for a request that was refused.

mod future;
mod layer;
mod service;

pub use future::GuardFuture;
pub use layer::RateLimitLayer;
pub use service::RateLimited;

use zonai_limit::{Ask, Bucket, Client, CustomId, Operation};

/// What one request is counted as.
///
/// ```
/// use zonai_http::Target;
/// use zonai_limit::{Bucket, Client, Operation, Shared};
/// let target = Target::new(Client::Local, Bucket::Shared(Shared::Admin), Operation::Admin);
/// assert!(!target.exempt);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Who asks; see [`find_client`](crate::find_client).
    pub client: Client,
    /// A table of the limiter, or a shared bucket.
    pub bucket: Bucket,
    /// What it does.
    pub operation: Operation,
    /// For [`Operation::Custom`]: which.
    pub custom: Option<CustomId>,
    /// Counted, never refused.
    pub exempt: bool,
}

impl Target {
    /// A request of `client` that is not exempt and names no custom operation.
    #[must_use]
    pub const fn new(client: Client, bucket: Bucket, operation: Operation) -> Self {
        Self {
            client,
            bucket,
            operation,
            custom: None,
            exempt: false,
        }
    }

    fn ask<'a>(&self, operation: &'a [Operation; 1]) -> Ask<'a> {
        Ask {
            bucket: self.bucket,
            operations: operation,
            custom: self.custom,
            exempt: self.exempt,
        }
    }
}
