//! `zonai db`: the schema without a server.
//!
//! Must never change the data under a running server, which knows the tables it started with.

use std::process::ExitCode;

use zonai_clock::Clock;
use zonai_data::{EngineOptions, Migrations, StartError};

use super::args::{DbCommand, MigrateArguments};
use super::output;
use crate::lock::DataLock;
use crate::{App, Error, Result, files};

/// Runs one of the commands.
pub(super) fn run(command: &DbCommand) -> Result<ExitCode> {
    match command {
        DbCommand::Migrate(arguments) => migrate(arguments),
    }
}

fn migrate(arguments: &MigrateArguments) -> Result<ExitCode> {
    let app = App::open(&arguments.project)?;
    let paths = &app.draft().paths;
    let refused = |error: StartError| {
        Error::Faults(files::placed(
            app.draft(),
            zonai_project::schema::faults(&error, paths),
        ))
    };
    let migrations = Migrations::read(&paths.schemas).map_err(|error| refused(error.into()))?;
    let _lock = DataLock::acquire(&paths.data)?;
    let file = paths.data.join(zonai_server::DATA_FILE);
    let applied = migrations
        .apply_to(&file, &EngineOptions::default(), &Clock::system())
        .map_err(|error| refused(error.into()))?;
    for name in &applied {
        output::line(format_args!("applied {name}"));
    }
    if applied.is_empty() {
        output::line("nothing to apply");
    }
    Ok(ExitCode::SUCCESS)
}
