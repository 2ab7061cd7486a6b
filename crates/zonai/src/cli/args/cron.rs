//! Flags and arguments of `zonai cron`.
//!
//! Must never have a flag that does nothing.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::Format;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum CronCommand {
    List(CronListArguments),
    Run(RunArguments),
}

/// List the jobs: when each is due next, and what came of its last run
///
/// Asks the running server. Where none runs, the project is opened without listening. Times are those of this machine.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  zonai cron list
  zonai cron list --format json | jq -r '.jobs[] | select(.last.status == \"failed\").name'")]
pub(in crate::cli) struct CronListArguments {
    /// The project folder
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(in crate::cli) project: PathBuf,
    /// How the jobs are printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) format: Format,
}

/// Run a job now
///
/// The running server runs it, or this command where none runs. A job that runs already is not run twice. Exit code 1
/// where the job failed.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  zonai cron run _delete_old_rate_limits
  zonai cron run nightly /srv/shop")]
pub(in crate::cli) struct RunArguments {
    /// The name of the job
    #[arg(value_name = "NAME")]
    pub(in crate::cli) name: String,
    /// The project folder
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(in crate::cli) project: PathBuf,
    /// How the outcome is printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) format: Format,
}
