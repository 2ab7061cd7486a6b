//! A string of bounded length, unescaped as it is read.
//!
//! Must never hold more than its bound, nor show bytes that are not UTF-8.

use super::Field;

/// The first `N` bytes of a string.
#[derive(Clone, Debug)]
pub(super) struct Text<const N: usize> {
    len: usize,
    status: Status,
    bytes: [u8; N],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Missing,
    Reading,
    NotString,
    TooLong,
    Known,
}

impl<const N: usize> Text<N> {
    pub(super) fn new() -> Self {
        Self {
            len: 0,
            status: Status::Missing,
            bytes: [0; N],
        }
    }

    /// The string begins.
    #[inline]
    pub(super) fn begin(&mut self) {
        self.len = 0;
        self.status = Status::Reading;
    }

    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        match self.bytes.get_mut(self.len..end) {
            Some(room) => {
                room.copy_from_slice(bytes);
                self.len = end;
            }
            None => {
                self.len = N;
                if self.status == Status::Reading {
                    self.status = Status::TooLong;
                }
            }
        }
    }

    /// The value is no text.
    pub(super) fn set_not_string(&mut self) {
        self.status = Status::NotString;
    }

    /// The string has ended.
    #[inline]
    pub(super) fn end(&mut self) {
        if self.status == Status::Reading {
            let text = self.bytes.get(..self.len).map(std::str::from_utf8);
            self.status = if matches!(text, Some(Ok(_))) {
                Status::Known
            } else {
                Status::NotString
            };
        }
    }

    pub(super) fn drop_unfinished(&mut self) {
        if self.status == Status::Reading {
            self.status = Status::Missing;
        }
    }

    /// Whether the key of this value has been seen.
    pub(super) fn is_seen(&self) -> bool {
        self.status != Status::Missing
    }

    /// Whether nothing that may come changes the answer.
    pub(super) fn is_known(&self) -> bool {
        !matches!(self.status, Status::Missing | Status::Reading)
    }

    /// Whether what was read so far, and is text, is this.
    #[inline]
    pub(super) fn is(&self, text: &[u8]) -> bool {
        self.status == Status::Reading && self.bytes.get(..self.len) == Some(text)
    }

    pub(super) fn field(&self) -> Field<'_> {
        match self.status {
            Status::Missing | Status::Reading => Field::Missing,
            Status::NotString => Field::NotString,
            Status::TooLong => Field::TooLong,
            Status::Known => match self.bytes.get(..self.len).map(std::str::from_utf8) {
                Some(Ok(text)) => Field::Text(text),
                _ => Field::NotString,
            },
        }
    }
}

/// Where in an escape sequence a string stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Escape {
    step: Step,
    unit: u16,
    /// The first half of a surrogate pair, waiting for the second; 0 for none.
    high: u16,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Step {
    #[default]
    Outside,
    Backslash,
    Hex(u8),
}

/// What one byte of an escape sequence made.
pub(super) enum Unescaped {
    /// Nothing yet.
    Nothing,
    /// This character.
    Char(char),
    /// Half a surrogate pair: the string is no text.
    NoText,
    /// No escape sequence of JSON.
    Invalid,
}

impl Escape {
    #[inline]
    pub(super) fn is_outside(self) -> bool {
        self.step == Step::Outside
    }

    /// A backslash stands here.
    pub(super) fn open(&mut self) {
        self.step = Step::Backslash;
    }

    /// Whether half a pair waits for a second half that can no longer come; forgets it.
    #[inline]
    pub(super) fn take_half(&mut self) -> bool {
        std::mem::take(&mut self.high) != 0
    }

    /// The next byte of the sequence.
    pub(super) fn byte(&mut self, byte: u8) -> Unescaped {
        match self.step {
            Step::Outside => Unescaped::Invalid,
            Step::Backslash => self.letter(byte),
            Step::Hex(left) => {
                let Some(digit) = char::from(byte).to_digit(16) else {
                    return Unescaped::Invalid;
                };
                self.unit = self.unit << 4 | u16::try_from(digit).unwrap_or(0);
                if left > 1 {
                    self.step = Step::Hex(left - 1);
                    return Unescaped::Nothing;
                }
                self.step = Step::Outside;
                self.close_unit()
            }
        }
    }

    fn letter(&mut self, byte: u8) -> Unescaped {
        let plain = match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                self.unit = 0;
                self.step = Step::Hex(4);
                return Unescaped::Nothing;
            }
            _ => return Unescaped::Invalid,
        };
        self.step = Step::Outside;
        if self.take_half() {
            Unescaped::NoText
        } else {
            Unescaped::Char(plain)
        }
    }

    fn close_unit(&mut self) -> Unescaped {
        let unit = self.unit;
        let high = std::mem::take(&mut self.high);
        match unit {
            0xd800..=0xdbff if high == 0 => {
                self.high = unit;
                Unescaped::Nothing
            }
            0xdc00..=0xdfff if high != 0 => {
                let code =
                    0x10000 + ((u32::from(high) - 0xd800) << 10) + (u32::from(unit) - 0xdc00);
                char::from_u32(code).map_or(Unescaped::NoText, Unescaped::Char)
            }
            _ if high != 0 => Unescaped::NoText,
            _ => char::from_u32(u32::from(unit)).map_or(Unescaped::NoText, Unescaped::Char),
        }
    }
}
