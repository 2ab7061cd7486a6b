//! Faults of a project's files, placed where an editor finds them.
//!
//! The server names files from the project folder, and settings by their key. Must never change what is said.

use zonai_policy::Diagnostic;
use zonai_server::StartError;

use crate::Error;
use crate::config::{Draft, shown};

/// The same faults, with paths from the current folder and settings at their place in the file.
pub(crate) fn placed(draft: &Draft, faults: Vec<Diagnostic>) -> Vec<Diagnostic> {
    faults
        .into_iter()
        .map(|fault| place(draft, fault))
        .collect()
}

/// Why a start was refused.
pub(crate) fn refused(draft: &Draft, error: StartError) -> Error {
    match error {
        StartError::Faults(faults) => Error::Faults(placed(draft, faults)),
        other => Error::Start(other),
    }
}

fn place(draft: &Draft, mut fault: Diagnostic) -> Diagnostic {
    let span = fault
        .path
        .strip_prefix("app.tables.")
        .and_then(|table| draft.app.table_spans.get(table));
    if let (Some(source), Some(span)) = (&draft.source, span) {
        let placed = source.fault(*span, fault.message);
        return match fault.help {
            Some(help) => placed.with_help(help),
            None => placed,
        };
    }
    let path = draft.paths.project.join(&fault.path);
    if path.exists() {
        fault.path = shown(&path);
    }
    fault
}
