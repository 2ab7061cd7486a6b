//! What would happen to a request, and why: the same code that decides, asked without counting.
//!
//! For operators only: the answer names addresses, files and lines. Must never count, and never decide by rules of its own.

mod beyond;
mod offline;

use std::net::{IpAddr, Ipv4Addr};

use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::{Value, json};
use zonai_clock::Clock;
use zonai_http::{Found, Scanner, Want, scan_query, trace_client};
use zonai_limit::{Explained, Mode, Moment};

pub(crate) use beyond::Beyond;
pub use offline::{OfflineError, limits, offline};

use crate::gate::Gate;
use crate::route;
use crate::way::target::{self, Source, Target, To};

/// A request to explain.
#[derive(Clone, Debug, Default)]
pub struct Explain {
    /// `GET`, `POST`, ...
    pub method: String,
    /// The path, with its query where it has one.
    pub path: String,
    /// The payload, for the body or the `body` parameter alike.
    pub body: Option<String>,
    /// The peer of the connection; `127.0.0.1` unless told, a Unix socket for `unix`.
    pub peer: Option<IpAddr>,
    /// Headers, in order.
    pub headers: Vec<(String, String)>,
}

/// Why a request cannot be explained.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExplainError {
    /// The method is none.
    #[error("`{0}` is no HTTP method")]
    Method(String),
    /// A header is none.
    #[error("`{0}` is no HTTP header")]
    Header(String),
    /// The peer is none.
    #[error("`{0}` is no address")]
    Peer(String),
    /// The raw request is none.
    #[error("the file holds no HTTP request: {0}")]
    Request(String),
}

impl Explain {
    /// Reads the question as it goes over the admin socket: `peer` (an address or `unix`), and `request` (a raw
    /// HTTP/1 request) or `method`, `path` and `body`.
    ///
    /// # Errors
    /// When one of them is none.
    pub fn from_question(question: &Value) -> Result<Self, ExplainError> {
        let text = |key| question.get(key).and_then(Value::as_str);
        let peer = match text("peer") {
            None => Some(Ipv4Addr::LOCALHOST.into()),
            Some("unix") => None,
            Some(ip) => Some(
                ip.parse()
                    .map_err(|_invalid| ExplainError::Peer(ip.to_owned()))?,
            ),
        };
        if let Some(raw) = text("request") {
            return Self::from_raw(raw.as_bytes(), peer);
        }
        Ok(Self {
            method: text("method").unwrap_or("GET").to_owned(),
            path: text("path").unwrap_or("/").to_owned(),
            body: text("body").map(str::to_owned),
            peer,
            headers: Vec::new(),
        })
    }

    /// Reads a raw HTTP/1 request, as a client sends it.
    ///
    /// # Errors
    /// When it is none.
    pub fn from_raw(raw: &[u8], peer: Option<IpAddr>) -> Result<Self, ExplainError> {
        let mut headers = [httparse::EMPTY_HEADER; 100];
        let mut request = httparse::Request::new(&mut headers);
        // A file made with an editor ends its lines with LF alone, which the parser takes as well.
        let wrong = |error: &dyn std::fmt::Display| ExplainError::Request(error.to_string());
        let length = match request.parse(raw).map_err(|error| wrong(&error))? {
            httparse::Status::Complete(length) => length,
            httparse::Status::Partial => {
                return Err(wrong(&"the head does not end with an empty line"));
            }
        };
        let body = raw.get(length..).unwrap_or_default();
        Ok(Self {
            method: request.method.unwrap_or_default().to_owned(),
            path: request.path.unwrap_or_default().to_owned(),
            body: (!body.is_empty()).then(|| String::from_utf8_lossy(body).trim_end().to_owned()),
            peer,
            headers: request
                .headers
                .iter()
                .map(|header| {
                    let value = String::from_utf8_lossy(header.value).into_owned();
                    (header.name.to_owned(), value)
                })
                .collect(),
        })
    }
}

/// Explains a request: client, bucket, policies with their places, counts, and the outcome. `beyond` is what limits a
/// request further on in a running server.
///
/// # Errors
/// When it is no request.
pub(crate) async fn explain(
    gate: &Gate,
    clock: &Clock,
    request: &Explain,
    beyond: Option<Beyond<'_>>,
) -> Result<Value, ExplainError> {
    let method: Method = request
        .method
        .to_ascii_uppercase()
        .parse()
        .map_err(|_invalid| ExplainError::Method(request.method.clone()))?;
    let headers = headers(&request.headers)?;
    let found = gate.client(request.peer, &headers);
    let (_, steps) = trace_client(
        request.peer,
        &headers,
        gate.trusted_proxy.as_ref(),
        gate.ipv6_prefix,
    );
    let (path, query) = request.path.split_once('?').unwrap_or((&request.path, ""));
    let route = route::of(&method, path);
    let client = json!({
        "client": found.client.to_string(),
        "ip": found.ip.map(|ip| ip.to_string()),
        "fromHeader": found.from_trusted,
        "steps": steps,
    });
    if route == route::Route::Health {
        return Ok(
            json!({"client": client, "limited": false, "outcome": "admit", "why": "/health is never limited"}),
        );
    }
    let target = target_of(gate, &route, request, query);
    let body = request.body.as_deref().unwrap_or_default();
    let now = clock.now();
    let more = match &beyond {
        Some(beyond) => beyond.counters(gate, now, &found, &target, body).await,
        None => Vec::new(),
    };
    let places = beyond
        .as_ref()
        .and_then(|beyond| beyond.full_of_streams(&found, &target));
    let mut answer = outcome(gate, clock, &found, &target, more).await;
    answer["client"] = client;
    if let Some(places) = places {
        // Before the limiter counts.
        answer["outcome"] = json!("refuse");
        answer["refusedBy"] = json!(places.setting);
        answer["retryAfter"] = json!(places.retry_after);
        answer["why"] = json!(places.why);
    }
    Ok(answer)
}

fn target_of(gate: &Gate, route: &route::Route<'_>, request: &Explain, query: &str) -> Target {
    match target::source(route) {
        Source::Nothing | Source::BodyLater => Target::of(gate, route, None),
        Source::Query => match (&request.body, scan_query(query)) {
            (Some(body), _) => Target::of(gate, route, Some(scanned(body, Want::Table).named())),
            (None, in_query) => Target::of(gate, route, in_query.named()),
        },
        Source::Body(want) => {
            let scanner = scanned(request.body.as_deref().unwrap_or_default(), want);
            Target::of(gate, route, Some(scanner.named()))
        }
    }
}

/// What comes out; `more` are counters that are asked after those of the request.
async fn outcome(
    gate: &Gate,
    clock: &Clock,
    found: &Found,
    target: &Target,
    more: Vec<Explained>,
) -> Value {
    let now = clock.now();
    let ask = target.ask(gate.is_exempt(found));
    let mut counters = gate.limiter.peek(now, found.client, &ask).await;
    // The one that the refusal would name: the latest reset, at a tie the narrower operation.
    let own = counters
        .iter()
        .filter(|counter| counter.full && counter.mode == Mode::Enforce && !ask.exempt)
        .max_by_key(|counter| (counter.reset, std::cmp::Reverse(counter.operation)))
        .cloned();
    // Guessing passwords is neither observed nor exempt.
    let refuses = own.or_else(|| more.iter().find(|counter| counter.full).cloned());
    counters.extend(more);
    let misregistered = gate.limiter.misregistered();
    let outcome = match (&refuses, misregistered.is_empty()) {
        (_, false) => "fail",
        (Some(_), true) => "refuse",
        (None, true) => "admit",
    };
    let why = match (target.to, misregistered.first()) {
        (_, Some(twice)) => Some(format!("{twice}: {} and {}", twice.first, twice.second)),
        (To::Nowhere(nowhere), None) => Some(nowhere.why().to_owned()),
        _ => None,
    };
    let listed: Vec<Value> = counters
        .iter()
        .map(|counter| row(clock, now, counter))
        .collect();
    json!({
        "limited": !counters.is_empty(),
        "exempt": ask.exempt,
        "counters": listed,
        "outcome": outcome,
        "refusedBy": refuses.as_ref().map(|counter| counter.origin.to_string()),
        "retryAfter": refuses.map(|counter| counter.reset.since(now).div_ceil(1_000).max(1)),
        "why": why,
    })
}

/// One counter, for the answer.
fn row(clock: &Clock, now: Moment, counter: &Explained) -> Value {
    json!({
        "collection": &*counter.collection,
        "operation": counter.operation.name(),
        "customOperation": counter.custom.as_deref(),
        "countedAs": counter.counted_as.to_string(),
        "maxRequests": counter.policy.max_requests(),
        "windowMs": counter.policy.window_ms(),
        "mode": if counter.mode == Mode::Observe { "observe" } else { "enforce" },
        "origin": counter.origin.to_string(),
        "count": counter.count,
        "remaining": counter.policy.max_requests().saturating_sub(counter.count),
        "resetMs": counter.window_start.map(|_| clock.steady_wall_ms(counter.reset)),
        "resetInMs": counter.window_start.map(|_| counter.reset.since(now)),
        "full": counter.full,
    })
}

fn scanned(body: &str, want: Want) -> Scanner {
    let mut scanner = Scanner::new(want);
    let _ = scanner.feed(body.as_bytes());
    scanner.finish();
    scanner
}

fn headers(listed: &[(String, String)]) -> Result<HeaderMap, ExplainError> {
    let mut headers = HeaderMap::new();
    for (name, value) in listed {
        let wrong = || ExplainError::Header(name.clone());
        headers.append(
            HeaderName::from_bytes(name.as_bytes()).map_err(|_invalid| wrong())?,
            HeaderValue::from_bytes(value.as_bytes()).map_err(|_invalid| wrong())?,
        );
    }
    Ok(headers)
}
