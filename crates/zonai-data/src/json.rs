//! A finished JSON text: rendered once, next to the rows, and sent as it is.

use serde_json::Value;

/// JSON, compact and on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Json(pub(crate) String);

impl Json {
    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, without copying.
    #[must_use]
    pub fn into_string(self) -> String {
        self.0
    }

    /// As a tree, for hooks; `Null` for what cannot be read back, which does not happen for text made here.
    #[must_use]
    pub fn to_value(&self) -> Value {
        serde_json::from_str(&self.0).unwrap_or(Value::Null)
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        Self(value.to_string())
    }
}

impl std::fmt::Display for Json {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
