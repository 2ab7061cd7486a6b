//! The byte stream of one connection: TCP or Unix, with the bytes that were read ahead put back in front.
//!
//! Tells the connection's [`Activity`] what moves, and answers repeated refusals ([`Repeats`]). Must never interpret a
//! byte itself.

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::Sleep;

use crate::activity::Activity;
use crate::repeat::Repeats;

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
    /// The last bytes that were handed on.
    tail: [u8; 3],
    activity: Arc<Activity>,
    repeats: Repeats,
    /// What is still to be written of an answer of `repeats`.
    unwritten: Bytes,
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
            tail: [0; 3],
            activity,
            repeats: Repeats::default(),
            unwritten: Bytes::new(),
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

    /// Writes what is left of an answer of [`Repeats`], before anything else is read or written.
    fn write_rest(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.unwritten.is_empty() {
            let polled = self.stream.poll_write(cx, &self.unwritten);
            self.activity.write_stalled(polled.is_pending());
            match ready!(polled)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.unwritten.advance(written),
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Notes what the bytes end with that are handed on.
    fn hand_on(&mut self, bytes: &[u8]) {
        if let Some(tail) = bytes.last_chunk() {
            self.tail = *tail;
        } else {
            for &byte in bytes {
                self.tail = [self.tail[1], self.tail[2], byte];
            }
        }
        let is_blank = self.tail == *b"\n\r\n" || self.tail.ends_with(b"\n\n");
        let end = bytes.as_ptr_range().end.addr();
        self.activity.came(end, is_blank);
    }

    /// Puts bytes back in front.
    pub(crate) fn unread(&mut self, ahead: Bytes) {
        debug_assert!(self.ahead.is_empty(), "only one beginning is read ahead");
        self.ahead = ahead;
    }
}

impl Stream {
    fn poll_read(&mut self, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buf),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buf),
        }
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buf.filled().len();
        if this.ahead.has_remaining() {
            let len = this.ahead.remaining().min(buf.remaining());
            buf.put_slice(&this.ahead.split_to(len));
            this.hand_on(buf.filled().get(before..).unwrap_or_default());
            return Poll::Ready(Ok(()));
        }
        loop {
            ready!(this.write_rest(cx))?;
            ready!(this.stream.poll_read(cx, buf))?;
            let Some(bytes) = buf.filled().get(before..).filter(|bytes| !bytes.is_empty()) else {
                return Poll::Ready(Ok(()));
            };
            let Some(answer) = this.repeats.answer(bytes, &this.activity.handover) else {
                this.activity.bytes_read();
                this.hand_on(bytes);
                return Poll::Ready(Ok(()));
            };
            buf.set_filled(before);
            this.activity.repeated();
            let written = match this.stream.poll_write(cx, answer) {
                Poll::Ready(written) => written?,
                Poll::Pending => 0,
            };
            if let Some(rest) = answer.get(written..).filter(|rest| !rest.is_empty()) {
                this.unwritten = Bytes::copy_from_slice(rest);
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        ready!(this.write_rest(cx))?;
        let polled = this.stream.poll_write(cx, buf);
        this.activity.write_stalled(polled.is_pending());
        let written = ready!(polled)?;
        let ended = this.activity.is_ended();
        this.repeats
            .wrote(buf, written, ended, &this.activity.handover);
        Poll::Ready(Ok(written))
    }

    /// Of HTTP/2: [`Repeats`] sees none of it.
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
        let this = self.get_mut();
        ready!(this.write_rest(cx))?;
        ready!(match &mut this.stream {
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Unix(stream) => Pin::new(stream).poll_flush(cx),
        })?;
        this.repeats.flushed();
        Poll::Ready(Ok(()))
    }

    /// Closes the sending side. Where something was left unread on purpose, what still comes is dropped for a moment
    /// before the connection closes: closing at once would make the peer's kernel throw our answer away.
    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.shut {
            ready!(this.write_rest(cx))?;
            ready!(match &mut this.stream {
                Stream::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
                Stream::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
            })?;
            this.shut = true;
        }
        if !this.activity.lingers() {
            return Poll::Ready(Ok(()));
        }
        let mut dropped = [MaybeUninit::uninit(); 8 * 1024];
        loop {
            let mut buf = ReadBuf::uninit(&mut dropped);
            match this.stream.poll_read(cx, &mut buf) {
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
