//! Which table a payload names, found without parsing the rest.
//!
//! Used before the limiter, on bytes anybody may send: constant memory, no recursion, no allocation, and it stops
//! at the first answer. Must never be taken for validation: a payload that passes here is parsed in full later, and
//! a `table` named twice is refused there.

mod grammar;
mod query;
mod text;

pub use query::{QueryBody, QueryError, decode_body_param, scan_query};

use grammar::State;
use text::{Escape, Text};

/// The longest table name that is kept, in bytes.
pub const MAX_NAME: usize = 256;
/// The longest `type` that is kept, in bytes.
pub const MAX_KIND: usize = 64;

/// What to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// The top-level `table`.
    Table,
    /// The top-level `table` and `type`.
    TableAndType,
}

/// Whether to go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Progress {
    /// Not known yet: feed more, or call [`Scanner::finish`] at the end of the payload.
    More,
    /// What is wanted is known, or cannot be known any more.
    Done,
}

/// The value of one wanted key: the first, where the payload names it twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field<'a> {
    /// Not seen.
    Missing,
    /// There, but no text: another type, invalid UTF-8, or half a surrogate pair.
    NotString,
    /// There, unescaped.
    Text(&'a str),
    /// Longer than any name ([`MAX_NAME`], [`MAX_KIND`]).
    TooLong,
}

/// What a payload names, as far as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named<'a> {
    /// The first top-level `table`.
    pub table: Field<'a>,
    /// The first top-level `type`; missing where it was not wanted.
    pub kind: Field<'a>,
    /// The payload is no JSON object as far as it was read.
    pub broken: bool,
}

/// Scans a JSON object that comes in pieces.
///
/// ```
/// use zonai_http::{Field, Progress, Scanner, Want};
/// let mut scanner = Scanner::new(Want::Table);
/// assert_eq!(scanner.feed(br#"{"object": {"table": 1}, "t\u0061b"#), Progress::More);
/// assert_eq!(scanner.feed(br#"le": "notes", "never": "read"#), Progress::Done);
/// assert_eq!(scanner.table(), Field::Text("notes"));
/// ```
#[derive(Clone, Debug)]
pub struct Scanner {
    state: State,
    /// One bit for each open bracket, the innermost lowest; set for an object.
    stack: u128,
    depth: u32,
    escape: Escape,
    /// Where the bytes of the string being read go.
    sink: Sink,
    /// The string being read is a key.
    reading_key: bool,
    /// What the top-level value that comes next is for.
    next: Sink,
    /// What is left of `true`, `false` or `null`.
    literal: &'static [u8],
    want_kind: bool,
    done: bool,
    broken: bool,
    key: Text<8>,
    table: Text<MAX_NAME>,
    kind: Text<MAX_KIND>,
}

/// Where the bytes of a string go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sink {
    Nowhere,
    Key,
    Table,
    Kind,
}

impl Scanner {
    /// A scanner at the start of a payload.
    #[must_use]
    pub fn new(want: Want) -> Self {
        Self {
            state: State::Start,
            stack: 0,
            depth: 0,
            escape: Escape::default(),
            sink: Sink::Nowhere,
            reading_key: false,
            next: Sink::Nowhere,
            literal: b"",
            want_kind: want == Want::TableAndType,
            done: false,
            broken: false,
            key: Text::new(),
            table: Text::new(),
            kind: Text::new(),
        }
    }

    /// Takes the next piece, cut anywhere. After [`Progress::Done`] further pieces are ignored.
    pub fn feed(&mut self, piece: &[u8]) -> Progress {
        self.run(piece);
        if self.done {
            Progress::Done
        } else {
            Progress::More
        }
    }

    /// The payload has ended: where more was needed it is broken.
    pub fn finish(&mut self) {
        if !self.done {
            self.break_off();
        }
    }

    /// The first top-level `table`.
    #[must_use]
    pub fn table(&self) -> Field<'_> {
        self.table.field()
    }

    /// The first top-level `type`; always missing with [`Want::Table`].
    #[must_use]
    pub fn kind(&self) -> Field<'_> {
        self.kind.field()
    }

    /// Whether the payload is no JSON object as far as it was read. What follows the last wanted value is not read.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// All of it.
    #[must_use]
    pub fn named(&self) -> Named<'_> {
        Named {
            table: self.table(),
            kind: self.kind(),
            broken: self.is_broken(),
        }
    }

    fn break_off(&mut self) {
        self.broken = true;
        self.done = true;
        // A value that is cut off is not known.
        self.table.drop_unfinished();
        self.kind.drop_unfinished();
    }

    fn check_done(&mut self) {
        self.done = self.table.is_known() && (!self.want_kind || self.kind.is_known());
    }
}
