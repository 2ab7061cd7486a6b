//! The grammar of JSON, a byte at a time: brackets are bits of one number, so depth is bounded and nothing recurses.
//!
//! Must never look back: all it knows of what was read is in the scanner's few fields.

use super::text::{Escape, Unescaped};
use super::{Scanner, Sink};

/// What may come next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The payload: an object, after spaces and perhaps a byte order mark.
    Start,
    /// So many bytes of the byte order mark have come.
    Mark(u8),
    /// After `{`: a key or `}`.
    FirstKey,
    /// After `,` in an object.
    Key,
    /// After a key.
    Colon,
    /// A value.
    Value,
    /// After `[`: a value or `]`.
    FirstItem,
    /// After a value: `,` or a closing bracket.
    After,
    /// Inside a string.
    String,
    /// Inside `true`, `false` or `null`.
    Literal,
    /// Inside a number.
    Number(Number),
}

/// The part of a number just read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Number {
    Minus,
    Zero,
    Integer,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

/// How many brackets may be open at once.
const MAX_DEPTH: u32 = 128;

impl Scanner {
    /// Reads `piece` until the answer is known.
    #[inline]
    pub(super) fn run(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while !self.done
            && let Some((&byte, after)) = rest.split_first()
        {
            match self.state {
                State::String => {
                    rest = self.string(rest);
                    continue;
                }
                State::Number(part) => {
                    if self.number_ends(part, byte) {
                        self.state = State::After;
                        continue;
                    }
                }
                State::Literal => self.literal_byte(byte),
                State::Mark(seen) => self.mark_byte(seen, byte),
                state => self.byte(state, byte),
            }
            rest = after;
        }
    }

    /// A byte between values.
    #[inline]
    fn byte(&mut self, state: State, byte: u8) {
        match (state, byte) {
            (State::FirstKey | State::Key, b'"') => self.open_key(),
            (State::Colon, b':') => self.state = State::Value,
            (_, b' ' | b'\n' | b'\r' | b'\t') => {}
            (State::After, b',') => {
                self.state = if self.in_object() {
                    State::Key
                } else {
                    State::Value
                };
            }
            (State::After, b'}' | b']') => self.close(byte == b'}'),
            (State::FirstKey, b'}') | (State::FirstItem, b']') => self.close(byte == b'}'),
            (State::Value | State::FirstItem, _) => self.open_value(byte),
            (State::Start, b'{') => self.open(true),
            (State::Start, 0xef) => self.state = State::Mark(1),
            _ => self.break_off(),
        }
    }

    fn mark_byte(&mut self, seen: u8, byte: u8) {
        match (seen, byte) {
            (1, 0xbb) => self.state = State::Mark(2),
            (2, 0xbf) => self.state = State::Mark(3),
            (3, b' ' | b'\n' | b'\r' | b'\t') => {}
            (3, b'{') => self.open(true),
            _ => self.break_off(),
        }
    }

    #[inline]
    fn in_object(&self) -> bool {
        self.stack & 1 == 1
    }

    fn open(&mut self, object: bool) {
        if self.depth == MAX_DEPTH {
            return self.break_off();
        }
        self.depth += 1;
        self.stack = self.stack << 1 | u128::from(object);
        self.state = if object {
            State::FirstKey
        } else {
            State::FirstItem
        };
    }

    fn close(&mut self, object: bool) {
        if self.in_object() != object {
            return self.break_off();
        }
        self.stack >>= 1;
        self.depth -= 1;
        self.state = State::After;
        // The end of the payload: what was not seen is missing.
        self.done |= self.depth == 0;
    }

    fn open_key(&mut self) {
        self.state = State::String;
        self.escape = Escape::default();
        self.sink = Sink::Nowhere;
        self.next = Sink::Nowhere;
        if self.depth == 1 {
            self.sink = Sink::Key;
            self.key.begin();
        }
        self.reading_key = true;
    }

    #[inline]
    fn open_value(&mut self, byte: u8) {
        let next = std::mem::replace(&mut self.next, Sink::Nowhere);
        if byte == b'"' {
            self.state = State::String;
            self.escape = Escape::default();
            self.sink = next;
            self.reading_key = false;
            match next {
                Sink::Table => self.table.begin(),
                Sink::Kind => self.kind.begin(),
                Sink::Key | Sink::Nowhere => {}
            }
            return;
        }
        match next {
            Sink::Table => self.table.set_not_string(),
            Sink::Kind => self.kind.set_not_string(),
            Sink::Key | Sink::Nowhere => {}
        }
        match byte {
            b'{' => self.open(true),
            b'[' => self.open(false),
            b't' => self.open_literal(b"rue"),
            b'f' => self.open_literal(b"alse"),
            b'n' => self.open_literal(b"ull"),
            b'-' => self.state = State::Number(Number::Minus),
            b'0' => self.state = State::Number(Number::Zero),
            b'1'..=b'9' => self.state = State::Number(Number::Integer),
            _ => return self.break_off(),
        }
        if next != Sink::Nowhere && !self.done {
            self.check_done();
        }
    }

    fn open_literal(&mut self, rest: &'static [u8]) {
        self.literal = rest;
        self.state = State::Literal;
    }

    fn literal_byte(&mut self, byte: u8) {
        match self.literal.split_first() {
            Some((&expected, rest)) if expected == byte => {
                self.literal = rest;
                if rest.is_empty() {
                    self.state = State::After;
                }
            }
            _ => self.break_off(),
        }
    }

    /// Reads a byte of a number; whether it stands after the number instead.
    fn number_ends(&mut self, part: Number, byte: u8) -> bool {
        use Number as N;
        let next = match (part, byte) {
            (N::Minus, b'0') => N::Zero,
            (N::Minus, b'1'..=b'9') | (N::Integer, b'0'..=b'9') => N::Integer,
            (N::Zero | N::Integer, b'.') => N::Point,
            (N::Point | N::Fraction, b'0'..=b'9') => N::Fraction,
            (N::Zero | N::Integer | N::Fraction, b'e' | b'E') => N::E,
            (N::E, b'+' | b'-') => N::Sign,
            (N::E | N::Sign | N::Exponent, b'0'..=b'9') => N::Exponent,
            (N::Zero | N::Integer | N::Fraction | N::Exponent, _) => return true,
            _ => {
                self.break_off();
                return false;
            }
        };
        self.state = State::Number(next);
        false
    }

    /// Reads a string up to its end or the end of `piece`; returns what follows.
    #[inline]
    fn string<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        let mut rest = piece;
        loop {
            if self.escape.is_outside() {
                let end = rest
                    .iter()
                    .position(|&b| matches!(b, b'"' | b'\\' | 0..0x20))
                    .unwrap_or(rest.len());
                let (run, after) = rest.split_at(end);
                if !run.is_empty() {
                    self.push(run);
                    // What follows an answer is not read, wherever the pieces were cut.
                    if self.done {
                        return after;
                    }
                }
                rest = after;
            }
            let Some((&byte, after)) = rest.split_first() else {
                return rest;
            };
            rest = after;
            if !self.escape.is_outside() {
                self.escaped_byte(byte);
                if self.done {
                    return rest;
                }
                continue;
            }
            match byte {
                b'\\' => self.escape.open(),
                b'"' => {
                    self.end_string();
                    return rest;
                }
                _ => {
                    self.break_off();
                    return rest;
                }
            }
        }
    }

    #[inline(always)]
    fn push(&mut self, bytes: &[u8]) {
        if self.escape.take_half() {
            self.no_text();
        }
        match self.sink {
            Sink::Nowhere => {}
            Sink::Key => self.key.push(bytes),
            Sink::Table => {
                self.table.push(bytes);
                self.check_done();
            }
            Sink::Kind => {
                self.kind.push(bytes);
                self.check_done();
            }
        }
    }

    fn no_text(&mut self) {
        match self.sink {
            Sink::Nowhere => {}
            Sink::Key => self.key.set_not_string(),
            Sink::Table => self.table.set_not_string(),
            Sink::Kind => self.kind.set_not_string(),
        }
    }

    fn escaped_byte(&mut self, byte: u8) {
        match self.escape.byte(byte) {
            Unescaped::Nothing => {}
            Unescaped::Char(char) => self.push(char.encode_utf8(&mut [0; 4]).as_bytes()),
            Unescaped::NoText => self.no_text(),
            Unescaped::Invalid => self.break_off(),
        }
    }

    #[inline]
    fn end_string(&mut self) {
        if self.escape.take_half() {
            self.no_text();
        }
        let sink = std::mem::replace(&mut self.sink, Sink::Nowhere);
        if self.reading_key {
            self.state = State::Colon;
            if sink == Sink::Key {
                self.next = self.wanted_key();
            }
            return;
        }
        self.state = State::After;
        match sink {
            Sink::Table => self.table.end(),
            Sink::Kind => self.kind.end(),
            Sink::Key | Sink::Nowhere => return,
        }
        self.check_done();
    }

    /// What the key just read asks for; a second of a kind asks for nothing.
    #[inline]
    fn wanted_key(&self) -> Sink {
        if self.key.is(b"table") && !self.table.is_seen() {
            Sink::Table
        } else if self.want_kind && self.key.is(b"type") && !self.kind.is_seen() {
            Sink::Kind
        } else {
            Sink::Nowhere
        }
    }
}
