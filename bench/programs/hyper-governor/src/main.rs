//! A peer: hyper with governor, 100 requests a minute per address, refusing with the headers Zonai sends.
//!
//! With the argument `forwarded` the address is that of `X-Forwarded-For`, so that one machine can play many clients.
//! What a careful author would write by hand. Must never be tuned for or against.

use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;

use bytes::Bytes;
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use http::{HeaderValue, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

struct Limits {
    limiter: DefaultKeyedRateLimiter<IpAddr>,
    clock: DefaultClock,
    forwarded: bool,
}

fn main() -> io::Result<()> {
    let usage = || io::Error::other("usage: hyper-governor PORT");
    let port = std::env::args().nth(1).ok_or_else(usage)?;
    let quota = Quota::per_minute(NonZeroU32::new(100).ok_or_else(usage)?);
    let limits = Arc::new(Limits {
        limiter: RateLimiter::keyed(quota),
        clock: DefaultClock::default(),
        forwarded: std::env::args()
            .nth(2)
            .is_some_and(|argument| argument == "forwarded"),
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
        loop {
            let (stream, peer) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(serve(stream, peer, Arc::clone(&limits)));
        }
    })
}

async fn serve(stream: TcpStream, peer: SocketAddr, limits: Arc<Limits>) {
    let service = service_fn(|request: Request<Incoming>| {
        let named = request
            .headers()
            .get("x-forwarded-for")
            .filter(|_| limits.forwarded);
        let named = named.and_then(|value| value.to_str().ok()?.parse().ok());
        let answer = answer(&limits, named.unwrap_or(peer.ip()));
        async { Ok::<_, Infallible>(answer) }
    });
    let _ = http1::Builder::new()
        .max_buf_size(64 * 1024)
        .pipeline_flush(true)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}

fn answer(limits: &Limits, client: IpAddr) -> Response<Full<Bytes>> {
    let Err(refused) = limits.limiter.check_key(&client) else {
        return Response::new(Full::new(Bytes::from_static(b"{}")));
    };
    let wait = refused
        .wait_time_from(limits.clock.now())
        .as_millis()
        .div_ceil(1_000)
        .max(1);
    let body = format!("{{\"error\":\"Rate limit exceeded\",\"retryAfter\":{wait}}}");
    let mut answer = Response::new(Full::new(Bytes::from(body)));
    *answer.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    let headers = answer.headers_mut();
    let seconds = u64::try_from(wait).unwrap_or(u64::MAX);
    headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    headers.insert("x-ratelimit-limit", HeaderValue::from_static("100"));
    headers.insert("x-ratelimit-remaining", HeaderValue::from_static("0"));
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    answer
}
