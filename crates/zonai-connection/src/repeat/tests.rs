//! Repeated refusals on a real connection of the HTTP library, over a pair of sockets.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body as _, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use proptest::prelude::*;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use zonai_limit::Moment;
use zonai_project::settings::Bounds;

use super::*;
use crate::activity::{InFlight, Watch};
use crate::socket::{Socket, Stream};

/// Who answered.
#[derive(Debug, Default)]
struct Seen {
    whole_way: AtomicU32,
    again: AtomicU32,
}

/// The bucket is the first letter of the query.
struct Bucket {
    letter: char,
    seen: Arc<Seen>,
}

impl Refused for Bucket {
    fn again(&self, query: Option<&str>) -> bool {
        let is_again = query.is_none_or(|query| query.starts_with(self.letter));
        if is_again {
            self.seen.again.fetch_add(1, Ordering::Relaxed);
        }
        is_again
    }
}

/// Refuses `/no` by the bucket of its query, and says of all others what they were.
async fn answer(
    request: Request<Incoming>,
    in_flight: InFlight,
    seen: Arc<Seen>,
) -> Response<Full<Bytes>> {
    seen.whole_way.fetch_add(1, Ordering::Relaxed);
    let query = request.uri().query().unwrap_or_default().to_owned();
    let is_refused = request.uri().path() == "/no";
    let letter = query.chars().next().unwrap_or('-');
    if is_refused && request.body().is_end_stream() {
        in_flight
            .activity()
            .refused(|| Box::new(Bucket { letter, seen }));
    }
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let (status, text) = if is_refused {
        (429, format!("no {letter}"))
    } else {
        (200, format!("yes {query} {}", body.len()))
    };
    let mut answer = Response::new(Full::new(text.into()));
    *answer.status_mut() = http::StatusCode::from_u16(status).unwrap();
    answer
}

/// What a peer sends at a time.
#[derive(Debug)]
struct Piece {
    bytes: Bytes,
    /// It comes while a request is being answered, if one is: the library reads then, too.
    is_early: bool,
}

/// The sending side of the peer, and what it has still to send.
struct Sender {
    /// Until there is nothing more to be sent.
    writer: Option<OwnedWriteHalf>,
    pieces: VecDeque<Piece>,
}

impl Sender {
    /// Whether there was room for the next piece. `None` where there is no more.
    fn send(&mut self) -> Option<bool> {
        let piece = self.pieces.front()?;
        let Ok(written) = self.writer.as_ref()?.try_write(&piece.bytes) else {
            return Some(false);
        };
        assert_eq!(written, piece.bytes.len());
        self.pieces.pop_front();
        Some(true)
    }

    fn send_early(&mut self) -> bool {
        self.pieces.front().is_some_and(|piece| piece.is_early) && self.send() == Some(true)
    }
}

/// Gives the other side its turn.
async fn turns(times: u32) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}

/// What the server says to these pieces, each of which it has read before the next is sent; without dates.
fn said_to(pieces: &[&[u8]]) -> (String, Arc<Seen>) {
    let pieces = pieces.iter().map(|bytes| Piece {
        bytes: Bytes::copy_from_slice(bytes),
        is_early: false,
    });
    said_to_reader(pieces.collect(), true)
}

/// The same, where pieces may be early, and the peer may be one that reads nothing for as long as it can send.
fn said_to_reader(pieces: VecDeque<Piece>, reads: bool) -> (String, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let text = runtime.block_on(async {
        let (client, server) = UnixStream::pair().unwrap();
        let (mut reader, writer) = client.into_split();
        let sender = Arc::new(Mutex::new(Sender {
            writer: Some(writer),
            pieces,
        }));
        let watched = Watch::new(Bounds::default(), Moment::from_millis(1))
            .enter(Moment::from_millis(1))
            .unwrap();
        let activity = Arc::clone(&watched.activity);
        let socket = Socket::new(Stream::Unix(server), Arc::clone(&activity));
        let sees = Arc::clone(&seen);
        let sends = Arc::clone(&sender);
        let service = service_fn(move |request| {
            let answer = answer(request, activity.request(), Arc::clone(&sees));
            let is_early = sends.lock().send_early();
            async move {
                let answer = answer.await;
                if is_early {
                    // So that the library has read it.
                    turns(3).await;
                }
                Ok::<_, Infallible>(answer)
            }
        });
        let connection = tokio::spawn(
            http1::Builder::new()
                .writev(false)
                .serve_connection(TokioIo::new(socket), service),
        );
        let mut said = Vec::new();
        loop {
            let is_sent = match sender.lock().send() {
                Some(is_sent) => is_sent,
                None => break,
            };
            if is_sent {
                turns(8).await;
            }
            if reads || !is_sent {
                let _ = reader.try_read_buf(&mut said);
                turns(1).await;
            }
        }
        // The library gives up what is not written yet when the peer closes its side.
        let mut quiet = 0;
        while quiet < 64 {
            let has_come = reader.try_read_buf(&mut said).is_ok_and(|read| read > 0);
            quiet = if has_come { 0 } else { quiet + 1 };
            turns(1).await;
        }
        sender.lock().writer = None;
        let rest = reader.read_to_end(&mut said);
        tokio::time::timeout(Duration::from_secs(10), rest)
            .await
            .unwrap()
            .unwrap();
        let _ = connection.await.unwrap();
        String::from_utf8(said).unwrap()
    });
    let lines = text.split_inclusive("\r\n");
    (
        lines.filter(|line| !line.starts_with("date:")).collect(),
        seen,
    )
}

fn no(letter: char) -> String {
    format!("HTTP/1.1 429 Too Many Requests\r\ncontent-length: 4\r\n\r\nno {letter}")
}

const ASK: &[u8] = b"GET /no?a1 HTTP/1.1\r\nhost: x\r\n\r\n";

#[test]
fn what_was_refused_again_and_again_is_known_by_its_bytes() {
    let (said, seen) = said_to(&[ASK; 10]);
    assert_eq!(said, no('a').repeat(10));
    // The first tells where the next begins, the second what it looks like, and the third is one that came before.
    assert_eq!(seen.whole_way.load(Ordering::Relaxed), 3);
    assert_eq!(seen.again.load(Ordering::Relaxed), 7);
}

#[test]
fn another_query_of_the_bucket_is_known_and_other_bytes_are_not() {
    for (other, is_known, answer) in [
        (
            "GET /no?a2&b={%22x%22:[1]} HTTP/1.1\r\nhost: x\r\n\r\n",
            true,
            'a',
        ),
        ("GET /no?a HTTP/1.1\r\nhost: x\r\n\r\n", true, 'a'),
        ("GET /no?b1 HTTP/1.1\r\nhost: x\r\n\r\n", false, 'b'),
        ("GET /no? HTTP/1.1\r\nhost: x\r\n\r\n", false, '-'),
        ("GET /no?a1#a HTTP/1.1\r\nhost: x\r\n\r\n", false, 'a'),
        ("GET /no?a1 HTTP/1.1\r\nhost: y\r\n\r\n", false, 'a'),
        ("GET /no?a1 HTTP/1.1\r\nHost: x\r\n\r\n", false, 'a'),
        ("\r\nGET /no?a1 HTTP/1.1\r\nhost: x\r\n\r\n", false, 'a'),
        ("GET /no?a1 HTTP/1.1\r\nhost: x\r\nx: y\r\n\r\n", false, 'a'),
        ("GET /no?a1 HTTP/1.1\nhost: x\n\n", false, 'a'),
    ] {
        let (said, seen) = said_to(&[ASK, ASK, ASK, other.as_bytes()]);
        assert_eq!(said, no('a').repeat(3) + &no(answer), "{other:?}");
        let whole_way = seen.whole_way.load(Ordering::Relaxed);
        assert_eq!(whole_way == 3, is_known, "{other:?}");
    }
}

#[test]
fn a_query_of_any_bytes_is_answered_as_on_a_new_connection() {
    for byte in 0..=u8::MAX {
        let query = [b"a".as_slice(), &[byte], b"1"].concat();
        let other = [b"GET /no?", &*query, b" HTTP/1.1\r\nhost: x\r\n\r\n"].concat();
        let (new, _) = said_to(&[&other]);
        let (said, _) = said_to(&[ASK, ASK, ASK, &other]);
        assert_eq!(said, no('a').repeat(3) + &new, "{byte:#x}");
    }
}

#[test]
fn a_head_that_came_in_two_pieces_is_not_known_by_one_of_them() {
    let (begin, end) = ASK.split_at(9);
    let (said, seen) = said_to(&[ASK, ASK, begin, end, end]);
    assert_eq!(seen.again.load(Ordering::Relaxed), 0);
    let bad = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(said, no('a').repeat(3) + bad);
}

#[test]
fn what_looks_like_a_request_inside_of_another_is_none() {
    let head = format!(
        "POST /yes?p HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
        ASK.len()
    );
    let (said, seen) = said_to(&[ASK, ASK, ASK, ASK, head.as_bytes(), ASK, ASK]);
    assert_eq!(
        said,
        no('a').repeat(4)
            + &format!(
                "HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nyes p {}",
                ASK.len()
            )
            + &no('a')
    );
    assert_eq!(seen.again.load(Ordering::Relaxed), 1);
    // Half a head, and then a whole one that becomes its last lines.
    let (said, seen) = said_to(&[ASK, ASK, ASK, ASK, b"GET /yes?q HTTP/1.1\r\nx: ", ASK]);
    let yes = "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nyes q 0";
    assert_eq!(said, no('a').repeat(4) + yes);
    assert_eq!(seen.again.load(Ordering::Relaxed), 1);
}

#[test]
fn a_head_that_began_with_the_request_before_is_not_known_by_its_end() {
    let begun = [ASK, b"GET /no?b1 HTTP/1.1\r\nx: "].concat();
    let (said, _) = said_to(&[ASK, ASK, &begun, ASK, ASK, ASK, ASK]);
    let answers = ['a', 'a', 'a', 'b', 'a', 'a', 'a'].map(no).concat();
    assert_eq!(said, answers);
    // The same where the end comes in two pieces.
    let (said, _) = said_to(&[
        ASK,
        b"GET /no?b1 HTTP/1.1\r\n",
        b"x: y\r\nz: ",
        ASK,
        ASK,
        ASK,
        ASK,
    ]);
    let answers = ['a', 'b', 'a', 'a', 'a'].map(no).concat();
    assert_eq!(said, answers);
}

#[test]
fn a_peer_that_does_not_read_gets_every_answer_once() {
    // More than the buffers of a pair of sockets hold.
    let many = vec![ASK; 3_000];
    let pieces = many.iter().map(|bytes| Piece {
        bytes: Bytes::from_static(bytes),
        is_early: false,
    });
    let (said, seen) = said_to_reader(pieces.collect(), false);
    assert_eq!(said.matches("429").count(), many.len());
    assert!(
        said == no('a').repeat(many.len()),
        "something else was said"
    );
    assert!(seen.again.load(Ordering::Relaxed) > 100);
}

#[derive(Clone, Debug)]
struct Part {
    bytes: String,
    answer: String,
}

fn part() -> impl Strategy<Value = Part> {
    let refused = ("[ab][0-9]", "(GET|HEAD|DELETE)", "(x|y)", any::<bool>());
    let refused = refused.prop_map(|(query, method, host, is_bare)| {
        let end = if is_bare { "\n" } else { "\r\n" };
        let answer = no(query.chars().next().unwrap_or('-'));
        Part {
            bytes: format!("{method} /no?{query} HTTP/1.1{end}host: {host}{end}{end}"),
            answer: match method.as_str() {
                // The head alone.
                "HEAD" => answer[..answer.len() - 4].to_owned(),
                _ => answer,
            },
        }
    });
    let known = prop_oneof![Just("a1"), Just("a2"), Just("b1")].prop_map(|query| Part {
        bytes: format!("GET /no?{query} HTTP/1.1\r\nhost: x\r\n\r\n"),
        answer: no(query.chars().next().unwrap_or('-')),
    });
    let yes = |query: String, length: usize| {
        let text = format!("yes {query} {length}");
        format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}",
            text.len()
        )
    };
    let admitted = "[a-c][0-9]".prop_map(move |query| Part {
        bytes: format!("GET /yes?{query} HTTP/1.1\r\nx: GET /no?a1 HTTP/1.1\r\nhost: x\r\n\r\n"),
        answer: yes(query, 0),
    });
    let bodies =
        ("(/yes|/no)", any::<bool>(), 1_usize..3).prop_map(move |(path, is_chunked, times)| {
            let body = String::from_utf8_lossy(ASK).repeat(times);
            let framed = if is_chunked {
                format!(
                    "transfer-encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n",
                    body.len()
                )
            } else {
                format!("content-length: {}\r\n\r\n{body}", body.len())
            };
            Part {
                bytes: format!("POST {path}?a1 HTTP/1.1\r\nhost: x\r\n{framed}"),
                answer: match path.as_str() {
                    "/no" => no('a'),
                    _ => yes("a1".into(), body.len()),
                },
            }
        });
    let blank = Just(Part {
        bytes: "\r\n".into(),
        answer: String::new(),
    });
    prop_oneof![8 => known, 2 => refused, 2 => admitted, 2 => bodies, 1 => blank]
}

/// Where a piece ends, or does not.
#[derive(Clone, Copy, Debug)]
enum Cut {
    /// Not at the end of this request.
    Removed(usize),
    /// Where something begins that looks like a request, inside of one or not.
    Tempting(usize),
    Anywhere(usize),
}

fn cut() -> impl Strategy<Value = Cut> {
    prop_oneof![
        2 => any::<usize>().prop_map(Cut::Removed),
        1 => any::<usize>().prop_map(Cut::Tempting),
        1 => any::<usize>().prop_map(Cut::Anywhere),
    ]
}

/// The whole in pieces: they end at the end of a request more often than not.
fn pieces(parts: &[Part], cuts: &[Cut], early: &[bool]) -> VecDeque<Piece> {
    let whole: String = parts.iter().map(|part| part.bytes.as_str()).collect();
    let (mut at, mut end) = (Vec::new(), 0);
    for part in parts {
        end += part.bytes.len();
        at.push(end);
    }
    let ask = std::str::from_utf8(ASK).unwrap();
    let tempting: Vec<usize> = whole.match_indices(ask).map(|(place, _)| place).collect();
    for &cut in cuts {
        match cut {
            Cut::Removed(place) if !at.is_empty() => {
                at.remove(place % at.len());
            }
            Cut::Tempting(place) if !tempting.is_empty() => {
                at.push(tempting[place % tempting.len()]);
            }
            Cut::Removed(place) | Cut::Tempting(place) | Cut::Anywhere(place) => {
                at.push(place % whole.len());
            }
        }
    }
    at.push(whole.len());
    at.sort_unstable();
    at.dedup();
    at.retain(|to| *to > 0);
    let mut from = 0;
    let parts = at.into_iter().zip(early.iter().cycle());
    let parts = parts.map(|(to, &is_early)| {
        let bytes = Bytes::copy_from_slice(&whole.as_bytes()[from..to]);
        from = to;
        Piece { bytes, is_early }
    });
    parts.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// However the bytes of requests are cut into pieces, each request has its answer, in order, and nothing else has one.
    #[test]
    fn each_request_has_its_answer_however_its_bytes_come(
        parts in proptest::collection::vec(part(), 1..24),
        cuts in proptest::collection::vec(cut(), 0..6),
        early in proptest::collection::vec(any::<bool>(), 1..24),
    ) {
        let answers: String = parts.iter().map(|part| part.answer.as_str()).collect();
        let (said, _) = said_to_reader(pieces(&parts, &cuts, &early), true);
        prop_assert_eq!(said, answers);
    }
}
