//! Policy files: read them, say what is wrong with them, notice that they changed.
//!
//! The readers turn files into [`zonai_limit::TableLimits`]; what a limit does is the business of
//! `zonai-limit`. Must never decide on a request, and never guess: a construct that is not
//! understood is a [`Diagnostic`] with its place.

pub mod diagnostic;
pub mod source;
pub mod yaml;

pub use diagnostic::{Diagnostic, Faults, nearest};
pub use source::{Source, Span};
