//! `zonai check`: every fault of a project's files at once.
//!
//! Must never write, and never stop at the first file that has a fault.

use std::io;
use std::process::ExitCode;

use serde::Serialize;

use super::args::{CheckArguments, Format};
use super::output;
use crate::{App, Diagnostic, Error, Result};

#[derive(Serialize)]
struct Report<'a> {
    ok: bool,
    faults: &'a [Diagnostic],
}

/// Checks and prints; exit code 2 where there is a fault.
pub(super) fn run(arguments: &CheckArguments) -> Result<ExitCode> {
    let faults = match App::open(&arguments.project) {
        Ok(app) => app.check()?,
        Err(Error::Faults(faults)) => faults,
        Err(other) => return Err(other),
    };
    match arguments.format {
        Format::Json => output::json(&Report {
            ok: faults.is_empty(),
            faults: &faults,
        }),
        Format::Text => {
            for fault in &faults {
                output::fault(io::stdout(), fault);
            }
            match faults.len() {
                0 => output::line("ok"),
                more => output::note(output::count(more)),
            }
        }
    }
    Ok(if faults.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(2)
    })
}
