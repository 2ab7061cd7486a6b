//! From SQLite into JSON text, straight into the response. Compact and on one line, whatever is stored.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rusqlite::types::ValueRef;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::schema::ColumnKind;

/// Appends a stored value as JSON.
///
/// Text that is not UTF-8 has U+FFFD in place of what is wrong; infinite floats are null, for JSON has none.
pub(crate) fn write_column(out: &mut String, kind: ColumnKind, value: ValueRef<'_>) {
    match (kind, value) {
        (_, ValueRef::Null) => out.push_str("null"),
        (ColumnKind::Boolean, ValueRef::Integer(0)) => out.push_str("false"),
        (ColumnKind::Boolean, ValueRef::Integer(1)) => out.push_str("true"),
        (_, ValueRef::Integer(number)) => {
            let _ = write!(out, "{number}");
        }
        (_, ValueRef::Real(number)) => out.push_str(&Value::from(number).to_string()),
        (ColumnKind::Json, ValueRef::Text(text)) => write_json(out, &String::from_utf8_lossy(text)),
        (_, ValueRef::Text(text)) => write_text(out, &String::from_utf8_lossy(text)),
        (_, ValueRef::Blob(bytes)) => {
            out.push('"');
            STANDARD.encode_string(bytes, out);
            out.push('"');
        }
    }
}

/// A JSON text as it is; on one line, for streams are read by line. What is no JSON is shown as a text.
fn write_json(out: &mut String, text: &str) {
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        write_text(out, text);
    } else if text.contains(['\n', '\r']) {
        match serde_json::from_str::<Value>(text) {
            Ok(value) => out.push_str(&value.to_string()),
            Err(_) => write_text(out, text),
        }
    } else {
        out.push_str(text);
    }
}

/// A text in quotes. Most need no escapes and are copied whole.
pub(crate) fn write_text(out: &mut String, text: &str) {
    let plain = text
        .bytes()
        .all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\');
    if plain {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&Value::from(text).to_string());
    }
}
