//! How SQLite spells a name, in one place: names are quoted here and nowhere else.
//!
//! Must never be given a value: those are bound, and are no part of the text.

/// A name as an SQL identifier.
pub(crate) fn quoted(name: &str) -> String {
    let mut text = String::with_capacity(name.len() + 2);
    push_quoted(&mut text, name);
    text
}

/// Appends a name as an SQL identifier: in double quotes, with those inside doubled, so that any text is one name.
pub fn push_quoted(text: &mut String, name: &str) {
    text.push('"');
    for part in name.split_inclusive('"') {
        text.push_str(part);
        if part.ends_with('"') {
            text.push('"');
        }
    }
    text.push('"');
}
