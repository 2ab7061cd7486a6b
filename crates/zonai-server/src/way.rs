//! The way of a request: who asks, what for, may they, and only then the work.
//!
//! The order is fixed. A stop takes what the stop before made: the handlers take an `Admitted`, which only the
//! limiter makes, so that no route can forget it. Must never do a route's work itself.

mod again;
mod arrived;
mod leftover;
pub(crate) mod target;

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderValue, Request, Response, request::Parts};
use hyper::body::Incoming;
use zonai_connection::{BodyCut, BodyReader, InFlight};
use zonai_http::{
    DraftLimit, Field, Found, RefusedRequest, Scanner, Want, scan_query, too_many_requests,
};
use zonai_limit::{Admitted, Moment, Operation, RateLimitPolicy, Refusal, TableId, Verdict};

use crate::errors::{self, Fault};
use crate::handlers;
use crate::live::Place;
use crate::reply::{Answer, Reply};
use crate::route::{self, Route};
use crate::state::State;
use again::{Again, Shown};
pub(crate) use arrived::Answering;
use arrived::Arrived;
use target::{Nowhere, Source, Target, To};

/// When a client with too many streams may try again.
pub(crate) const STREAM_RETRY_MS: u64 = 5_000;

/// Answers one request. `peer` is the connection's, or what its PROXY header said.
///
/// What is refused is answered at once. The work, whose future is large, is boxed and only made for a request that the
/// limiter lets through, or that it cannot decide on yet: a refusal costs no allocation for it and no copy of it.
pub(crate) fn answer(
    state: &Arc<State>,
    peer: Option<IpAddr>,
    request: Request<Incoming>,
    in_flight: InFlight,
) -> Answering {
    let arrived = Arrived::new(state, request, in_flight);
    match enter(state, peer, &arrived) {
        Step::Answer(answer) if arrived.is_unannounced() => {
            let state = Arc::clone(state);
            Answering::Later(Box::pin(
                async move { arrived.leave_late(&state, answer).await },
            ))
        }
        Step::Answer(answer) => Answering::Now(Some(arrived.leave(state, answer))),
        Step::Read(found, want) => {
            let state = Arc::clone(state);
            Answering::Later(Box::pin(with_body(state, arrived, found, want)))
        }
        Step::Work(asked) => {
            let state = Arc::clone(state);
            Answering::Later(Box::pin(with_target(state, arrived, asked)))
        }
    }
}

/// A request that the limiter has let through.
pub(crate) struct Passed<'a> {
    pub(crate) state: &'a Arc<State>,
    pub(crate) parts: &'a Parts,
    pub(crate) found: Found,
    pub(crate) admitted: Admitted,
    /// The JSON payload, whole; empty where the route has none.
    pub(crate) payload: &'a [u8],
    /// Of a stream.
    pub(crate) place: Option<Place>,
}

/// What comes after what can be known at once.
enum Step {
    /// Nothing: this is the answer.
    Answer(Answer),
    /// The body names what is asked for; nothing of it is looked for where the route alone decides.
    Read(Found, Option<Want>),
    /// The limiter was asked.
    Work(Asked),
}

/// A request of which the target is known, with what the limiter said; `None` where a policy has to be asked first.
struct Asked {
    found: Found,
    target: Target,
    payload_in_query: bool,
    place: Option<Place>,
    now: Moment,
    verdict: Option<Verdict>,
}

/// The part of the way that waits for nothing.
fn enter(state: &Arc<State>, peer: Option<IpAddr>, arrived: &Arrived) -> Step {
    let parts = &arrived.parts;
    if let Some(preflight) = arrived.preflight() {
        return Step::Answer(preflight);
    }
    let found = state.gate.client(peer, &parts.headers);
    let route = route::of(&parts.method, parts.uri.path());
    if route == Route::Health {
        return Step::Answer(handlers::health::answer(state));
    }
    // Not of health checks, which all come from one address.
    state.self_check.note(&found, peer);
    let source = target::source(&route);
    let target = match source {
        Source::Body(want) => return Step::Read(found, Some(want)),
        Source::BodyLater => return Step::Read(found, None),
        Source::Query => {
            let body = scan_query(parts.uri.query().unwrap_or_default());
            Target::of(&state.gate, &route, body.named())
        }
        Source::Nothing => Target::of(&state.gate, &route, None),
    };
    // Before the limiter counts: a client with too many open streams is not charged.
    let place = match target.to {
        To::Stream(_, table) => match state.live.places.take(found.client) {
            Some(place) => Some(place),
            None => return Step::Answer(too_many_streams(state, &found, table)),
        },
        _ => None,
    };
    let now = state.clock.now();
    let ask = target.ask(state.gate.is_exempt(&found));
    match state.gate.limiter.check_now(now, found.client, &ask) {
        Some(Verdict::Refused(refusal)) if !state.draft_headers => {
            let answer = refuse(state, now, &found, &refusal);
            // Of a stream's client the places are looked at first.
            if place.is_none() {
                arrived.refused(|| {
                    Box::new(Again {
                        shown: Shown::at(&state.clock, now, &refusal),
                        state: Arc::clone(state),
                        peer,
                        found,
                        source,
                        target,
                        refusal,
                    })
                });
            }
            Step::Answer(answer)
        }
        verdict => Step::Work(Asked {
            payload_in_query: source == Source::Query,
            found,
            target,
            place,
            now,
            verdict,
        }),
    }
}

/// The work of a request without a body, or whose body does not matter.
async fn with_target(state: Arc<State>, arrived: Arrived, asked: Asked) -> Answer {
    let Asked {
        found, target, now, ..
    } = asked;
    let checked = conclude(&state, found, &target, now, asked.verdict).await;
    let parts = &arrived.parts;
    let payload = if asked.payload_in_query {
        zonai_http::decode_body_param(parts.uri.query().unwrap_or_default())
    } else {
        Ok(Cow::Borrowed(b"".as_slice()))
    };
    let mut answer = match (checked, payload) {
        (Err(refused), _) => refused,
        (Ok(_), Err(error)) => errors::answer(&Fault::BadRequest(error.to_string())),
        (Ok(admitted), Ok(payload)) => {
            let passed = Passed {
                state: &state,
                parts,
                found,
                admitted,
                payload: &payload,
                place: asked.place,
            };
            handlers::answer(passed, target.to).await
        }
    };
    show_standing(&state, &found, &target, &mut answer).await;
    arrived.leave_late(&state, answer).await
}

/// The work of a request whose body is read: as far as the limiter needs it, and the rest once it is let through.
async fn with_body(
    state: Arc<State>,
    arrived: Arrived,
    found: Found,
    want: Option<Want>,
) -> Answer {
    let (parts, mut leaving) = (arrived.parts, arrived.leaving);
    let mut reader = BodyReader::new(arrived.incoming, &state.bodies, found.client, &state.bounds);
    let mut scanner = want.map(Scanner::new);
    let cut = match &mut scanner {
        Some(scanner) => scan(&mut reader, scanner).await.err(),
        None => None,
    };
    let target = target_in_body(&state, &parts, scanner, cut.is_some());
    let now = state.clock.now();
    let checked = conclude(&state, found, &target, now, None).await;
    let mut hopeless = false;
    let mut cut_off = |cut: BodyCut| {
        // Whoever was too slow, or sends more than there is room for, is not waited for again.
        hopeless = cut != BodyCut::TooLarge;
        errors::cut(cut, state.bounds.payload)
    };
    let mut answer = match (checked, cut) {
        (Err(refused), _) => refused,
        (Ok(_), Some(cut)) => cut_off(cut),
        (Ok(admitted), None) => match reader.rest().await {
            Err(cut) => cut_off(cut),
            Ok(()) if !is_json(&parts) => errors::answer(&Fault::NotJson),
            Ok(()) => {
                let payload = reader.bytes();
                let passed = Passed {
                    state: &state,
                    parts: &parts,
                    found,
                    admitted,
                    payload,
                    place: None,
                };
                handlers::answer(passed, target.to).await
            }
        },
    };
    show_standing(&state, &found, &target, &mut answer).await;
    if let Some(end) = reader.end() {
        leaving.in_flight.ends_with_body(end);
    }
    let left = reader.left();
    let mut incoming = reader.into_incoming();
    let left = match left {
        _ if hopeless => None,
        None => leftover::left_of_unannounced(&mut incoming).await,
        left => left,
    };
    let answer = leftover::settle_left(&state, &leaving.in_flight, answer, incoming, left);
    leaving.finish(&state, answer)
}

/// What a request is counted as whose body was looked through, as far as it came.
fn target_in_body(state: &State, parts: &Parts, scanner: Option<Scanner>, is_cut: bool) -> Target {
    let mut scanner = scanner;
    if is_cut && let Some(scanner) = &mut scanner {
        scanner.finish();
    }
    let named = scanner.as_ref().map(Scanner::named);
    let has_table = named.is_some_and(|named| matches!(named.table, Field::Text(_)));
    if is_cut && !has_table {
        // What was cut off before it named its bucket is counted all the same.
        return Target::nowhere(Nowhere::Payload);
    }
    let route = route::of(&parts.method, parts.uri.path());
    Target::of(&state.gate, &route, named)
}

async fn scan(reader: &mut BodyReader, scanner: &mut Scanner) -> Result<(), BodyCut> {
    while let Some(piece) = reader.next().await? {
        if scanner.feed(piece) == zonai_http::Progress::Done {
            return Ok(());
        }
    }
    scanner.finish();
    Ok(())
}

/// The first check a request meets, concluded: a policy that has to be asked is asked, and counts that must survive a
/// crash are on disk. What is refused is answered; nothing else of the server was touched.
async fn conclude(
    state: &State,
    found: Found,
    target: &Target,
    now: Moment,
    verdict: Option<Verdict>,
) -> Result<Admitted, Answer> {
    let verdict = match verdict {
        Some(verdict) => verdict,
        None => {
            let ask = target.ask(state.gate.is_exempt(&found));
            state.gate.limiter.check(now, found.client, &ask).await
        }
    };
    match verdict {
        Verdict::Admitted(admitted) => {
            state.note_admitted(&admitted);
            // One commit serves all that wait for theirs.
            if !admitted.durable().is_empty() {
                // Where that cannot be, the store says so in the log and in `/health`, and the request goes on.
                let _ = state.store.commit(admitted.durable()).await;
            }
            Ok(admitted)
        }
        // A policy may have been waited for.
        Verdict::Refused(refusal) => Err(refuse(state, state.clock.now(), &found, &refusal)),
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
    let counters = state
        .gate
        .limiter
        .peek(now, found.client, &target.ask(false))
        .await;
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
    let refused = RefusedRequest::new(refusal, now, &state.clock);
    too_many_requests(&refused).map(Reply::whole)
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
