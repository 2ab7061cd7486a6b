//! Bodies of requests: read piece by piece, in bounded memory and bounded time.
//!
//! What they hold is bounded ([`Held`]), because most of it is held before anybody was admitted. Must never parse:
//! pieces are handed to the scanner, the whole to the data layer.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use hyper::body::Incoming;
use tokio::time::Sleep;
use zonai_limit::Client;
use zonai_project::settings::Bounds;

use crate::held::{Held, Hold};

/// Why a body was not read to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyCut {
    /// It is larger than a payload may be.
    TooLarge,
    /// Bodies hold all the memory they may.
    NoRoom,
    /// It did not come in time.
    TooSlow,
    /// The client went away, or broke the protocol.
    Aborted,
}

/// A body that is being read.
pub struct BodyReader {
    incoming: Incoming,
    bytes: Vec<u8>,
    max: usize,
    ended: bool,
    /// Where in memory the piece ends that came last.
    last_end: Option<usize>,
    timeout: Duration,
    /// Begins when the body is waited for the first time: most have come with their head.
    deadline: Option<Pin<Box<Sleep>>>,
    hold: Hold,
}

impl BodyReader {
    /// Nothing is read yet; what will be is held on behalf of `client`.
    pub fn new(incoming: Incoming, held: &Arc<Held>, client: Client, bounds: &Bounds) -> Self {
        Self {
            ended: incoming.is_end_stream(),
            incoming,
            bytes: Vec::new(),
            last_end: None,
            max: bounds.payload,
            timeout: bounds.body_timeout,
            deadline: None,
            hold: held.hold(client),
        }
    }

    /// The next piece; `None` at the end.
    ///
    /// # Errors
    /// Why there is no next piece, though it was not the last.
    pub async fn next(&mut self) -> Result<Option<&[u8]>, BodyCut> {
        while !self.ended {
            match self.frame().await? {
                None => self.ended = true,
                Some(Err(_)) => return Err(BodyCut::Aborted),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.ended = self.incoming.is_end_stream();
                        self.last_end = Some(data.as_ptr_range().end.addr());
                        return self.keep(&data).map(Some);
                    }
                }
            }
        }
        Ok(None)
    }

    async fn frame(&mut self) -> Result<Option<Result<Frame<Bytes>, hyper::Error>>, BodyCut> {
        std::future::poll_fn(|cx| {
            if let Poll::Ready(frame) = Pin::new(&mut self.incoming).poll_frame(cx) {
                return Poll::Ready(Ok(frame));
            }
            let timeout = self.timeout;
            let deadline = self
                .deadline
                .get_or_insert_with(|| Box::pin(tokio::time::sleep(timeout)));
            deadline.as_mut().poll(cx).map(|()| Err(BodyCut::TooSlow))
        })
        .await
    }

    fn keep(&mut self, data: &Bytes) -> Result<&[u8], BodyCut> {
        if self.bytes.len() + data.len() > self.max {
            return Err(BodyCut::TooLarge);
        }
        if !self.hold.grow(data.len()) {
            return Err(BodyCut::NoRoom);
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(data);
        Ok(self.bytes.get(start..).unwrap_or_default())
    }

    /// Reads to the end.
    ///
    /// # Errors
    /// As [`BodyReader::next`].
    pub async fn rest(&mut self) -> Result<(), BodyCut> {
        while self.next().await?.is_some() {}
        Ok(())
    }

    /// What was read.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where in memory the body ends, if it was read to its end.
    pub fn end(&self) -> Option<usize> {
        self.last_end.filter(|_| self.ended)
    }

    /// How many bytes are still to come: `None` where that is not known.
    pub fn left(&self) -> Option<u64> {
        if self.ended {
            Some(0)
        } else {
            self.incoming.size_hint().exact()
        }
    }

    /// The body itself, to drop what is left of it.
    pub fn into_incoming(self) -> Incoming {
        self.incoming
    }
}
