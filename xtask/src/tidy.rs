//! The house rules that a program can check.
//!
//! One file a kind of rule; each looks at the same tree and adds to the same report. Must never change a file.

mod budgets;
mod edges;
mod heads;
mod only_here;
mod pages;
mod words;

use std::process::ExitCode;

use crate::report::Report;
use crate::{promises, tree};

/// `cargo xtask tidy`.
pub(crate) fn run() -> Result<ExitCode, tree::Error> {
    let files = tree::files()?;
    let sources = tree::sources(&files)?;
    let mut report = Report::default();
    budgets::check(&sources, &mut report);
    heads::check(&sources, &mut report);
    only_here::check(&sources, &mut report);
    pages::check(&files, &mut report);
    words::check(&files, &mut report);
    edges::check(&mut report)?;
    promises::check(&sources, &mut report)?;
    Ok(report.close("tidy"))
}
