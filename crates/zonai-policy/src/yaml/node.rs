//! The tree, and the questions a reader asks of it; a wrong answer adds a fault and gives `None`.
//!
//! Must never say a thing twice: a node that was refused here is not looked at further.

use std::str::FromStr;

use crate::diagnostic::quote;
use crate::{Faults, Span};

/// A node with its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What stands there.
    pub value: Value,
    /// Where; for a list or a map, where it begins.
    pub span: Span,
}

/// What a node is.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text as written, after unquoting.
    Scalar {
        /// The text.
        text: String,
        /// Not in quotes: it may also be a null, a boolean or a number.
        plain: bool,
    },
    /// A list.
    Seq(Vec<Node>),
    /// A map.
    Map(Map),
}

/// A map in the order of the file; no key stands twice.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Map {
    /// The entries.
    pub entries: Vec<Entry>,
}

/// One key and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The key's text.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

impl Map {
    /// The entry of that key.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// A fault for every key that is not one of `known`, with the nearest of them.
    pub fn check_keys(&self, known: &[&str], faults: &mut Faults<'_>) {
        for entry in &self.entries {
            if !known.contains(&entry.key.as_str()) {
                faults.unknown(entry.key_span, "key", &entry.key, known.iter().copied());
            }
        }
    }
}

impl Node {
    /// The text of an unquoted scalar.
    fn plain(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, plain: true } => Some(text),
            _ => None,
        }
    }

    /// Whether it is empty, `~` or `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self.plain(), Some("" | "~" | "null" | "Null" | "NULL"))
    }

    /// `true` or `false`, unquoted.
    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self.plain()? {
            "true" | "True" | "TRUE" => Some(true),
            "false" | "False" | "FALSE" => Some(false),
            _ => None,
        }
    }

    /// The text of any scalar as it is written, a number or a boolean too; not of a null.
    #[must_use]
    pub fn as_scalar(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, .. } if !self.is_null() => Some(text),
            _ => None,
        }
    }

    /// A text: a quoted scalar, or an unquoted one that is no null, boolean or number.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar { text, plain }
                if !plain || (!self.is_null() && !self.is_bool_or_number()) =>
            {
                Some(text)
            }
            _ => None,
        }
    }

    /// The entries of a map.
    #[must_use]
    pub fn as_map(&self) -> Option<&Map> {
        match &self.value {
            Value::Map(map) => Some(map),
            _ => None,
        }
    }

    /// The items of a list.
    #[must_use]
    pub fn as_seq(&self) -> Option<&[Node]> {
        match &self.value {
            Value::Seq(items) => Some(items),
            _ => None,
        }
    }

    fn is_bool_or_number(&self) -> bool {
        let Some(text) = self.plain() else {
            return false;
        };
        self.as_bool().is_some()
            || text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'))
                && text.parse::<f64>().is_ok()
    }

    /// A map, or a fault that names `what`.
    pub fn expect_map(&self, what: &str, faults: &mut Faults<'_>) -> Option<&Map> {
        self.expect(self.as_map(), what, "a map of keys and values", faults)
    }

    /// A list, or a fault that names `what`.
    pub fn expect_seq(&self, what: &str, faults: &mut Faults<'_>) -> Option<&[Node]> {
        self.expect(self.as_seq(), what, "a list", faults)
    }

    /// A text, or a fault that names `what`.
    pub fn expect_str(&self, what: &str, faults: &mut Faults<'_>) -> Option<&str> {
        let text = self.as_str();
        if text.is_none() && self.is_bool_or_number() {
            let help = "put it in quotes if it is meant as text";
            faults.at_with_help(
                self.span,
                format!("{what} must be a text, not {}", self.describe()),
                help,
            );
            return None;
        }
        self.expect(text, what, "a text", faults)
    }

    /// `true` or `false`, or a fault that names `what`.
    pub fn expect_bool(&self, what: &str, faults: &mut Faults<'_>) -> Option<bool> {
        self.expect(self.as_bool(), what, "true or false", faults)
    }

    /// A whole number that fits the type and lies in `range`, or a fault that names `what` and the range.
    pub fn expect_int<T>(
        &self,
        what: &str,
        range: std::ops::RangeInclusive<T>,
        faults: &mut Faults<'_>,
    ) -> Option<T>
    where
        T: FromStr + PartialOrd + std::fmt::Display + Copy,
    {
        let number = self
            .plain()
            .and_then(|text| text.parse::<T>().ok())
            .filter(|n| range.contains(n));
        let wanted = format!("a whole number from {} to {}", range.start(), range.end());
        self.expect(number, what, &wanted, faults)
    }

    fn expect<T>(
        &self,
        found: Option<T>,
        what: &str,
        wanted: &str,
        faults: &mut Faults<'_>,
    ) -> Option<T> {
        if found.is_none() {
            faults.at(
                self.span,
                format!("{what} must be {wanted}, not {}", self.describe()),
            );
        }
        found
    }

    /// What stands there, for a message: `a list`, `nothing`, `` `10` ``.
    #[must_use]
    pub fn describe(&self) -> String {
        match &self.value {
            Value::Seq(_) => "a list".to_owned(),
            Value::Map(_) => "a map".to_owned(),
            Value::Scalar { .. } if self.is_null() => "nothing".to_owned(),
            Value::Scalar { text, plain: true } => quote(text),
            Value::Scalar { text, plain: false } => format!("the text {}", quote(text)),
        }
    }
}
