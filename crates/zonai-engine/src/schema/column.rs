//! A column: its declared type decides how JSON values go in and come out.
//!
//! Must never look at rows: a column is what was declared, whatever it holds.

/// A column of a table or view.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The name, as declared.
    pub name: String,
    /// How values are read and written.
    pub kind: ColumnKind,
    /// NOT NULL was declared.
    pub not_null: bool,
    /// Computed by the database; cannot be written.
    pub generated: bool,
    /// Write-only: never shown, never asked for in a `where`.
    pub secret: bool,
    /// The e-mail address of an account: kept and compared trimmed and in lower case.
    pub address: bool,
    /// What a row has that is made without the column: the text of an expression; `None` for NULL.
    pub default: Option<String>,
    /// What SQLite makes of values that are stored: a type to cast to where that changes no meaning; `None` for nothing.
    pub affinity: Option<&'static str>,
}

/// How a column's values are read and written in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// `BOOLEAN`: `true` and `false`, stored as 1 and 0.
    Boolean,
    /// `JSON`: any JSON value, stored as its text.
    Json,
    /// A type with `INT`: whole numbers of 64 bits.
    Integer,
    /// A type with `REAL`, `FLOA` or `DOUB`: numbers.
    Real,
    /// A type with `CHAR`, `CLOB` or `TEXT`: texts.
    Text,
    /// `BLOB`: bytes, in JSON as base64.
    Blob,
    /// `DATE`, `DATETIME`, `TIMESTAMP`: whatever the project puts in, a text or a number.
    Date,
    /// `NUMERIC`, `DECIMAL` and everything unknown: a text or a number.
    Any,
}

impl ColumnKind {
    /// The kind of a declared type, by SQLite's own rules of affinity (<https://www.sqlite.org/datatype3.html>, 3.1)
    /// after the types that SQLite does not know.
    #[must_use]
    pub fn of_declared(declared: &str) -> Self {
        let declared = declared.to_ascii_uppercase();
        let has = |part: &str| declared.contains(part);
        if has("BOOL") {
            Self::Boolean
        } else if has("JSON") {
            Self::Json
        } else if has("INT") {
            Self::Integer
        } else if has("CHAR") || has("CLOB") || has("TEXT") {
            Self::Text
        } else if has("BLOB") {
            Self::Blob
        } else if has("REAL") || has("FLOA") || has("DOUB") {
            Self::Real
        } else if has("DATE") || has("TIME") {
            Self::Date
        } else {
            Self::Any
        }
    }

    /// What a declared type makes of values that are stored, by the same page, 3.1 to 3.3.
    pub(crate) fn affinity_of_declared(declared: &str) -> Option<&'static str> {
        let declared = declared.to_ascii_uppercase();
        let has = |part: &str| declared.contains(part);
        if has("INT") {
            Some("NUMERIC")
        } else if has("CHAR") || has("CLOB") || has("TEXT") {
            Some("TEXT")
        } else if has("BLOB") || declared.is_empty() {
            None
        } else if has("REAL") || has("FLOA") || has("DOUB") {
            Some("REAL")
        } else {
            Some("NUMERIC")
        }
    }

    /// The kind in a caller's words.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Self::Boolean => "true or false",
            Self::Json => "a JSON value",
            Self::Integer => "a whole number",
            Self::Real => "a number",
            Self::Text => "a text",
            Self::Blob => "bytes as a base64 text",
            Self::Date | Self::Any => "a text or a number",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declared_types_have_their_kind() {
        let cases = [
            ("BOOLEAN", ColumnKind::Boolean),
            ("jsonb", ColumnKind::Json),
            ("BIGINT", ColumnKind::Integer),
            ("VARCHAR(20)", ColumnKind::Text),
            ("blob", ColumnKind::Blob),
            ("DOUBLE PRECISION", ColumnKind::Real),
            ("TIMESTAMP", ColumnKind::Date),
            ("DECIMAL(10,5)", ColumnKind::Any),
            ("", ColumnKind::Any),
        ];
        for (declared, kind) in cases {
            assert_eq!(ColumnKind::of_declared(declared), kind, "{declared}");
        }
    }
}
