//! The payload of a GET: one JSON value in the `body` parameter of the query.
//!
//! [`scan_query`] runs before the limiter and decodes on the fly; [`decode_body_param`] runs after it and decodes the whole.
//! Both must see the same bytes: names and values are percent-decoded, `+` is a space, pairs are split at `&`.

use std::borrow::Cow;

use super::{Progress, Scanner, Want};

/// The parameter.
const BODY: &[u8] = b"body";

/// What [`scan_query`] found.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "lives on the stack of one request; a box would be an allocation"
)]
pub enum QueryBody {
    /// The query has no `body`.
    Missing,
    /// The first `body`, scanned as far as needed.
    Scanned(Scanner),
}

/// Why the payload of a query cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// The query has no `body`.
    #[error("the query parameter `body` is missing")]
    Missing,
    /// The query has more than one `body`.
    #[error("the query parameter `body` is given twice")]
    Duplicate,
    /// A `%` that two hexadecimal digits do not follow.
    #[error("the query parameter `body` has a `%` without two hexadecimal digits")]
    Escape,
}

/// Scans the first `body` of `query` (without its `?`) for its `table`, without allocation.
///
/// ```
/// use zonai_http::{Field, QueryBody, scan_query};
/// let QueryBody::Scanned(found) = scan_query("body=%7B%22table%22:%22notes%22%7D") else { unreachable!() };
/// assert_eq!(found.table(), Field::Text("notes"));
/// ```
#[must_use]
pub fn scan_query(query: &str) -> QueryBody {
    let Some(value) = bodies(query).next() else {
        return QueryBody::Missing;
    };
    let mut scanner = Scanner::new(Want::Table);
    let mut decoder = Decoder { rest: value };
    let mut piece = [0u8; 128];
    loop {
        let mut len = 0;
        for room in &mut piece {
            match decoder.next() {
                Some(Ok(byte)) => *room = byte,
                Some(Err(_)) => {
                    let _ = scanner.feed(piece.get(..len).unwrap_or_default());
                    scanner.finish();
                    return QueryBody::Scanned(scanner);
                }
                None => break,
            }
            len += 1;
        }
        if len == 0 {
            scanner.finish();
            return QueryBody::Scanned(scanner);
        }
        if scanner.feed(piece.get(..len).unwrap_or_default()) == Progress::Done {
            return QueryBody::Scanned(scanner);
        }
    }
}

/// The decoded `body` of `query` (without its `?`); borrowed where nothing is encoded.
///
/// # Errors
/// Where there is no `body`, more than one, or a broken percent sign in it.
pub fn decode_body_param(query: &str) -> Result<Cow<'_, [u8]>, QueryError> {
    let mut bodies = bodies(query);
    let value = bodies.next().ok_or(QueryError::Missing)?;
    if bodies.next().is_some() {
        return Err(QueryError::Duplicate);
    }
    if !value.iter().any(|&b| matches!(b, b'%' | b'+')) {
        return Ok(Cow::Borrowed(value));
    }
    Decoder { rest: value }
        .collect::<Result<Vec<u8>, _>>()
        .map(Cow::Owned)
}

/// The raw values of every `body`.
fn bodies(query: &str) -> impl Iterator<Item = &[u8]> {
    query.as_bytes().split(|&b| b == b'&').filter_map(|pair| {
        let (name, value) = match pair.iter().position(|&b| b == b'=') {
            Some(at) => (pair.get(..at)?, pair.get(at + 1..)?),
            None => (pair, [].as_slice()),
        };
        is_body(name).then_some(value)
    })
}

fn is_body(name: &[u8]) -> bool {
    name == BODY || (name.contains(&b'%') && Decoder { rest: name }.eq(BODY.iter().map(|&b| Ok(b))))
}

/// Percent-decoding, a byte at a time.
struct Decoder<'a> {
    rest: &'a [u8],
}

impl Iterator for Decoder<'_> {
    type Item = Result<u8, QueryError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (&byte, after) = self.rest.split_first()?;
        self.rest = after;
        Some(match byte {
            b'+' => Ok(b' '),
            b'%' => match after {
                [high, low, rest @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                    self.rest = rest;
                    Ok(hex(*high) << 4 | hex(*low))
                }
                _ => Err(QueryError::Escape),
            },
            plain => Ok(plain),
        })
    }
}

/// The value of a hexadecimal digit.
#[inline]
fn hex(digit: u8) -> u8 {
    // Letters have bit 6 set and end in 1 to 6; digits end in their value.
    (digit & 0x0f) + if digit & 0x40 == 0 { 0 } else { 9 }
}
