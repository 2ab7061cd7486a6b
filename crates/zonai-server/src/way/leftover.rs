//! What happens to the part of a body that nobody will read.
//!
//! A little of it is read and dropped, so that the connection can be kept; from more the connection is closed, slowly
//! enough that the answer is not lost to a reset. Must never make an answer wait.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http_body::Body;
use hyper::body::Incoming;

use crate::connection::activity::InFlight;
use crate::connection::drop_rest;
use crate::reply::Answer;
use crate::state::State;

/// So much is read and dropped to keep a connection.
const KEEP: u64 = 64 * 1024;
/// How long a small rest may take to come.
const WITHIN: Duration = Duration::from_secs(5);

/// Settles a body of which nothing was read; there is one.
pub(crate) fn settle(
    state: &Arc<State>,
    in_flight: &InFlight,
    answer: Answer,
    incoming: Incoming,
) -> Answer {
    let left = incoming.size_hint().exact();
    settle_left(state, in_flight, answer, incoming, left)
}

/// Settles a body of which `left` bytes are still to come (`None`: nobody knows).
pub(crate) fn settle_left(
    state: &Arc<State>,
    in_flight: &InFlight,
    mut answer: Answer,
    incoming: Incoming,
    left: Option<u64>,
) -> Answer {
    match left {
        Some(0) => {}
        Some(left) if left <= KEEP => {
            let bytes = usize::try_from(left).unwrap_or(usize::MAX);
            state.spawn(drop_rest(incoming, bytes, WITHIN));
        }
        _ => {
            in_flight.activity().linger.store(true, Ordering::Relaxed);
            crate::way::close(&mut answer);
        }
    }
    answer
}
