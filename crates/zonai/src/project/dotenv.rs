//! The project's `.env`: names and values, one a line.
//!
//! A value is never expanded and never run: `$` is a plain character, so that a secret is what was written.
//! Must never quote a value in a fault: most of them are secrets.
//!
//! ```text
//! # a comment
//! NAME=plain value       # a blank and `#` begin a comment
//! export NAME='as it is: \ " $ #'
//! NAME="with \n \r \t \\ \" \$"
//! ```

use std::collections::BTreeMap;

/// What is wrong with a line, without its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LineFault {
    /// Line, from 1.
    pub(crate) line: u32,
    /// Column in characters, from 1.
    pub(crate) column: u32,
    /// What was expected.
    pub(crate) message: String,
}

/// Reads a whole file into values and their lines; every faulty line is reported, not the first only.
///
/// # Errors
/// All the faults, in the order of the lines.
pub(crate) fn parse(text: &str) -> Result<BTreeMap<String, (String, u32)>, Vec<LineFault>> {
    let mut values = BTreeMap::new();
    let mut faults = Vec::new();
    for (number, line) in (1u32..).zip(text.trim_start_matches('\u{feff}').lines()) {
        let fault = |(column, message): (usize, String)| LineFault {
            line: number,
            column: u32::try_from(line.get(..column).unwrap_or(line).chars().count()).unwrap_or(0)
                + 1,
            message,
        };
        match parse_line(line) {
            Ok(None) => {}
            Ok(Some((name, value))) => {
                if values.contains_key(name) {
                    faults.push(fault((
                        0,
                        format!("`{name}` is set twice in this file; remove one of the lines"),
                    )));
                } else {
                    values.insert(name.to_owned(), (value, number));
                }
            }
            Err(error) => faults.push(fault(error)),
        }
    }
    if faults.is_empty() {
        Ok(values)
    } else {
        Err(faults)
    }
}

type Located = (usize, String);

fn parse_line(line: &str) -> Result<Option<(&str, String)>, Located> {
    let start = line.len() - line.trim_start().len();
    let mut rest = line.trim();
    if rest.is_empty() || rest.starts_with('#') {
        return Ok(None);
    }
    if let Some(after) = rest
        .strip_prefix("export")
        .filter(|after| after.starts_with([' ', '\t']))
    {
        rest = after.trim_start();
    }
    let Some((name, value)) = rest.split_once('=') else {
        return Err((start, "expected `NAME=value`".into()));
    };
    let name = name.trim_end();
    if !is_name(name) {
        return Err((
            start,
            "a name has letters, digits and `_`, and does not begin with a digit".into(),
        ));
    }
    let at = line.len() - line.trim_start().len() + (line.trim().len() - value.len());
    let lead = value.len() - value.trim_start().len();
    let value = parse_value(value.trim_start())
        .map_err(|(offset, message)| (at + lead + offset, message))?;
    Ok(Some((name, value)))
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn parse_value(text: &str) -> Result<String, Located> {
    match text.as_bytes().first() {
        Some(b'\'') => single_quoted(text),
        Some(b'"') => double_quoted(text),
        _ => Ok(plain(text)),
    }
}

fn plain(text: &str) -> String {
    if text.starts_with('#') {
        return String::new();
    }
    let end = text
        .char_indices()
        .zip(text.chars().skip(1))
        .find(|((_, this), next)| this.is_whitespace() && *next == '#')
        .map_or(text.len(), |((at, _), _)| at);
    text[..end].trim_end().to_owned()
}

fn single_quoted(text: &str) -> Result<String, Located> {
    let inner = &text[1..];
    let end = inner
        .find('\'')
        .ok_or((0, "the quote `'` is not closed on this line".to_owned()))?;
    only_comment(text, end + 2)?;
    Ok(inner[..end].to_owned())
}

fn double_quoted(text: &str) -> Result<String, Located> {
    let mut value = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => {
                only_comment(text, at + 1)?;
                return Ok(value);
            }
            '\\' => value.push(match characters.next() {
                Some((_, 'n')) => '\n',
                Some((_, 'r')) => '\r',
                Some((_, 't')) => '\t',
                Some((_, plain @ ('\\' | '"' | '$'))) => plain,
                _ => {
                    return Err((
                        at,
                        r#"after `\` comes one of n r t \ " $; in '…' nothing is special"#.into(),
                    ));
                }
            }),
            other => value.push(other),
        }
    }
    Err((0, "the quote `\"` is not closed on this line".into()))
}

fn only_comment(text: &str, from: usize) -> Result<(), Located> {
    let rest = text[from..].trim_start();
    if rest.is_empty() || rest.starts_with('#') {
        return Ok(());
    }
    Err((
        from,
        "nothing but a comment may follow the closing quote".into(),
    ))
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "tests"
    )]

    use super::parse;

    fn value(line: &str) -> String {
        parse(line).unwrap().remove("A").unwrap().0
    }

    #[test]
    fn values_are_what_was_written() {
        for (line, expected) in [
            ("A=b", "b"),
            ("  A = b c  ", "b c"),
            ("export A=b", "b"),
            ("A=", ""),
            ("A=   # nothing", ""),
            ("A=b # comment", "b"),
            ("A=b#c", "b#c"),
            ("A=$HOME/x=y", "$HOME/x=y"),
            (r#"A='a\n"$b' # c"#, r#"a\n"$b"#),
            (r#"A="a\n\"\$\\b""#, "a\n\"$\\b"),
            ("A='ä#'", "ä#"),
            ("\u{feff}A=b\r\n", "b"),
        ] {
            assert_eq!(value(line), expected, "{line}");
        }
    }

    #[test]
    fn every_fault_has_its_place_and_no_value() {
        let text = "1A=x\nnonsense\n\nA='s3cret\nB=\"s3cret\\q\"\nC='s3cret' x\nD=1\nD=2\n";
        let faults = parse(text).unwrap_err();
        let places: Vec<_> = faults
            .iter()
            .map(|fault| (fault.line, fault.column))
            .collect();
        assert_eq!(places, [(1, 1), (2, 1), (4, 3), (5, 10), (6, 11), (8, 1)]);
        assert!(faults.iter().all(|fault| !fault.message.contains("s3cret")));
    }
}
