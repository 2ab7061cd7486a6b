//! What happens to the part of a body that nobody will read.
//!
//! A little of it is read and dropped, so that the connection can be kept; from more the connection is closed, slowly
//! enough that the answer is not lost to a reset. Must never make an answer wait.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body::Body;
use hyper::body::Incoming;

use zonai_connection::InFlight;

use crate::reply::Answer;
use crate::state::State;

/// So much is read and dropped to keep a connection.
const KEEP: u64 = 64 * 1024;
/// How long a small rest may take to come.
const WITHIN: Duration = Duration::from_secs(5);

/// How often the connection is given its turn to hand over what has come.
const TURNS: u32 = 2;

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

/// How much is left of a body whose length nobody announced: nothing, where its end has come and was not far; else
/// `None`. Drops what has come and waits for no more.
pub(crate) async fn left_of_unannounced(incoming: &mut Incoming) -> Option<u64> {
    let (mut room, mut turns) = (KEEP, TURNS);
    std::future::poll_fn(|cx| {
        loop {
            match Pin::new(&mut *incoming).poll_frame(cx) {
                Poll::Ready(None) => return Poll::Ready(Some(0)),
                Poll::Ready(Some(Err(_))) => return Poll::Ready(None),
                Poll::Ready(Some(Ok(frame))) => {
                    let bytes = frame.data_ref().map_or(0, Bytes::len);
                    match room.checked_sub(u64::try_from(bytes).unwrap_or(u64::MAX)) {
                        Some(left) => (room, turns) = (left, TURNS),
                        None => return Poll::Ready(None),
                    }
                }
                Poll::Pending if turns == 0 => return Poll::Ready(None),
                Poll::Pending => {
                    turns -= 1;
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
        }
    })
    .await
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
            in_flight.activity().linger();
            crate::way::close(&mut answer);
        }
    }
    answer
}

/// Reads and drops what is left of a small body, so that the connection can be kept. Bounded by the caller.
async fn drop_rest(mut body: Incoming, mut bytes: usize, within: Duration) {
    use http_body_util::BodyExt;
    let drain = async {
        while let Some(Ok(frame)) = body.frame().await {
            let len = frame.data_ref().map_or(0, Bytes::len);
            match bytes.checked_sub(len) {
                Some(left) => bytes = left,
                None => break,
            }
        }
    };
    let _ = tokio::time::timeout(within, drain).await;
}
