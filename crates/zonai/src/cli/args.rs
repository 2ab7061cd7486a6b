//! Flags and arguments of every command, with the texts of `--help`.
//!
//! Must never have a flag that does nothing, and never read a setting of the project: that order of
//! precedence is decided in one place, where the project is read.

pub(super) mod admin;
pub(super) mod cron;
pub(super) mod limits;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  it failed: the address is in use, the disk is full, another server holds the data folder
  2  the input is at fault: an unknown flag, a faulty file, a missing secret

Variables:
  ZONAI_LOG, ZONAI_LOG_FORMAT   as --log and --log-format
  NO_COLOR                      no colours, also on a terminal
  Settings of a project (ZONAI_HOST, ZONAI_PORT …) are listed by `zonai serve --help`.";

/// Serves the SQL tables of a project over HTTP, every table rate limited from the first request
#[derive(Debug, Parser)]
#[command(
    name = "zonai",
    version,
    about,
    long_about = "Serves the SQL tables of a project folder over HTTP, on an embedded SQLite, every table rate limited from \
                  the first request.\n\nA project is a folder with a `zonai.yaml`. Every command takes that folder as its \
                  last argument and uses the current folder where it is left out.",
    after_long_help = EXIT_CODES,
    after_help = "`zonai --help` and `zonai COMMAND --help` say more, with examples.",
    subcommand_required = true,
    arg_required_else_help = true,
    infer_subcommands = false,
    disable_help_subcommand = true,
    max_term_width = 100
)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
    #[command(flatten)]
    pub(super) log: LogArguments,
}

/// How the log is written, on standard error.
#[derive(Args, Debug)]
#[command(next_help_heading = "Log")]
pub(super) struct LogArguments {
    /// What is logged: error, warn, info, debug, trace, or `info,zonai_server=debug`
    #[arg(
        long,
        global = true,
        value_name = "FILTER",
        env = "ZONAI_LOG",
        default_value = "info",
        hide_env_values = true
    )]
    pub(super) log: String,
    /// How a line of the log is written
    #[arg(
        long,
        global = true,
        value_name = "FORMAT",
        env = "ZONAI_LOG_FORMAT",
        default_value = "text",
        hide_env_values = true
    )]
    pub(super) log_format: LogFormat,
}

/// How a line of the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people
    Text,
    /// For programs
    Json,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    Init(InitArguments),
    Serve(ServeArguments),
    Check(CheckArguments),
    /// Limits: list, explain, who is refused, free a client
    Limits {
        #[command(subcommand)]
        command: limits::LimitsCommand,
    },
    /// The database: apply new schema files
    Db {
        #[command(subcommand)]
        command: DbCommand,
    },
    /// Admins: add, list, remove
    Admin {
        #[command(subcommand)]
        command: admin::AdminCommand,
    },
    /// Jobs: list, run one now
    Cron {
        #[command(subcommand)]
        command: cron::CronCommand,
    },
}

#[derive(Debug, Subcommand)]
pub(super) enum DbCommand {
    Migrate(MigrateArguments),
}

/// Apply schema files that are new
///
/// `zonai serve` does the same when it starts. Each file is applied once, in the order of the names, in a
/// transaction of its own. No server may run on the data folder meanwhile.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  zonai db migrate
  zonai db migrate /srv/shop")]
pub(super) struct MigrateArguments {
    /// The project folder
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(super) project: PathBuf,
}

/// Make a new project that runs
///
/// Writes `zonai.yaml`, a table with its rules and its rate limits, and a `.env` with new secrets that git
/// ignores. A folder that already has a `zonai.yaml` is refused; other files are left as they are.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  zonai init shop && zonai serve shop
  zonai init                            in the current folder")]
pub(super) struct InitArguments {
    /// The folder of the new project; it is made where it is missing
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(super) project: PathBuf,
}

/// Serve a project until SIGTERM or SIGINT
///
/// Checks every file of the project, applies new schema files, and listens. SIGTERM and SIGINT stop it: no
/// new request is taken, running ones have 10 s (`server.stopGrace`), the counters are written, and the exit
/// code is 0. SIGHUP reads the policies again; a change of a policy file is noticed without it.
///
/// Where to listen: --host and --port, or ZONAI_HOST and ZONAI_PORT, or ZONAI_LISTEN (a comma list), or
/// `host`, `port` and `listen` of `zonai.yaml`, or localhost:8080. The first that says something decides.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  zonai serve
  zonai serve shop --port 3000
  zonai serve --host 0.0.0.0 /srv/shop      for everybody; the secrets must be set

Variables (also read from the project's `.env`):
  ZONAI_HOST, ZONAI_PORT      as --host and --port
  ZONAI_LISTEN                as `listen`: 127.0.0.1:8080,unix:/run/zonai.sock
  ZONAI_DATA_PATH             as `dataPath`
  ZONAI_APP_NAME              as `app.appName`
  ZONAI_BASE_URL              as `app.baseUrl`
  JWT_SECRET, PASSWORD_SECRET, PREVIOUS_JWT_SECRETS, PREVIOUS_PASSWORD_SECRETS, SMTP_PASSWORD")]
pub(super) struct ServeArguments {
    /// The project folder
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(super) project: PathBuf,
    /// Listen on this address: `localhost` or an IP address
    #[arg(long, value_name = "HOST")]
    pub(super) host: Option<String>,
    /// Listen on this port; 0 takes a free one and logs it
    #[arg(long, value_name = "PORT")]
    pub(super) port: Option<u16>,
}

/// Check every file of a project without serving it
///
/// Reads `zonai.yaml`, applies the schema to a database in memory, and reads policies, rules, jobs and mail texts.
/// Every fault is listed, one a line, as `path:line:column: message`; on a terminal the line is shown with
/// a mark. Nothing is written. Exit code 2 where there is a fault.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  zonai check
  zonai check shop --format json | jq -r '.faults[].message'")]
pub(super) struct CheckArguments {
    /// The project folder
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(super) project: PathBuf,
    /// How the faults are printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(super) format: Format,
}
