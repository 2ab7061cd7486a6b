//! `zonai init`: a project that runs, with secrets that git never sees.
//!
//! Must never overwrite a file: a folder may already hold somebody's work.

use std::path::Path;
use std::process::ExitCode;

use super::args::InitArguments;
use super::output;
use crate::Result;
use crate::new_project::{self, Written};

/// Writes the project and says what to do next.
pub(super) fn run(arguments: &InitArguments) -> Result<ExitCode> {
    let written = new_project::write(&arguments.project)?;
    for file in &written {
        match file {
            Written::New(path) => output::line(format_args!("wrote   {}", path.display())),
            Written::Added(path) => output::line(format_args!("added to {}", path.display())),
            Written::Kept(path) => output::line(format_args!(
                "kept    {} (it was there already)",
                path.display()
            )),
        }
    }
    let kept_env = written
        .iter()
        .any(|file| matches!(file, Written::Kept(path) if path.ends_with(".env")));
    if kept_env {
        output::note("`.env` was there already: JWT_SECRET and PASSWORD_SECRET must stand in it");
    }
    output::line("");
    output::line(format_args!("Next: {}", next(&arguments.project)));
    Ok(ExitCode::SUCCESS)
}

fn next(project: &Path) -> String {
    if project == Path::new(".") {
        "zonai serve".into()
    } else {
        format!("zonai serve {}", project.display())
    }
}
