//! Flags and arguments of `zonai limits`.
//!
//! Must never have a flag that does nothing.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::Format;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum LimitsCommand {
    List(ListArguments),
    Top(TopArguments),
    Counters(CountersArguments),
    Explain(ExplainArguments),
    Free(FreeArguments),
    Convert(ConvertArguments),
}

/// Show the limit of every operation, and where it is written
///
/// Asks the running server for the limits in force; where none runs, reads the files.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  zonai limits list
  zonai limits list --table tasks
  zonai limits list --format json | jq '.limits[] | select(.origin != \"default\")'")]
pub(in crate::cli) struct ListArguments {
    /// The project folder
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(in crate::cli) project: PathBuf,
    /// Only this table or shared bucket
    #[arg(long, value_name = "TABLE")]
    pub(in crate::cli) table: Option<String>,
    /// How the limits are printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) format: Format,
}

/// Show who is refused now
///
/// Asks the running server. Where none runs, the fullest of the stored counters are shown.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  zonai limits top
  watch -n 1 zonai limits top /srv/shop")]
pub(in crate::cli) struct TopArguments {
    /// The project folder
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(in crate::cli) project: PathBuf,
    /// How the clients are printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) format: Format,
}

/// Show the open counters, the fullest first
///
/// Asks the running server for those in its memory, which are the truth. Where none runs, the stored ones are shown.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  zonai limits counters
  zonai limits counters --ip 203.0.113.7
  zonai limits counters --ip 2001:db8::/32 --table tasks --operation create
  zonai limits counters --most 10000 --format json | jq '.counters | group_by(.table) | map({(.[0].table): length})'")]
pub(in crate::cli) struct CountersArguments {
    /// The project folder
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(in crate::cli) project: PathBuf,
    /// Only of this client, or of all clients in this network
    #[arg(long, value_name = "IP")]
    pub(in crate::cli) ip: Option<String>,
    /// Only of this table or shared bucket
    #[arg(long, value_name = "TABLE")]
    pub(in crate::cli) table: Option<String>,
    /// Only of this operation
    #[arg(long, value_name = "OPERATION")]
    pub(in crate::cli) operation: Option<String>,
    /// How many are shown, 1 to 10000
    #[arg(long, short = 'n', value_name = "NUMBER", default_value = "50", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(in crate::cli) most: u16,
    /// How the counters are printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) format: Format,
}

/// Say what would happen to a request, and why
///
/// The running server goes the way of the request as far as the limiter and says which client it is, which
/// counters it would have, by which policy of which file and line, and what would come out. Nothing is counted. Where
/// no server runs, the files and the stored counters are asked; failed sign-ins are left out there.
#[derive(Args, Debug)]
#[command(
    override_usage = "zonai limits explain [OPTIONS] METHOD PATH [DIR]\n       zonai limits explain [OPTIONS] --request FILE [DIR]",
    after_long_help = "\
Examples:
  zonai limits explain POST /db --body '{\"table\":\"tasks\"}' --ip 203.0.113.7
  zonai limits explain GET '/db/list?body={\"table\":\"tasks\"}'
  zonai limits explain --request refused.txt      a whole request with its headers, as a client sent it"
)]
pub(in crate::cli) struct ExplainArguments {
    /// The method and the path of the request, and the project folder
    #[arg(value_name = "METHOD PATH [DIR]", num_args = 0..=3)]
    pub(in crate::cli) arguments: Vec<String>,
    /// The payload of the request
    #[arg(long, value_name = "JSON", conflicts_with = "request")]
    pub(in crate::cli) body: Option<String>,
    /// The address that the connection comes from, `unix` for a Unix socket; 127.0.0.1 where it is left out
    #[arg(long, value_name = "IP")]
    pub(in crate::cli) ip: Option<String>,
    /// A file with a whole HTTP/1.1 request: request line, headers, an empty line, body
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(in crate::cli) request: Option<PathBuf>,
    /// How the answer is printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) format: Format,
}

/// Free a client: its counters go back to nothing
///
/// The running server is told and admits the client at once. Where none runs, the stored counters are freed.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  zonai limits free 203.0.113.7
  zonai limits free 2001:db8::/48 --table users --operation signIn
  zonai limits free 203.0.113.7 --table __admin_auth__      an admin whom a neighbour has locked out")]
pub(in crate::cli) struct FreeArguments {
    /// An address, or a network for everybody inside it; `local` for the client of Unix sockets
    #[arg(value_name = "IP")]
    pub(in crate::cli) ip: String,
    /// The project folder
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(in crate::cli) project: PathBuf,
    /// Only counters of this table or shared bucket
    #[arg(long, value_name = "TABLE")]
    pub(in crate::cli) table: Option<String>,
    /// Only counters of this operation
    #[arg(long, value_name = "OPERATION")]
    pub(in crate::cli) operation: Option<String>,
    /// How the answer is printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) format: Format,
}

/// Turn policy files in Dart into YAML
///
/// Prints the YAML of every *.dart in the policy folder. With --write it takes the place of the Dart file, which is kept
/// beside it as NAME.dart.converted.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  zonai limits convert
  zonai limits convert --write shop")]
pub(in crate::cli) struct ConvertArguments {
    /// The project folder
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(in crate::cli) project: PathBuf,
    /// Write the YAML in the place of the Dart files
    #[arg(long)]
    pub(in crate::cli) write: bool,
}
