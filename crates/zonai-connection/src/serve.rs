//! One connection, from its first byte to its last: PROXY header, HTTP/1.1 or HTTP/2, and a close that loses no answer.
//!
//! Must never look into a request: that is the business of [`Serve`].

use std::future::poll_fn;
use std::net::{IpAddr, SocketAddr};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::BytesMut;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::AsyncReadExt;
use tokio_util::task::TaskTracker;
use zonai_http::{Parsed, proxy_protocol};

use crate::activity::{Activity, Told, Watched};
use crate::socket::{Socket, Stream};
use crate::{Serve, TurnedAway};

/// How HTTP/2 says hello (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The most bytes of one request head.
const MAX_HEAD: usize = 64 * 1024;

/// Serves one connection until it ends, is overdue, or the server stops.
pub(crate) async fn serve<S: Serve>(
    server: Arc<S>,
    stream: Stream,
    peer: Option<SocketAddr>,
    watched: Watched,
) {
    let activity = Arc::clone(&watched.activity);
    let mut socket = Socket::new(stream, Arc::clone(&activity));
    let begun = {
        let mut begin = pin!(begin(&*server, &mut socket, peer));
        poll_fn(|cx| match activity.told(cx) {
            Told::Nothing => begin.as_mut().poll(cx),
            // Nothing was asked yet.
            Told::Finish | Told::End => Poll::Ready(None),
        })
        .await
    };
    let Some(begun) = begun else { return };
    if begun.http2 {
        activity.set_multiplexed();
        serve_http2(server, socket, begun.peer, &watched).await;
    } else {
        serve_http1(server, socket, begun.peer, &watched).await;
    }
}

/// What the first bytes said.
struct Begun {
    peer: Option<IpAddr>,
    http2: bool,
}

/// Reads the PROXY header where one is due, and tells HTTP/2 from HTTP/1.1.
async fn begin(
    server: &impl Serve,
    socket: &mut Socket,
    peer: Option<SocketAddr>,
) -> Option<Begun> {
    let mut ahead = BytesMut::with_capacity(1_024);
    let mut client = peer.map(|peer| peer.ip());
    if server.expects_proxy_header(client) {
        loop {
            match proxy_protocol::parse(&ahead) {
                Parsed::Header { consumed, source } => {
                    let _ = ahead.split_to(consumed);
                    client = source.map_or(client, |source| Some(source.ip()));
                    break;
                }
                Parsed::Invalid => {
                    server.turned_away(TurnedAway::NoProxyHeader);
                    return None;
                }
                Parsed::NeedMore => {
                    if socket.read_buf(&mut ahead).await.ok()? == 0 {
                        return None;
                    }
                }
            }
        }
    }
    while ahead.len() < PREFACE.len() && PREFACE.starts_with(&ahead) {
        if socket.read_buf(&mut ahead).await.ok()? == 0 {
            break;
        }
    }
    let http2 = ahead.starts_with(PREFACE);
    socket.unread(ahead.freeze());
    Some(Begun {
        peer: client,
        http2,
    })
}

async fn serve_http1<S: Serve>(
    server: Arc<S>,
    socket: Socket,
    peer: Option<IpAddr>,
    watched: &Watched,
) {
    let activity = &watched.activity;
    let service = service_fn(|request| server.answer(peer, request, activity.request()));
    // Without `pipeline_flush`: it holds an answer back while bytes of a next request are there, and a connection that
    // closes meanwhile (a head that cannot be read, `connection: close` with a stray line after it) would lose it.
    // Head and body are copied into one buffer: for answers of some kilobytes that is cheaper than a vectored write.
    let connection = http1::Builder::new()
        .max_buf_size(MAX_HEAD)
        .writev(false)
        .serve_connection(TokioIo::new(socket), service);
    until_told(activity, pin!(connection), |connection| {
        connection.graceful_shutdown()
    })
    .await;
}

async fn serve_http2<S: Serve>(
    server: Arc<S>,
    socket: Socket,
    peer: Option<IpAddr>,
    watched: &Watched,
) {
    let activity = Arc::clone(&watched.activity);
    let tasks = Tracked(server.tasks().clone());
    let service = service_fn(move |request| server.answer(peer, request, activity.request()));
    let connection = http2::Builder::new(tasks)
        .timer(TokioTimer::new())
        .max_concurrent_streams(128)
        .max_header_list_size(u32::try_from(MAX_HEAD).unwrap_or(u32::MAX))
        .initial_stream_window_size(64 * 1024)
        .keep_alive_interval(Duration::from_secs(20))
        .keep_alive_timeout(Duration::from_secs(10))
        .serve_connection(TokioIo::new(socket), service);
    until_told(&watched.activity, pin!(connection), |connection| {
        connection.graceful_shutdown()
    })
    .await;
}

/// Drives a connection until it is over or told to end. Told to finish, it is asked to by `finish`.
async fn until_told<C: Future>(
    activity: &Activity,
    mut connection: Pin<&mut C>,
    finish: impl Fn(Pin<&mut C>),
) {
    let mut finishing = false;
    poll_fn(|cx| {
        match activity.told(cx) {
            Told::End => return Poll::Ready(()),
            Told::Finish if !finishing => {
                finishing = true;
                finish(connection.as_mut());
            }
            Told::Finish | Told::Nothing => {}
        }
        connection.as_mut().poll(cx).map(drop)
    })
    .await;
}

/// Where HTTP/2 puts its requests: among the tasks that a stop waits for.
#[derive(Clone)]
struct Tracked(TaskTracker);

impl<F> hyper::rt::Executor<F> for Tracked
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    fn execute(&self, request: F) {
        self.0.spawn(request);
    }
}
