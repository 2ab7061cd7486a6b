//! Paths and names of members with which a rule looks into JSON.
//!
//! SQLite reads a path only as far as the value goes, so asking it about an empty object tells little: what is wrong
//! behind the first step would be an error on the first row that has that step. Must never take what SQLite refuses.

/// Whether this is a path: `$`, then `.name`, `."any name"`, `[0]`, `[#]` or `[#-1]`, any number of them.
pub(super) fn is_path(text: &str) -> bool {
    let Some(mut rest) = text.strip_prefix('$') else {
        return false;
    };
    while !rest.is_empty() {
        match step(rest) {
            Some(after) => rest = after,
            None => return false,
        }
    }
    true
}

/// Whether `->` takes this text for the name of a member; it would read `[…]` as a place in a list, and puts quotes
/// around the rest without looking into it.
pub(super) fn is_member(text: &str) -> bool {
    !text.is_empty() && !text.starts_with(['$', '[']) && !text.contains(['"', '\\'])
}

/// What is left after the first step.
fn step(rest: &str) -> Option<&str> {
    if let Some(quoted) = rest.strip_prefix(".\"") {
        // No escapes: versions of SQLite differ over them.
        let (name, after) = quoted.split_once('"')?;
        return (!name.contains('\\')).then_some(after);
    }
    if let Some(name) = rest.strip_prefix('.') {
        let end = name.find(['.', '[']).unwrap_or(name.len());
        let (name, after) = name.split_at(end);
        return (!name.is_empty() && !name.contains(['"', '\\'])).then_some(after);
    }
    let (place, after) = rest.strip_prefix('[')?.split_once(']')?;
    let number = match place.strip_prefix('#') {
        Some("") => return Some(after),
        Some(from_end) => from_end.strip_prefix('-')?,
        None => place,
    };
    let is_number = (1..=9).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
    is_number.then_some(after)
}

#[cfg(test)]
mod tests {
    use super::{is_member, is_path};

    #[test]
    fn paths_are_told_from_what_is_none() {
        for path in [
            "$",
            "$.a",
            "$.a.b",
            "$[0]",
            "$.a[1].b",
            "$.\"a b\"[#-1]",
            "$[#]",
            "$.é",
        ] {
            assert!(is_path(path), "{path}");
        }
        for text in [
            "",
            "a",
            "$.",
            "$..a",
            "$a",
            "$.a[1}",
            "$.a[",
            "$.a[]",
            "$.a[x]",
            "$.a[-1]",
            "$[#1]",
            "$[#-]",
            "$.\"a",
            "$.\"a\"b",
            "$.a[1]b",
            "$[1234567890]",
        ] {
            assert!(!is_path(text), "{text}");
        }
    }

    #[test]
    fn members_are_told_from_what_is_read_as_a_path() {
        for name in ["a", "a b", "a.b", "0", "a[0]", "é", "]"] {
            assert!(is_member(name), "{name}");
        }
        for text in ["", "$", "$.a", "[x]", "[", "a\"b", "a\\"] {
            assert!(!is_member(text), "{text}");
        }
    }
}
