//! Any hyper service behind the limiter, 100 uploads a minute for each client. The last answer of this is a 429:
//! `for n in $(seq 101); do curl -i localhost:3000; done`
use std::{convert::Infallible, error::Error, sync::Arc};

use http::{HeaderMap, Request, Response};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use tower::{ServiceBuilder, service_fn};
use zonai_clock::Clock;
use zonai_http::{RateLimitLayer, Target, find_client};
use zonai_limit::{Accounts, Known, KnownTable, Limiter, Operation};
use zonai_limit::{Bucket, Counters, CustomNames, Ipv6Prefix};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (name, custom) = ("uploads".to_owned(), CustomNames::Unvalidated);
    let tables = vec![KnownTable {
        name,
        accounts: Accounts::None,
        custom,
    }];
    let counters = Arc::new(Counters::new(100_000));
    let limiter = Limiter::new(counters, Known { tables }, vec![], vec![]);
    let limiter = Arc::new(limiter.map_err(|faults| format!("{faults:?}"))?.0);
    let bucket = Bucket::Table(limiter.table("uploads").ok_or("no table")?);
    let clock = Clock::system();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    loop {
        let (stream, peer) = listener.accept().await?;
        let (headers, prefix) = (HeaderMap::new(), Ipv6Prefix::DEFAULT);
        let client = find_client(Some(peer.ip()), &headers, None, prefix).client;
        let target =
            move |_: &Request<Incoming>| Some(Target::new(client, bucket, Operation::Create));
        let guard = RateLimitLayer::new(limiter.clone(), clock.clone(), target);
        let stored = async |_| Ok::<_, Infallible>(Response::new("stored\n".to_owned()));
        let guarded = ServiceBuilder::new()
            .layer(guard)
            .service(service_fn(stored));
        let guarded = TowerToHyperService::new(guarded);
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), guarded));
    }
}
