//! What HTTP adds to the limiter: who the client is, which bucket a payload names, what a 429 looks like.
//!
//! Everything here is a function of its arguments. This crate must never open a socket, touch a table or
//! SQL, spawn a task, or read a clock; the listener and the way of a request are the business of `zonai-server`.

pub mod cidr;
pub mod client;
pub mod guard;
pub mod payload;
pub mod proxy_protocol;
pub mod refusal;
pub mod trusted;

pub use cidr::{CidrError, CidrList};
pub use client::{
    Found, Step, StepSink, find_client, find_client_with, has_forwarded, trace_client,
};
pub use guard::{GuardFuture, RateLimitLayer, RateLimited, Target};
pub use payload::{
    Field, Named, Progress, QueryBody, QueryError, Scanner, Want, decode_body_param, scan_query,
};
pub use proxy_protocol::Parsed;
pub use refusal::{
    DraftLimit, EXPOSED_HEADERS, RefusedRequest, allow_origin, draft_headers, too_many_requests,
};
pub use trusted::{TrustedProxy, TrustedProxyError, Warning};
