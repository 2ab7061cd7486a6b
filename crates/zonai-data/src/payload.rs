//! A payload as JSON, strictly: no key twice, no U+0000, no number that would change silently.
//!
//! Whoever scans the payload for its `table` before this (the limiter) and whoever reads it after see the same table,
//! because a second `table` never gets through here.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::DataError;
use crate::schema::nearest;

/// Why a payload is not one. The text names the place, as line and column of the payload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PayloadError {
    /// Broken JSON, a key twice, a U+0000, too deep (128), or a number out of range.
    #[error("Payload: {0}")]
    Json(String),
    /// JSON, but not an object.
    #[error("Payload: expected an object, found {0}")]
    NotAnObject(&'static str),
}

impl From<PayloadError> for DataError {
    fn from(error: PayloadError) -> Self {
        Self::BadRequest(error.to_string())
    }
}

/// The JSON object of a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Payload {
    members: Map<String, Value>,
}

impl Payload {
    /// Reads a payload.
    ///
    /// Whole numbers from -2⁶³ to 2⁶⁴-1 are exact; others become 64-bit floats, and what does not fit into one is refused.
    ///
    /// ```
    /// # use zonai_data::Payload;
    /// assert!(Payload::parse(br#"{"table": "notes"}"#).is_ok());
    /// assert!(Payload::parse(br#"{"table": "a", "table": "b"}"#).is_err());
    /// ```
    ///
    /// # Errors
    /// See [`PayloadError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, PayloadError> {
        Self::from_value(parse_value(bytes)?)
    }

    /// A payload from a value that is already in hand.
    ///
    /// # Errors
    /// When it is no object.
    pub fn from_value(value: Value) -> Result<Self, PayloadError> {
        match value {
            Value::Object(members) => Ok(Self { members }),
            other => Err(PayloadError::NotAnObject(describe(&other))),
        }
    }

    /// A payload from members that are already in hand.
    #[must_use]
    pub fn from_members(members: Map<String, Value>) -> Self {
        Self { members }
    }

    /// A member.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.members.get(key)
    }

    /// A member, to change it (for hooks).
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Value> {
        self.members.get_mut(key)
    }

    /// All members.
    #[must_use]
    pub fn members(&self) -> &Map<String, Value> {
        &self.members
    }

    /// The text `table`.
    ///
    /// # Errors
    /// 400 when it is missing or no text.
    pub fn table(&self) -> Result<&str, DataError> {
        match self.get("table") {
            Some(Value::String(table)) => Ok(table),
            Some(other) => Err(DataError::at(
                "table",
                format_args!("expected a text, found {}", describe(other)),
            )),
            None => Err(DataError::at("table", "is missing")),
        }
    }

    /// Refuses members that nobody will read.
    ///
    /// # Errors
    /// 400 that names the first, and what was probably meant.
    pub fn only(&self, known: &[&str]) -> Result<(), DataError> {
        for key in self.members.keys() {
            if !known.contains(&key.as_str()) {
                let near = nearest(key, known.iter().copied())
                    .map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
                return Err(DataError::at(
                    format_args!("`{key}`"),
                    format_args!("unknown key{near}"),
                ));
            }
        }
        Ok(())
    }
}

/// What a value is, in a caller's words.
pub(crate) fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn parse_value(bytes: &[u8]) -> Result<Value, PayloadError> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = Strict.deserialize(&mut reader);
    let value = value.and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| PayloadError::Json(error.to_string()))
}

/// Builds a [`Value`] and refuses what a plain one would swallow.
struct Strict;

impl<'de> DeserializeSeed<'de> for Strict {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        without_nul(value)?;
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: serde::de::Error>(self, value: String) -> Result<Value, E> {
        without_nul(&value)?;
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Strict)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            without_nul(&key)?;
            if members.contains_key(&key) {
                return Err(A::Error::custom(format_args!(
                    "the key `{key}` appears twice"
                )));
            }
            let value = map.next_value_seed(Strict)?;
            members.insert(key, value);
        }
        Ok(Value::Object(members))
    }
}

fn without_nul<E: serde::de::Error>(text: &str) -> Result<(), E> {
    if memchr::memchr(0, text.as_bytes()).is_some() {
        return Err(E::custom("a text must not hold U+0000"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn fault(text: &str) -> String {
        Payload::parse(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn faults_say_where() {
        let cases = [
            (
                "{",
                "Payload: EOF while parsing an object at line 1 column 1",
            ),
            ("[]", "Payload: expected an object, found a list"),
            (
                "{\"a\":1} x",
                "Payload: trailing characters at line 1 column 9",
            ),
            (
                "{\"a\":{\"b\":1,\n\"b\":2}}",
                "Payload: the key `b` appears twice at line 2 column 3",
            ),
            (
                "{\"table\":\"x\",\"t\\u0061ble\":\"y\"}",
                "Payload: the key `table` appears twice at line 1 column 25",
            ),
            (
                "{\"a\":\"\\u0000\"}",
                "Payload: a text must not hold U+0000 at line 1 column 13",
            ),
            (
                "{\"a\":1e400}",
                "Payload: number out of range at line 1 column 10",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(fault(text), expected, "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(200), "]".repeat(200));
        assert!(fault(&deep).contains("recursion limit"), "{}", fault(&deep));
    }

    #[test]
    fn numbers_keep_their_value() {
        let payload =
            Payload::parse(br#"{"a":-9223372036854775808,"b":18446744073709551615,"c":1.5}"#)
                .unwrap();
        assert_eq!(payload.get("a"), Some(&Value::from(i64::MIN)));
        assert_eq!(payload.get("b"), Some(&Value::from(u64::MAX)));
        assert_eq!(payload.get("c"), Some(&Value::from(1.5)));
    }

    /// What a caller reads and sends back must not drift.
    #[test]
    fn a_float_is_the_one_that_its_text_says() {
        let mut bits = 1_u64;
        for _ in 0..10_000 {
            bits = bits
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let float = f64::from_bits(bits);
            if float.is_finite() {
                let text = format!("{{\"a\":{}}}", Value::from(float));
                let payload = Payload::parse(text.as_bytes()).unwrap();
                assert_eq!(payload.get("a"), Some(&Value::from(float)), "{text}");
            }
        }
    }
}
