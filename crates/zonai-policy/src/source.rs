//! One text file that is read for its meaning: its path as it is shown, its text, and places in it.
//!
//! Must never hold more than [`MAX_FILE_BYTES`] of a file: the folder may be written by others.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use zonai_limit::Origin;

use crate::Diagnostic;

/// The most bytes one configuration file may have: 1 MiB.
pub const MAX_FILE_BYTES: usize = 1 << 20;

/// A place in a file, counted from 1, and how many characters from there on are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Characters on that line that are meant; 0 where there is only a point.
    pub length: u32,
}

impl Span {
    /// The first character of a file.
    pub const START: Self = Self {
        line: 1,
        column: 1,
        length: 0,
    };

    /// The place at `line` and `column`, both from 1.
    #[must_use]
    pub const fn point(line: u32, column: u32) -> Self {
        Self {
            line,
            column,
            length: 0,
        }
    }
}

/// A file's text and the path under which diagnostics show it. Clones are cheap.
#[derive(Clone, Debug)]
pub struct Source {
    path: Arc<str>,
    text: Arc<str>,
}

impl Source {
    /// A source from memory.
    #[must_use]
    pub fn new(path: impl Into<Arc<str>>, text: impl AsRef<str>) -> Self {
        let text = text.as_ref();
        Self {
            path: path.into(),
            text: text.strip_prefix('\u{feff}').unwrap_or(text).into(),
        }
    }

    /// Reads `file`, shown as `shown` in diagnostics.
    ///
    /// # Errors
    /// When the file cannot be read, is larger than [`MAX_FILE_BYTES`], or is not UTF-8 (with the place of
    /// the first byte that is not).
    pub fn read(file: &Path, shown: &str) -> Result<Self, Diagnostic> {
        let fault = |message: String| Diagnostic::whole_file(shown, message);
        let opened = File::open(file).map_err(|e| fault(format!("cannot be read: {e}")))?;
        let mut bytes = Vec::new();
        opened
            .take(MAX_FILE_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| fault(format!("cannot be read: {e}")))?;
        if bytes.len() > MAX_FILE_BYTES {
            return Err(fault(format!(
                "is larger than {MAX_FILE_BYTES} bytes, the most a file may have"
            )));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self::new(shown, text)),
            Err(error) => {
                let valid = error.utf8_error().valid_up_to();
                let good = String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned();
                let source = Self::new(shown, good);
                let span = source.span_of_byte(source.text.len());
                Err(source.fault(span, "is not UTF-8 text from here on"))
            }
        }
    }

    /// The path as it is shown.
    #[must_use]
    pub fn path(&self) -> &Arc<str> {
        &self.path
    }

    /// The whole text, without a byte-order mark.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// One line, counted from 1, without its end; empty past the end.
    #[must_use]
    pub fn line(&self, line: u32) -> &str {
        let mut start = 0;
        for _ in 1..line {
            match next_line(&self.text, start) {
                Some(next) => start = next,
                None => return "",
            }
        }
        line_of(&self.text[start..])
    }

    /// A place as the origin of a limit.
    #[must_use]
    pub fn origin(&self, span: Span) -> Origin {
        Origin::File {
            path: Arc::clone(&self.path),
            line: span.line,
            column: span.column,
        }
    }

    /// The place of a byte offset into [`Self::text`].
    #[must_use]
    pub fn span_of_byte(&self, offset: usize) -> Span {
        let offset = self.text.floor_char_boundary(offset);
        let (mut line, mut start) = (1, 0);
        while let Some(next) = next_line(&self.text, start).filter(|next| *next <= offset) {
            (line, start) = (line + 1, next);
        }
        // Between `\r` and `\n` there is no column: that is the line's end.
        let before = line_of(&self.text[start..offset]);
        Span::point(line, count(before.chars().count()) + 1)
    }

    /// A fault at a place of this file.
    #[must_use]
    pub fn fault(&self, span: Span, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(self, span, message)
    }
}

/// `text` up to the end of its first line.
fn line_of(text: &str) -> &str {
    text.split(['\n', '\r']).next().unwrap_or(text)
}

/// Where the line after the one at `start` begins. Lines end with `\n`, `\r\n` or `\r`, as in YAML.
fn next_line(text: &str, start: usize) -> Option<usize> {
    let end = start + text[start..].find(['\n', '\r'])?;
    let is_pair = text[end..].starts_with("\r\n");
    Some(end + if is_pair { 2 } else { 1 })
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX - 1)
}
