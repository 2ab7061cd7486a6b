//! What the fuzz targets share: a database to ask, and what must hold of limits that were read.
//!
//! Must never decide what is right in a way of its own where the crates say it: a target holds two of their answers
//! against each other, or an answer against a rule of the specification.

pub mod data;
pub mod limits;
