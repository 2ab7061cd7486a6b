//! Values between JSON and SQLite, by the kind of their column.

mod fit;
mod read;
mod store;

pub(crate) use fit::fitting;
pub(crate) use read::{write_column, write_text};
pub(crate) use store::{to_compare, to_store, whole};
