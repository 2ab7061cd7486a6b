//! SQLite's own spellings, in one place, so that another database would change this file and no handler.
//!
//! Names are quoted here and nowhere else; values are never part of the text.

/// A name as an SQL identifier.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
