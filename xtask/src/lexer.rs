//! Splits Rust text into code, comments and string literals.
//!
//! Just enough of a lexer for the checks: it must never take a brace in a string for one in code, and need not
//! understand anything beyond that.

/// What a file is made of.
pub(crate) struct Parts {
    /// The text with comments and the insides of literals blanked; as long as the text, line for line.
    pub(crate) code: String,
    /// String literals with the line (from 1) on which they begin.
    pub(crate) strings: Vec<(usize, String)>,
}

/// Splits `text`.
pub(crate) fn split(text: &str) -> Parts {
    let mut lexer = Lexer {
        bytes: text.as_bytes(),
        at: 0,
        line: 1,
        code: Vec::with_capacity(text.len()),
        strings: Vec::new(),
    };
    while lexer.at < lexer.bytes.len() {
        lexer.step();
    }
    Parts {
        code: String::from_utf8_lossy(&lexer.code).into_owned(),
        strings: lexer.strings,
    }
}

struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
    code: Vec<u8>,
    strings: Vec<(usize, String)>,
}

impl Lexer<'_> {
    fn step(&mut self) {
        let rest = &self.bytes[self.at..];
        if rest.starts_with(b"//") {
            self.blank_while(|rest| rest[0] != b'\n');
        } else if rest.starts_with(b"/*") {
            self.block_comment();
        } else if let Some(hashes) = raw_string(rest).filter(|_| !self.after_word()) {
            self.raw_string(hashes);
        } else if rest[0] == b'"' {
            self.string();
        } else if rest[0] == b'\'' {
            self.char_or_lifetime();
        } else {
            self.keep(1);
        }
    }

    /// Whether what was read last belongs to a word, so that the `r` of `for"` begins no raw string.
    fn after_word(&self) -> bool {
        self.code
            .last()
            .is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
    }

    fn keep(&mut self, count: usize) {
        for _ in 0..count.min(self.bytes.len() - self.at) {
            let byte = self.bytes[self.at];
            self.line += usize::from(byte == b'\n');
            // Bytes beyond ASCII stand for nothing the checks look at; one blank a byte keeps the columns.
            self.code.push(if byte.is_ascii() { byte } else { b'_' });
            self.at += 1;
        }
    }

    fn blank(&mut self, count: usize) {
        for _ in 0..count.min(self.bytes.len() - self.at) {
            let newline = self.bytes[self.at] == b'\n';
            self.line += usize::from(newline);
            self.code.push(if newline { b'\n' } else { b' ' });
            self.at += 1;
        }
    }

    fn blank_while(&mut self, more: impl Fn(&[u8]) -> bool) {
        while self.at < self.bytes.len() && more(&self.bytes[self.at..]) {
            self.blank(1);
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0_usize;
        while self.at < self.bytes.len() {
            let rest = &self.bytes[self.at..];
            if rest.starts_with(b"/*") {
                depth += 1;
                self.blank(2);
            } else if rest.starts_with(b"*/") {
                depth -= 1;
                self.blank(2);
                if depth == 0 {
                    return;
                }
            } else {
                self.blank(1);
            }
        }
    }

    fn string(&mut self) {
        let (line, start) = (self.line, self.at + 1);
        self.keep(1);
        while self.at < self.bytes.len() && self.bytes[self.at] != b'"' {
            self.blank(if self.bytes[self.at] == b'\\' { 2 } else { 1 });
        }
        self.literal(line, start, self.at);
        self.keep(1);
    }

    fn raw_string(&mut self, hashes: usize) {
        let line = self.line;
        let mut end = vec![b'"'];
        end.resize(hashes + 1, b'#');
        while self.bytes[self.at] != b'"' {
            self.blank(1);
        }
        self.keep(1);
        let start = self.at;
        self.blank_while(|rest| !rest.starts_with(&end));
        self.literal(line, start, self.at);
        self.keep(1);
        self.blank(hashes);
    }

    fn literal(&mut self, line: usize, start: usize, end: usize) {
        let text = String::from_utf8_lossy(&self.bytes[start..end.max(start)]);
        self.strings.push((line, text.into_owned()));
    }

    fn char_or_lifetime(&mut self) {
        let rest = &self.bytes[self.at..];
        let length = match rest {
            [_, b'\\', b'\'', b'\'', ..] => 4,
            [_, b'\\', ..] => rest.iter().skip(2).position(|b| *b == b'\'').unwrap_or(0) + 3,
            // A char of any width ends within five bytes; a lifetime has no closing quote.
            _ => match rest.iter().skip(2).take(4).position(|b| *b == b'\'') {
                Some(at) if at == 0 || !rest[1].is_ascii() => at + 3,
                _ => return self.keep(1),
            },
        };
        self.keep(1);
        self.blank(length - 2);
        self.keep(1);
    }
}

/// How many `#` a raw string that begins here has; `None` when none begins here.
fn raw_string(rest: &[u8]) -> Option<usize> {
    let rest = rest.strip_prefix(b"b").unwrap_or(rest);
    let rest = rest.strip_prefix(b"r")?;
    let hashes = rest.iter().take_while(|byte| **byte == b'#').count();
    (rest.get(hashes) == Some(&b'"')).then_some(hashes)
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn braces_in_literals_and_comments_are_not_code() {
        let parts =
            split("fn a() { \"}\\\"}\"; '}'; '\\''; r#\"}\"}\"#; /* } /* } */ } */ } // }\n");
        assert_eq!(parts.code.matches('}').count(), 1, "{}", parts.code);
        assert_eq!(parts.code.matches('{').count(), 1);
    }

    #[test]
    fn strings_come_with_their_line() {
        let parts = split("let a = \"one\";\nlet b = r\"two\n\"; let c = b\"three\";");
        assert_eq!(
            parts.strings,
            [(1, "one".into()), (2, "two\n".into()), (3, "three".into())]
        );
    }

    #[test]
    fn a_lifetime_opens_no_literal() {
        let parts = split("fn a<'a>(b: &'a str) -> &'a str { b } // it's\nconst Q: char = 'é';");
        assert!(parts.code.contains("&'a str { b }"));
        assert_eq!(parts.code.lines().count(), 2);
    }

    #[test]
    fn the_code_is_as_long_as_the_text() {
        let text = "let é = \"ü\"; // ö\n";
        assert_eq!(split(text).code.len(), text.len());
    }
}
