//! The entries of one line of a list header, from either end, without allocation.
//!
//! Reading from the right never looks at what stands left of the entry it returns: what a trusted proxy appended is
//! read alike whatever the caller wrote before it, an unfinished quote included.

/// The entries of `line` from the right; an empty line is one empty entry.
pub(super) fn from_the_right(line: &[u8], quotes: bool) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest?;
        let comma = if quotes {
            last_comma_outside_quotes(line)
        } else {
            line.iter().rposition(|&b| b == b',')
        };
        let Some(comma) = comma else {
            rest = None;
            return Some(line);
        };
        rest = line.get(..comma);
        line.get(comma + 1..)
    })
}

/// The first entry of `line`.
pub(super) fn first(line: &[u8], quotes: bool) -> &[u8] {
    let mut inside = false;
    let mut escaped = false;
    for (at, &byte) in line.iter().enumerate() {
        match byte {
            b',' if !inside => return line.get(..at).unwrap_or(line),
            b'"' if quotes && !escaped => inside = !inside,
            _ => {}
        }
        escaped = inside && byte == b'\\' && !escaped;
    }
    line
}

fn last_comma_outside_quotes(line: &[u8]) -> Option<usize> {
    let mut inside = false;
    let mut at = line.len();
    while at > 0 {
        at -= 1;
        match line.get(at) {
            Some(b',') if !inside => return Some(at),
            // Seen from the right the first quote closes, so what is escaped is known only by the backslashes before it.
            Some(b'"') if !(inside && is_escaped(line, at)) => inside = !inside,
            _ => {}
        }
    }
    None
}

fn is_escaped(line: &[u8], at: usize) -> bool {
    let backslashes = line
        .iter()
        .take(at)
        .rev()
        .take_while(|&&b| b == b'\\')
        .count();
    backslashes % 2 == 1
}
