//! The command line: what it understands, and which function answers it.
//!
//! Commands print their result to standard output and everything else to standard error. Must never decide
//! anything itself: each command is a file of its own, and what it does is in the libraries.

mod admin;
mod args;
mod check;
mod cron;
mod db;
mod init;
mod limits;
mod logging;
mod output;
mod password;
mod serve;
mod socket;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser as _;

use args::{Arguments, Command};

/// Runs the command line of this process. Exit codes: 0 done, 1 failed, 2 the input is at fault.
#[must_use]
pub fn run(arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> ExitCode {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    let outcome = logging::start(&arguments.log).and_then(|()| dispatch(arguments.command));
    match outcome {
        Ok(code) => code,
        Err(error) => {
            output::error(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn dispatch(command: Command) -> crate::Result<ExitCode> {
    match command {
        Command::Init(arguments) => init::run(&arguments),
        Command::Serve(arguments) => serve::run(arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Limits { command } => limits::run(&command),
        Command::Db { command } => db::run(&command),
        Command::Admin { command } => admin::run(&command),
        Command::Cron { command } => cron::run(&command),
    }
}

/// A runtime for one short piece of work.
pub(crate) fn runtime() -> crate::Result<tokio::runtime::Runtime> {
    let built = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    built.map_err(|error| crate::Error::Server(format!("cannot start: {error}")))
}

/// The definition of the command line, for the tests of its help texts.
#[doc(hidden)]
#[must_use]
pub fn definition() -> clap::Command {
    <Arguments as clap::CommandFactory>::command()
}
