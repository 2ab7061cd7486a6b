//! What is wrong with an expression, and where in its text.
//!
//! Places are of the expression alone; whoever read it out of a file knows where that began.

use sqlparser::tokenizer::{Location, Span};

/// A fault of an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ExprFault {
    /// Line of the expression's text, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// How many characters are meant; 0 for a point.
    pub length: u32,
    /// What is wrong.
    pub message: String,
    /// What was probably meant.
    pub help: Option<String>,
}

impl ExprFault {
    pub(crate) fn at(span: Span, message: impl Into<String>) -> Self {
        let length = if span.start.line == span.end.line {
            span.end.column.saturating_sub(span.start.column)
        } else {
            0
        };
        Self {
            length: small(length),
            ..Self::point(span.start, message)
        }
    }

    pub(crate) fn point(location: Location, message: impl Into<String>) -> Self {
        Self {
            line: small(location.line).max(1),
            column: small(location.column).max(1),
            length: 0,
            message: message.into(),
            help: None,
        }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn with_nearest(self, name: &str, known: &[&str]) -> Self {
        match zonai_engine::schema::nearest(name, known.iter().copied()) {
            Some(near) => self.with_help(format!("did you mean `{near}`?")),
            None => self,
        }
    }
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
