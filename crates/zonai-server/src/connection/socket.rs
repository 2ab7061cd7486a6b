//! The byte stream of one connection: TCP or Unix, with the bytes that were read ahead put back in front.
//!
//! Tells the connection's [`Activity`] what moves. Must never interpret a byte.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::Sleep;

use super::activity::Activity;

/// A connected socket.
#[derive(Debug)]
pub(crate) enum Stream {
    /// TCP.
    Tcp(TcpStream),
    /// A Unix socket.
    Unix(UnixStream),
}

/// A connected socket and what was read ahead of it.
#[derive(Debug)]
pub(crate) struct Socket {
    stream: Stream,
    ahead: Bytes,
    activity: Arc<Activity>,
    shut: bool,
    linger: Option<Pin<Box<Sleep>>>,
}

/// How long a peer that is still sending is listened to.
const LINGER: Duration = Duration::from_secs(1);

impl Socket {
    pub(crate) fn new(stream: Stream, activity: Arc<Activity>) -> Self {
        Self {
            stream,
            ahead: Bytes::new(),
            activity,
            shut: false,
            linger: None,
        }
    }

    fn lingering(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let linger = self
            .linger
            .get_or_insert_with(|| Box::pin(tokio::time::sleep(LINGER)));
        linger.as_mut().poll(cx)
    }

    /// Puts bytes back in front.
    pub(crate) fn unread(&mut self, ahead: Bytes) {
        debug_assert!(self.ahead.is_empty(), "only one beginning is read ahead");
        self.ahead = ahead;
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.ahead.has_remaining() {
            let len = this.ahead.remaining().min(buf.remaining());
            buf.put_slice(&this.ahead.split_to(len));
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        let read = match &mut this.stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
        };
        if buf.filled().len() > before {
            this.activity.bytes_read();
        }
        read
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = match &mut this.stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_write(cx, buf),
            Stream::Unix(stream) => Pin::new(stream).poll_write(cx, buf),
        };
        this.activity.write_stalled(written.is_pending());
        written
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = match &mut this.stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Stream::Unix(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        };
        this.activity.write_stalled(written.is_pending());
        written
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.get_mut().stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    /// Closes the sending side. Where something was left unread on purpose, what still comes is dropped for a moment
    /// before the connection closes: closing at once would make the peer's kernel throw our answer away.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.shut {
            ready!(match &mut this.stream {
                Stream::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
                Stream::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            })?;
            this.shut = true;
        }
        if !this.activity.linger.load(Ordering::Relaxed) {
            return Poll::Ready(Ok(()));
        }
        let mut dropped = [MaybeUninit::uninit(); 8 * 1024];
        loop {
            let mut buf = ReadBuf::uninit(&mut dropped);
            let read = match &mut this.stream {
                Stream::Tcp(stream) => Pin::new(stream).poll_read(cx, &mut buf),
                Stream::Unix(stream) => Pin::new(stream).poll_read(cx, &mut buf),
            };
            match read {
                Poll::Ready(Ok(())) if !buf.filled().is_empty() => {}
                Poll::Ready(_) => return Poll::Ready(Ok(())),
                Poll::Pending => break,
            }
            // A peer that never stops sending is not listened to for longer than one that pauses.
            if this.lingering(cx).is_ready() {
                return Poll::Ready(Ok(()));
            }
        }
        this.lingering(cx).map(Ok)
    }
}
