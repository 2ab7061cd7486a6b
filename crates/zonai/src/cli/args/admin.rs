//! Flags and arguments of `zonai admin`.
//!
//! Must never take a password as an argument: every process of the machine can read those.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::Format;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum AdminCommand {
    Add(AddArguments),
    List(AdminListArguments),
    Remove(RemoveArguments),
}

/// Add an admin
///
/// An admin is a row of a table with `admin: true` in `app.tables`; sign-up there is closed, and this is the way in. The
/// password is asked for on a terminal, and is the first line of standard input elsewhere. Works with and
/// without a running server.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  zonai admin add ann@example.org
  zonai admin add ann@example.org --set name=Ann /srv/shop < password.txt")]
pub(in crate::cli) struct AddArguments {
    /// The address that the admin signs in with
    #[arg(value_name = "EMAIL")]
    pub(in crate::cli) email: String,
    /// The project folder
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(in crate::cli) project: PathBuf,
    /// The table of admins, where there are several
    #[arg(long, value_name = "TABLE")]
    pub(in crate::cli) table: Option<String>,
    /// A further column of the new row; may be given several times
    #[arg(long, value_name = "COLUMN=VALUE")]
    pub(in crate::cli) set: Vec<String>,
}

/// List the admins
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  zonai admin list
  zonai admin list --format json | jq -r '.admins[].email'")]
pub(in crate::cli) struct AdminListArguments {
    /// The project folder
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(in crate::cli) project: PathBuf,
    /// The table of admins, where there are several
    #[arg(long, value_name = "TABLE")]
    pub(in crate::cli) table: Option<String>,
    /// How the admins are printed
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(in crate::cli) format: Format,
}

/// Remove an admin, with all sessions
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  zonai admin remove ann@example.org")]
pub(in crate::cli) struct RemoveArguments {
    /// The address that the admin signs in with
    #[arg(value_name = "EMAIL")]
    pub(in crate::cli) email: String,
    /// The project folder
    #[arg(value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    pub(in crate::cli) project: PathBuf,
    /// The table of admins, where there are several
    #[arg(long, value_name = "TABLE")]
    pub(in crate::cli) table: Option<String>,
}
