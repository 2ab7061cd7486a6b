//! Policy files: read them, say what is wrong with them, notice that they changed.
//!
//! The readers turn files into [`zonai_limit::TableLimits`]; what a limit does is the business of
//! `zonai-limit`. Must never decide on a request, and never guess: a construct that is not
//! understood is a [`Diagnostic`] with its place.

pub mod dart;
pub mod diagnostic;
pub mod file;
pub mod fingerprint;
pub mod folder;
pub mod limit;
pub mod overlooked;
pub mod source;
pub mod tables;
pub mod watch;
pub mod write;
pub mod yaml;

pub use dart::read_dart;
pub use diagnostic::{Diagnostic, Faults, nearest};
pub use file::{Stated, read_yaml};
pub use fingerprint::Fingerprint;
pub use folder::{Reading, read_folder, read_folder_as};
pub use limit::{LimitError, parse_limit, parse_window, read_limit, read_shared};
pub use overlooked::overlooked;
pub use source::{Source, Span};
pub use tables::{CustomNames, TableFacts, Tables};
pub use watch::{Pace, Watch};
pub use write::to_yaml;
