//! YAML as a tree in which every node knows its place, for readers that tell all faults at once.
//!
//! Meant for configuration: nothing is converted before somebody asks for it, aliases cannot blow up, tags,
//! merge keys and several documents are refused. Must never stop at the first fault but for broken syntax.

mod build;
mod node;

pub use node::{Entry, Map, Node, Value};

use crate::Faults;

/// How deep a file may nest.
pub const MAX_DEPTH: usize = 64;

/// Reads one document. `None` where the syntax is broken (one fault says where); an empty file is
/// a null. Keys that stand twice, tags and the like are faults, and the tree is made without them.
#[must_use]
pub fn parse(faults: &mut Faults<'_>) -> Option<Node> {
    build::build(faults)
}
