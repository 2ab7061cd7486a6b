//! The way of a request: who asks, what for, may they, and only then the work.
//!
//! The order is fixed. A stop takes what the stop before made: the handlers take an `Admitted`, which only the
//! limiter makes, so that no route can forget it. Must never do a route's work itself.

mod leftover;
pub(crate) mod target;

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderValue, Request, Response, request::Parts};
use hyper::body::Incoming;
use zonai_http::{
    DraftLimit, Found, QueryBody, RefusedRequest, Scanner, Want, scan_query, too_many_requests,
};
use zonai_limit::{Admitted, Ask, Moment, Operation, RateLimitPolicy, Refusal, TableId, Verdict};

use crate::body::{Cut, Reader};
use crate::connection::activity::InFlight;
use crate::cors;
use crate::errors::{self, Fault};
use crate::handlers;
use crate::live::Place;
use crate::reply::{Answer, Reply};
use crate::route::{self, Route};
use crate::state::State;
use target::{Nowhere, Source, Target, To};

/// When a client with too many streams may try again.
pub(crate) const STREAM_RETRY_MS: u64 = 5_000;

/// Answers one request. `peer` is the connection's, or what its PROXY header said.
pub(crate) async fn answer(
    state: &Arc<State>,
    peer: Option<IpAddr>,
    request: Request<Incoming>,
    in_flight: InFlight,
) -> Result<Answer, Infallible> {
    let (parts, incoming) = request.into_parts();
    let asked = parts.headers.contains_key(http::header::ORIGIN);
    let origin = if asked {
        state.origins.allowed(&parts.headers)
    } else {
        None
    };
    let mut answer = if asked && cors::is_preflight(&parts.method, &parts.headers) {
        leftover::settle(
            state,
            &in_flight,
            cors::preflight(&parts.headers, origin.as_ref()),
            incoming,
        )
    } else {
        walk(state, peer, parts, incoming, &in_flight).await
    };
    if asked {
        cors::allow(&mut answer, origin, asked);
    }
    state.telemetry.answered(answer.status());
    answer.body_mut().hold(in_flight);
    Ok(answer)
}

/// A request that the limiter has let through.
pub(crate) struct Passed<'a> {
    pub(crate) state: &'a Arc<State>,
    pub(crate) parts: &'a Parts,
    pub(crate) found: Found,
    pub(crate) admitted: Admitted,
    pub(crate) now: Moment,
    /// The JSON payload, whole; empty where the route has none.
    pub(crate) payload: &'a [u8],
    /// Of a stream.
    pub(crate) place: Option<Place>,
}

async fn walk(
    state: &Arc<State>,
    peer: Option<IpAddr>,
    parts: Parts,
    incoming: Incoming,
    in_flight: &InFlight,
) -> Answer {
    let found = state.gate.client(peer, &parts.headers);
    let route = route::of(&parts.method, parts.uri.path());
    if route == Route::Health {
        return leftover::settle(state, in_flight, handlers::health::answer(state), incoming);
    }
    // Not of health checks, which all come from one address.
    state.self_check.note(&found, peer);
    match target::source(&route) {
        Source::Body(want) => {
            with_body(
                state,
                found,
                &route,
                Some(want),
                &parts,
                incoming,
                in_flight,
            )
            .await
        }
        Source::BodyLater => {
            with_body(state, found, &route, None, &parts, incoming, in_flight).await
        }
        Source::Query => {
            let answer = with_query(state, found, &route, &parts).await;
            leftover::settle(state, in_flight, answer, incoming)
        }
        Source::Nothing => {
            let target = Target::of(&state.gate, &route, None);
            let mut answer = match check(state, found, &target).await {
                Ok((admitted, now)) => {
                    let passed = Passed {
                        state,
                        parts: &parts,
                        found,
                        admitted,
                        now,
                        payload: b"",
                        place: None,
                    };
                    handlers::answer(passed, target.to).await
                }
                Err(refused) => refused,
            };
            show_standing(state, &found, &target, &mut answer).await;
            leftover::settle(state, in_flight, answer, incoming)
        }
    }
}

async fn with_query(state: &Arc<State>, found: Found, route: &Route<'_>, parts: &Parts) -> Answer {
    let query = parts.uri.query().unwrap_or_default();
    let target = match scan_query(query) {
        QueryBody::Scanned(scanner) => Target::of(&state.gate, route, Some(&scanner)),
        QueryBody::Missing => Target::of(&state.gate, route, None),
    };
    // Before the limiter counts: a client with too many open streams is not charged.
    let place = match target.to {
        To::Stream(_, table) => match state.live.places.take(found.client) {
            Some(place) => Some(place),
            None => return too_many_streams(state, &found, table),
        },
        _ => None,
    };
    let mut answer = match check(state, found, &target).await {
        Err(refused) => refused,
        Ok((admitted, now)) => match zonai_http::decode_body_param(query) {
            Ok(payload) => {
                let passed = Passed {
                    state,
                    parts,
                    found,
                    admitted,
                    now,
                    payload: &payload,
                    place,
                };
                handlers::answer(passed, target.to).await
            }
            Err(error) => errors::answer(&Fault::BadRequest(error.to_string())),
        },
    };
    show_standing(state, &found, &target, &mut answer).await;
    answer
}

async fn with_body(
    state: &Arc<State>,
    found: Found,
    route: &Route<'_>,
    want: Option<Want>,
    parts: &Parts,
    incoming: Incoming,
    in_flight: &InFlight,
) -> Answer {
    let mut reader = Reader::new(incoming, &state.bodies, found.client, &state.bounds);
    let mut scanner = want.map(Scanner::new);
    let cut = match &mut scanner {
        Some(scanner) => scan(&mut reader, scanner).await.err(),
        None => None,
    };
    let target = match cut {
        None => Target::of(&state.gate, route, scanner.as_ref()),
        // What was cut off before it named its bucket is counted all the same.
        Some(_) => Target::nowhere(Nowhere::Payload),
    };
    let checked = check(state, found, &target).await;
    let mut hopeless = false;
    let mut cut_off = |cut: Cut| {
        // Whoever was too slow, or sends more than there is room for, is not waited for again.
        hopeless = cut != Cut::TooLarge;
        errors::cut(cut, state.bounds.payload)
    };
    let mut answer = match (checked, cut) {
        (Err(refused), _) => refused,
        (Ok(_), Some(cut)) => cut_off(cut),
        (Ok((admitted, now)), None) => match reader.rest().await {
            Err(cut) => cut_off(cut),
            Ok(()) if !is_json(parts) => errors::answer(&Fault::NotJson),
            Ok(()) => {
                let payload = reader.bytes();
                let passed = Passed {
                    state,
                    parts,
                    found,
                    admitted,
                    now,
                    payload,
                    place: None,
                };
                handlers::answer(passed, target.to).await
            }
        },
    };
    show_standing(state, &found, &target, &mut answer).await;
    let left = if hopeless { None } else { reader.left() };
    leftover::settle_left(state, in_flight, answer, reader.into_incoming(), left)
}

async fn scan(reader: &mut Reader, scanner: &mut Scanner) -> Result<(), Cut> {
    while let Some(piece) = reader.next().await? {
        if scanner.feed(piece) == zonai_http::Progress::Done {
            return Ok(());
        }
    }
    scanner.finish();
    Ok(())
}

/// The first check a request meets. What is refused is answered; nothing else of the server was touched.
async fn check(state: &State, found: Found, target: &Target) -> Result<(Admitted, Moment), Answer> {
    let now = state.clock.now();
    let ask = Ask {
        bucket: target.bucket,
        operations: &target.operations,
        custom: target.custom,
        exempt: state.gate.is_exempt(&found),
    };
    match state.gate.limiter.check(now, found.client, &ask).await {
        Verdict::Admitted(admitted) => {
            state.note_admitted(&admitted);
            // Counts that must survive a crash are on disk before the request goes on; one commit serves all that wait.
            if !admitted.durable().is_empty() {
                // Where that cannot be, the store says so in the log and in `/health`, and the request goes on.
                let _ = state.store.commit(admitted.durable()).await;
            }
            Ok((admitted, now))
        }
        Verdict::Refused(refusal) => Err(refuse(state, now, &found, &refusal)),
        Verdict::Misregistered(misregistered) => Err(errors::answer(&Fault::Misregistered(
            misregistered.to_string(),
        ))),
    }
}

/// With `rateLimit.headers: draft`, says how the client stands now.
async fn show_standing(state: &State, found: &Found, target: &Target, answer: &mut Answer) {
    if !state.draft_headers {
        return;
    }
    let now = state.clock.now();
    let ask = Ask {
        bucket: target.bucket,
        operations: &target.operations,
        custom: target.custom,
        exempt: false,
    };
    let counters = state.gate.limiter.peek(now, found.client, &ask).await;
    let names: Vec<String> = counters
        .iter()
        .map(|counter| format!("{}:{}", counter.collection, counter.operation.name()))
        .collect();
    let limits: Vec<DraftLimit<'_>> = counters
        .iter()
        .zip(&names)
        .map(|(counter, name)| DraftLimit {
            name,
            max_requests: counter.policy.max_requests(),
            window_ms: counter.policy.window_ms(),
            remaining: counter.policy.max_requests().saturating_sub(counter.count),
            reset_ms: counter.reset.since(now),
        })
        .collect();
    if let Some((policy, standing)) = zonai_http::draft_headers(&limits) {
        answer.headers_mut().insert("ratelimit-policy", policy);
        answer.headers_mut().insert("ratelimit", standing);
    }
}

/// The 429.
pub(crate) fn refuse(state: &State, now: Moment, found: &Found, refusal: &Refusal) -> Answer {
    state.telemetry.refused(found.client, refusal);
    let response = too_many_requests(&RefusedRequest {
        max_requests: refusal.policy.max_requests(),
        reset_epoch_ms: state.clock.steady_wall_ms(refusal.reset),
        retry_after_ms: refusal.reset.since(now),
        collection: &refusal.collection,
        operation: refusal.operation.name(),
        custom_operation: refusal.custom.as_deref(),
    });
    response.map(Reply::whole)
}

/// The 429 of a client that has as many open streams as it may: closing one frees its place at once.
fn too_many_streams(state: &State, found: &Found, table: TableId) -> Answer {
    let now = state.clock.now();
    let max = u32::try_from(state.live.places.per_client()).unwrap_or(u32::MAX);
    let refusal = Refusal {
        collection: state.gate.limiter.table_name(table),
        operation: Operation::Stream,
        custom: None,
        policy: RateLimitPolicy::per_second(max),
        reset: now.plus(STREAM_RETRY_MS),
    };
    refuse(state, now, found, &refusal)
}

fn is_json(parts: &Parts) -> bool {
    let Some(value) = parts.headers.get(http::header::CONTENT_TYPE) else {
        // Small clients leave it out; what is no JSON is told so when it is parsed.
        return true;
    };
    let essence = value
        .to_str()
        .unwrap_or_default()
        .split(';')
        .next()
        .unwrap_or_default()
        .trim();
    let Some((kind, subtype)) = essence.split_once('/') else {
        return false;
    };
    kind.eq_ignore_ascii_case("application")
        && (subtype.eq_ignore_ascii_case("json")
            || subtype.len() > 5
                && subtype
                    .get(subtype.len() - 5..)
                    .is_some_and(|end| end.eq_ignore_ascii_case("+json")))
}

/// Tells the client to close: what is left of its request will not be read.
pub(crate) fn close<B>(answer: &mut Response<B>) {
    answer
        .headers_mut()
        .insert(http::header::CONNECTION, HeaderValue::from_static("close"));
}
