//! A refused request that is asked again, answered with the bytes of its last refusal.
//!
//! Who is refused goes on asking, mostly the same. A request that has come and was refused again and again on a connection
//! is known by its bytes, and only what may have changed is looked at: whether the counter still refuses, and what the
//! answer tells of the time. The HTTP library sees nothing of it.
//!
//! All hangs on knowing where a request begins. That is known after an answer to a request without a body that came
//! with the last bytes there were, once it was written: nothing is left that the library could still read or write.
//! Must never guess: where it is not known, every byte goes to the library.

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;

/// Longer requests are not known again, ...
const MAX_REQUEST: usize = 4 * 1024;
/// ... nor are those with a longer answer.
const MAX_ANSWER: usize = 1024;

/// A refused request: whether it would be refused again, with the same answer to the byte.
pub trait Refused: Send {
    /// Looks, and notes a refusal if it is one. `query` is the request's own, where that is not as it was.
    fn again(&self, query: Option<&str>) -> bool;
}

/// How those who answer requests tell the socket of a refusal. Both belong to one task, so that nothing here is waited for.
#[derive(Default)]
pub(crate) struct Handover {
    /// How many requests were begun.
    requests: AtomicU32,
    /// The last of them has no body and is refused.
    is_refused: AtomicBool,
    /// It came not for the first time: the socket would know it again.
    is_wanted: AtomicBool,
    refused: Mutex<Option<Box<dyn Refused>>>,
}

impl Handover {
    /// A request is being answered: whatever was said before is not about it.
    pub(crate) fn begin(&self) {
        let requests = self.requests.load(Ordering::Relaxed);
        self.requests
            .store(requests.wrapping_add(1), Ordering::Relaxed);
        self.is_refused.store(false, Ordering::Relaxed);
    }

    /// It has no body and is refused. `refused` is only made where it is wanted.
    pub(crate) fn refuse(&self, refused: impl FnOnce() -> Box<dyn Refused>) {
        if self.is_wanted.load(Ordering::Relaxed) {
            *self.refused.lock() = Some(refused());
        }
        self.is_refused.store(true, Ordering::Relaxed);
    }

    fn requests(&self) -> u32 {
        self.requests.load(Ordering::Relaxed)
    }

    fn want(&self, is_wanted: bool) {
        self.is_wanted.store(is_wanted, Ordering::Relaxed);
    }

    /// Whether the last request was refused, and the refusal where it was wanted. Only once.
    fn take(&self) -> Option<Option<Box<dyn Refused>>> {
        if !self.is_refused.load(Ordering::Relaxed) {
            return None;
        }
        self.is_refused.store(false, Ordering::Relaxed);
        if !self.is_wanted.load(Ordering::Relaxed) {
            return Some(None);
        }
        self.want(false);
        Some(self.refused.lock().take())
    }
}

impl std::fmt::Debug for Handover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handover").finish_non_exhaustive()
    }
}

/// What one connection knows of its last requests.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    phase: Phase,
    /// The one head that came last.
    last: Option<Head>,
    /// What was answered to it, where it came not for the first time.
    known: Option<Known>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    /// Who knows what the library has read, and what it has still to write.
    #[default]
    Unclear,
    /// After as many requests the library has read and written all there was: the next bytes begin a request.
    Between(u32),
    /// After as many requests one whole head came, and nothing else.
    Asked(u32),
    /// The answer to the last of as many requests was written, which was a refusal; the library may have more to write.
    Written(u32),
}

/// A request without a body, and where its query is: behind the first `?` of its first line, before the last space.
/// Empty where there is none.
#[derive(Debug)]
struct Head {
    bytes: Vec<u8>,
    query: Range<usize>,
}

/// How a head is like another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Like<'b> {
    /// To the byte.
    Same,
    /// But for this query.
    Query(&'b str),
}

/// What a refused request was answered.
struct Known {
    answer: Vec<u8>,
    refused: Box<dyn Refused>,
}

impl Repeats {
    /// The answer to these bytes, if they are one request that is known and refused again. Otherwise they are for the
    /// library. A function of its own, so that its instructions can be counted.
    #[inline(never)]
    pub(crate) fn answer(&mut self, bytes: &[u8], handover: &Handover) -> Option<&[u8]> {
        let requests = match self.phase {
            Phase::Between(requests)
                if requests == handover.requests() && bytes.len() <= MAX_REQUEST =>
            {
                requests
            }
            _ => {
                self.forget(handover);
                return None;
            }
        };
        let like = self.last.as_ref().and_then(|last| last.like(bytes));
        let is_again = match (like, &self.known) {
            (Some(Like::Same), Some(known)) => known.refused.again(None),
            (Some(Like::Query(query)), Some(known)) => known.refused.again(Some(query)),
            _ => false,
        };
        if is_again {
            return self.known.as_ref().map(|known| known.answer.as_slice());
        }
        if !is_one_head(bytes) {
            self.forget(handover);
            return None;
        }
        self.known = None;
        self.phase = Phase::Asked(requests);
        handover.want(like.is_some());
        if like != Some(Like::Same) {
            self.last = Some(Head::new(bytes));
        }
        None
    }

    /// The library wrote `bytes`, of which `written` were taken. `ended` says whether the last bytes that it read end with
    /// an empty line, as a head does.
    pub(crate) fn wrote(&mut self, bytes: &[u8], written: usize, ended: bool, handover: &Handover) {
        let taken = handover.take();
        let requests = handover.requests();
        let (Some(refused), true, true) = (taken, written == bytes.len(), ended) else {
            self.forget(handover);
            return;
        };
        if self.phase != Phase::Asked(requests.wrapping_sub(1)) {
            self.forget(handover);
        } else if let Some(refused) = refused
            && is_kept_open(bytes)
        {
            self.known = Some(Known {
                answer: bytes.to_vec(),
                refused,
            });
        }
        self.phase = Phase::Written(requests);
    }

    /// The library has nothing left to write.
    pub(crate) fn flushed(&mut self) {
        if let Phase::Written(requests) = self.phase {
            self.phase = Phase::Between(requests);
        }
    }

    fn forget(&mut self, handover: &Handover) {
        if self.phase != Phase::Unclear {
            *self = Self::default();
            handover.want(false);
        }
    }
}

impl Head {
    fn new(bytes: &[u8]) -> Self {
        let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or(b"");
        let start = line.iter().position(|byte| *byte == b'?');
        let end = line.iter().rposition(|byte| *byte == b' ');
        Self {
            bytes: bytes.to_vec(),
            query: match (start, end) {
                (Some(start), Some(end)) if start < end => start + 1..end,
                _ => 0..0,
            },
        }
    }

    fn like<'b>(&self, bytes: &'b [u8]) -> Option<Like<'b>> {
        if self.bytes == bytes {
            return Some(Like::Same);
        }
        let before = self.bytes.get(..self.query.start)?;
        let after = self.bytes.get(self.query.end..)?;
        if self.query.is_empty() {
            return None;
        }
        let query = bytes.strip_prefix(before)?.strip_suffix(after)?;
        let is_query = query.iter().all(|byte| is_of_query(*byte));
        let query = std::str::from_utf8(query).ok().filter(|_| is_query)?;
        Some(Like::Query(query))
    }
}

impl std::fmt::Debug for Known {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Known").finish_non_exhaustive()
    }
}

/// Whether `bytes` are lines of which only the last is empty: what comes of them, at the beginning of a request, is one
/// head and nothing behind it.
fn is_one_head(bytes: &[u8]) -> bool {
    let Some(lines) = bytes.strip_suffix(b"\r\n\r\n") else {
        return false;
    };
    lines
        .split(|byte| *byte == b'\n')
        .all(|line| !matches!(line, b"" | b"\r"))
}

/// What a query may consist of (RFC 3986, section 3.4), and those characters besides that JSON has and the library takes.
const fn is_of_query(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'-' | b'.'
                | b'_'
                | b'~'
                | b'%'
                | b'!'
                | b'$'
                | b'&'
                | b'\''
                | b'('
                | b')'
                | b'*'
                | b'+'
                | b','
                | b';'
                | b'='
                | b':'
                | b'@'
                | b'/'
                | b'?'
                | b'{'
                | b'}'
                | b'['
                | b']'
        )
}

/// Whether the connection stays open behind this answer.
fn is_kept_open(answer: &[u8]) -> bool {
    const CLOSE: &[u8] = b"\nconnection: close";
    answer.len() <= MAX_ANSWER
        && !answer
            .windows(CLOSE.len())
            .any(|part| part.eq_ignore_ascii_case(CLOSE))
}
