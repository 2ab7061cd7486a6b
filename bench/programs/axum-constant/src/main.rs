//! What a router costs: axum, answering one route with one constant 200.
//!
//! For docs/adr/0001. The same body as `constant`. Must never be tuned for or against.

use std::io;

use axum::Router;
use axum::http::header;
use axum::routing::get;

const BODY: &str =
    r#"{"error":"Rate limit exceeded","collection":"items","operation":"get","retryAfter":42}"#;

fn main() -> io::Result<()> {
    let port = std::env::args()
        .nth(1)
        .ok_or_else(|| io::Error::other("usage: axum-constant PORT"))?;
    let answer = || async { ([(header::CONTENT_TYPE, "application/json")], BODY) };
    let app = Router::new().route("/db", get(answer));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
        axum::serve(listener, app).await
    })
}
