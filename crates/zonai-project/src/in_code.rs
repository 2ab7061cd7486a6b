//! What a program adds to the files of a project, as far as the two are held against each other.

use zonai_limit::Registration;

/// What is in code.
#[derive(Clone, Debug, Default)]
pub struct InCode {
    /// Limits.
    pub rate_limits: Vec<Registration>,
    /// Custom operations.
    pub operations: Vec<CodeOperation>,
    /// Tables that hooks are around.
    pub hooked: Vec<String>,
}

/// The name of an operation in code that takes every name no other operation of its table has.
///
/// Its table's names can then not be validated, so all custom operations of the table share one counter.
pub const ANY_NAME: &str = "*";

/// A custom operation in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodeOperation {
    /// The table it is for.
    pub table: &'static str,
    /// Its name, or [`ANY_NAME`].
    pub name: &'static str,
    /// The Rust type, where diagnostics show the path of a file.
    pub type_name: &'static str,
}
