//! `zonai admin`: who the admins are, for whoever holds the machine.
//!
//! Works on the database itself, with and without a running server. Must never be a way in over the network.

use std::process::ExitCode;

use serde_json::{Map, Value, json};
use zonai_auth::{Address, AuthError};

use super::args::Format;
use super::args::admin::{AddArguments, AdminCommand, AdminListArguments, RemoveArguments};
use super::{output, password};
use crate::accounts::Accounts;
use crate::{App, Error, Result};

/// Runs one of the commands.
pub(super) fn run(command: &AdminCommand) -> Result<ExitCode> {
    match command {
        AdminCommand::Add(arguments) => add(arguments),
        AdminCommand::List(arguments) => list(arguments),
        AdminCommand::Remove(arguments) => remove(arguments),
    }
}

fn add(arguments: &AddArguments) -> Result<ExitCode> {
    let address = Address::parse(&arguments.email).map_err(refused)?;
    let object = columns(&arguments.set)?;
    let app = App::open(&arguments.project)?;
    let needs_password = app.draft().app.tables.iter().any(|(name, table)| {
        table.admin
            && arguments.table.as_ref().is_none_or(|only| only == name)
            && table.auth.contains(&crate::AuthMethod::Password)
    });
    let password = if needs_password {
        Some(password::choose()?)
    } else {
        None
    };
    let table = arguments.table.as_deref();
    super::runtime()?.block_on(async {
        let accounts = Accounts::open(&app).await?;
        let added = accounts
            .auth()
            .admin_add(accounts.pass(), table, address, password, object)
            .await;
        accounts.close().await;
        added.map_err(refused)
    })?;
    output::line(format_args!("added {}", arguments.email));
    Ok(ExitCode::SUCCESS)
}

fn list(arguments: &AdminListArguments) -> Result<ExitCode> {
    let app = App::open(&arguments.project)?;
    let admins = super::runtime()?.block_on(async {
        let accounts = Accounts::open(&app).await?;
        let admins = accounts
            .auth()
            .admin_list(accounts.pass(), arguments.table.as_deref())
            .await;
        accounts.close().await;
        admins.map_err(refused)
    })?;
    match arguments.format {
        Format::Json => output::json(&json!({"admins": admins})),
        Format::Text if admins.is_empty() => {
            output::note("there is no admin; `zonai admin add EMAIL` makes one")
        }
        Format::Text => {
            let text = |admin: &Map<String, Value>, key| {
                admin.get(key).map_or_else(String::new, |value| {
                    value
                        .as_str()
                        .map_or_else(|| value.to_string(), str::to_owned)
                })
            };
            output::table(
                ["EMAIL", "ID"],
                admins
                    .iter()
                    .map(|admin| [text(admin, "email"), text(admin, "id")]),
            );
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn remove(arguments: &RemoveArguments) -> Result<ExitCode> {
    let address = Address::parse(&arguments.email).map_err(refused)?;
    let app = App::open(&arguments.project)?;
    super::runtime()?.block_on(async {
        let accounts = Accounts::open(&app).await?;
        let removed = accounts
            .auth()
            .admin_remove(accounts.pass(), arguments.table.as_deref(), address)
            .await;
        accounts.close().await;
        removed.map_err(refused)
    })?;
    output::line(format_args!("removed {}", arguments.email));
    Ok(ExitCode::SUCCESS)
}

fn columns(pairs: &[String]) -> Result<Map<String, Value>> {
    let pairs = pairs.iter().map(|pair| {
        let (column, value) = pair
            .split_once('=')
            .filter(|(column, _)| !column.is_empty())
            .ok_or_else(|| Error::Setting(format!("--set `{pair}`: expected COLUMN=VALUE")))?;
        Ok((column.to_owned(), json!(value)))
    });
    pairs.collect()
}

/// What is the input's fault exits with 2, as everywhere.
fn refused(error: AuthError) -> Error {
    match error {
        AuthError::Internal | AuthError::Busy(_) => Error::Server(error.to_string()),
        AuthError::NotFound(text) if text == "Not found" => Error::Setting(
            "there is no such table of admins; give a table `admin: true` in `app.tables`".into(),
        ),
        other => Error::Setting(other.to_string()),
    }
}
