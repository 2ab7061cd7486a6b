//! Connections: sockets to listen on, places for those who connect, idle and overdue ones, HTTP/1.1 or HTTP/2 on each,
//! and the memory that their bodies and answers may hold.
//!
//! What a request means is the business of whoever implements [`Serve`]. Must never look into a request, and never decide on one; a
//! refusal is only repeated where its maker says that it still holds.

mod activity;
mod body;
mod held;
mod listen;
mod repeat;
mod serve;
mod socket;

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use tokio_util::task::TaskTracker;
use zonai_clock::Clock;

pub use activity::{Activity, InFlight, Watch};
pub use body::{BodyCut, BodyReader};
pub use held::{Held, Hold};
pub use listen::{ListenError, Listener, accept, bind_all};
pub use repeat::Refused;

/// What a connection needs of the server that it belongs to.
pub trait Serve: Send + Sync + 'static {
    /// The body of an answer.
    type Body: http_body::Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>>
        + Send
        + 'static;
    /// An answer that is being made.
    type Answering: Future<Output = Result<Response<Self::Body>, Infallible>> + Send + 'static;

    /// Answers one request. `peer` is the connection's, or what its PROXY header said; `in_flight` is dropped when the answer
    /// is handed over.
    fn answer(
        self: &Arc<Self>,
        peer: Option<IpAddr>,
        request: Request<Incoming>,
        in_flight: InFlight,
    ) -> Self::Answering;

    /// Whether connections of this peer begin with a PROXY header.
    fn expects_proxy_header(&self, peer: Option<IpAddr>) -> bool;

    /// All open connections.
    fn watch(&self) -> &Arc<Watch>;

    /// What the idle and the overdue are told by.
    fn clock(&self) -> &Clock;

    /// Where connections and their requests run: a stop waits for them.
    fn tasks(&self) -> &TaskTracker;

    /// To be counted.
    fn turned_away(&self, why: TurnedAway);
}

/// Why a connection was closed before anything was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TurnedAway {
    /// All places are taken.
    NoPlace,
    /// What was to be its PROXY header is none.
    NoProxyHeader,
}
