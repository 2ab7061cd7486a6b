//! `zonai serve`: flags over the project's settings, then the server.
//!
//! Must never do what [`App`] does not offer to a program that embeds it.

use std::process::ExitCode;

use super::args::ServeArguments;
use crate::{App, Result};

/// Serves until a signal says stop.
pub(super) fn run(arguments: ServeArguments) -> Result<ExitCode> {
    let mut app = App::open(&arguments.project)?;
    if let Some(host) = arguments.host {
        app = app.host(host);
    }
    if let Some(port) = arguments.port {
        app = app.port(port);
    }
    app.serve()?;
    Ok(ExitCode::SUCCESS)
}
