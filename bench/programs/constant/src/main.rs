//! The floor: hyper as Zonai uses it, answering every request with one constant 200.
//!
//! Same runtime, same connection settings, a body as long as a refusal's. Must never read the request.

use std::convert::Infallible;
use std::io;

use bytes::Bytes;
use http::{HeaderValue, Response, header};
use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

const BODY: &[u8] =
    br#"{"error":"Rate limit exceeded","collection":"items","operation":"get","retryAfter":42}"#;

fn main() -> io::Result<()> {
    let port = std::env::args()
        .nth(1)
        .ok_or_else(|| io::Error::other("usage: constant PORT"))?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(format!("127.0.0.1:{port}")).await?;
        loop {
            let (stream, _) = listener.accept().await?;
            stream.set_nodelay(true)?;
            tokio::spawn(serve(stream));
        }
    })
}

async fn serve(stream: TcpStream) {
    let service = service_fn(|_| async {
        let mut answer = Response::new(Full::new(Bytes::from_static(BODY)));
        let json = HeaderValue::from_static("application/json");
        answer.headers_mut().insert(header::CONTENT_TYPE, json);
        Ok::<_, Infallible>(answer)
    });
    let _ = http1::Builder::new()
        .max_buf_size(64 * 1024)
        .pipeline_flush(true)
        .serve_connection(TokioIo::new(stream), service)
        .await;
}
