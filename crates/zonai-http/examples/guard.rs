//! Any hyper service behind the limiter: 5 uploads a minute for each client. Try `curl -i localhost:3000` six times.
use std::{convert::Infallible, error::Error, net::Ipv4Addr, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use http_body_util::Full;
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use tower::{ServiceBuilder, service_fn};
use zonai_clock::Clock;
use zonai_http::{RateLimitLayer, Target, find_client};
use zonai_limit::{
    Bucket, Counters, CustomNames, Ipv6Prefix, Known, KnownTable, Limiter, Operation,
};
use zonai_limit::{RateLimitPolicy, Registration, TableRateLimits};

struct Uploads;

impl TableRateLimits for Uploads {
    const TABLE: &'static str = "uploads";
    const CONSTANT: bool = true;

    async fn create_policy(&self) -> Option<RateLimitPolicy> {
        Some(RateLimitPolicy::per_minute(5))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let uploads = KnownTable {
        name: "uploads".into(),
        auth: false,
        custom: CustomNames::Registered(vec![]),
    };
    let known = Known {
        tables: vec![uploads],
    };
    let counters = Arc::new(Counters::new(100_000));
    let limiter = Limiter::new(counters, known, vec![Registration::table(Uploads)], vec![]);
    let limiter = Arc::new(limiter.map_err(|faults| format!("{faults:?}"))?.0);
    let bucket = Bucket::Table(limiter.table("uploads").ok_or("no such table")?);
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 3000)).await?;
    loop {
        let (stream, peer) = listener.accept().await?;
        let client = find_client(
            Some(peer.ip()),
            &HeaderMap::new(),
            None,
            Ipv6Prefix::DEFAULT,
        )
        .client;
        let target =
            move |_: &Request<Incoming>| Some(Target::new(client, bucket, Operation::Create));
        let guarded = ServiceBuilder::new()
            .layer(RateLimitLayer::new(
                Arc::clone(&limiter),
                Clock::system(),
                target,
            ))
            .service(service_fn(async |_| {
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::from("stored\n")))
            }));
        tokio::spawn(
            http1::Builder::new()
                .serve_connection(TokioIo::new(stream), TowerToHyperService::new(guarded)),
        );
    }
}
