//! A peer: axum with tower_governor as its documentation sets it up, 100 requests a minute per address.
//!
//! Must never be tuned for or against.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use tower_governor::GovernorLayer;
use tower_governor::governor::GovernorConfigBuilder;
use tower_governor::key_extractor::PeerIpKeyExtractor;

fn main() -> io::Result<()> {
    let usage = || io::Error::other("usage: axum-tower-governor PORT");
    let port = std::env::args().nth(1).ok_or_else(usage)?;
    let config = GovernorConfigBuilder::default()
        .period(Duration::from_millis(600))
        .burst_size(100)
        .key_extractor(PeerIpKeyExtractor)
        .use_headers()
        .finish()
        .ok_or_else(usage)?;
    let app = Router::new()
        .route("/db", get(|| async { "{}" }))
        .layer(GovernorLayer::new(Arc::new(config)));
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
        axum::serve(
            listener,
            app.into_make_service_with_connect_info::<SocketAddr>(),
        )
        .await
    })
}
