//! The payload of a GET: one JSON value in the `body` parameter of the query.
//!
//! [`scan_query`] runs before the limiter and decodes on the fly; [`decode_body_param`] runs after it and decodes the whole.
//! Both must see the same bytes: names and values are percent-decoded, `+` is a space, pairs are split at `&`.
//! Must never count a request on one table and answer it from another.

use std::borrow::Cow;

use super::{Field, MAX_NAME, Named, Progress, Scanner, Want};

/// The parameter.
const BODY: &[u8] = b"body";

/// How many bytes are decoded at a time: a `table` that comes first needs one piece.
const PIECE: usize = 32;

/// What [`scan_query`] found.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "lives on the stack of one request; a box would be an allocation"
)]
pub enum QueryBody<'a> {
    /// The query has no `body`.
    Missing,
    /// The first `body` begins with its `table`, in so plain a spelling that it need not be scanned.
    Plain(&'a str),
    /// The first `body`, scanned as far as needed.
    Scanned(Scanner),
}

impl QueryBody<'_> {
    /// What it names; `None` where it is missing.
    #[must_use]
    pub fn named(&self) -> Option<Named<'_>> {
        match self {
            Self::Missing => None,
            Self::Plain(table) => Some(Named {
                table: Field::Text(table),
                kind: Field::Missing,
                broken: false,
            }),
            Self::Scanned(scanner) => Some(scanner.named()),
        }
    }
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
/// use zonai_http::{Field, scan_query};
/// let body = scan_query("body=%7B%22table%22:%22notes%22%7D");
/// assert_eq!(body.named().unwrap().table, Field::Text("notes"));
/// ```
#[must_use]
pub fn scan_query(query: &str) -> QueryBody<'_> {
    let Some(value) = first_body(query.as_bytes()) else {
        return QueryBody::Missing;
    };
    match plain_table(value) {
        Some(table) => QueryBody::Plain(table),
        None => QueryBody::Scanned(scan_value(value)),
    }
}

/// The name in a value that begins as nearly all clients write it, `{"table":"name"` with the marks encoded or not.
/// Whatever else it may be is for the scanner, which would find the same.
fn plain_table(value: &[u8]) -> Option<&str> {
    let rest = mark(mark(value, b'{')?, b'"')?;
    let rest = mark(rest.strip_prefix(b"table")?, b'"')?;
    let rest = mark(mark(rest, b':')?, b'"')?;
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let (name, rest) = rest.split_at(rest.iter().take_while(|byte| plain(byte)).count());
    mark(rest, b'"')?;
    (!name.is_empty() && name.len() <= MAX_NAME)
        .then(|| std::str::from_utf8(name).ok())
        .flatten()
}

/// What follows a mark, which may be percent-encoded.
#[inline]
fn mark(text: &[u8], mark: u8) -> Option<&[u8]> {
    match text {
        [plain, after @ ..] if *plain == mark => Some(after),
        [b'%', high, low, after @ ..]
            if high.is_ascii_hexdigit()
                && low.is_ascii_hexdigit()
                && hex(*high) << 4 | hex(*low) == mark =>
        {
            Some(after)
        }
        _ => None,
    }
}

/// Scans a value that ends at `&`, decoding no further than needed.
fn scan_value(value: &[u8]) -> Scanner {
    let mut scanner = Scanner::new(Want::Table);
    let mut rest = value;
    let mut piece = [0u8; PIECE];
    loop {
        let (len, more) = decode_piece(&mut rest, &mut piece);
        if scanner.feed(piece.get(..len).unwrap_or_default()) == Progress::Done {
            return scanner;
        }
        if !more {
            scanner.finish();
            return scanner;
        }
    }
}

/// Decodes from `rest` into `piece`: how many bytes, and whether more may follow (not after `&` or a broken `%`).
#[inline]
fn decode_piece(rest: &mut &[u8], piece: &mut [u8; PIECE]) -> (usize, bool) {
    let mut len = 0;
    for room in piece.iter_mut() {
        *room = match **rest {
            [b'%', high, low, ref after @ ..]
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                *rest = after;
                hex(high) << 4 | hex(low)
            }
            [] | [b'&' | b'%', ..] => return (len, false),
            [b'+', ref after @ ..] => {
                *rest = after;
                b' '
            }
            [plain, ref after @ ..] => {
                *rest = after;
                plain
            }
        };
        len += 1;
    }
    (len, true)
}

/// What follows the `=` of the first `body`, with what stands after it.
#[inline]
fn first_body(query: &[u8]) -> Option<&[u8]> {
    let mut rest = query;
    loop {
        if let Some(value) = rest.strip_prefix(b"body=") {
            return Some(value);
        }
        let end = rest
            .iter()
            .position(|&b| matches!(b, b'=' | b'&'))
            .unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if is_body(name) {
            return Some(after.strip_prefix(b"=").unwrap_or_default());
        }
        let next = after.iter().position(|&b| b == b'&')?;
        rest = after.get(next + 1..)?;
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
