//! Which counters are meant on the command line: of a client or network, a table, an operation.
//!
//! Must never let a misspelt name mean every counter.

use serde_json::{Value, json};
use zonai_limit::{Client, Operation};
use zonai_limit_sqlite::Filter;

use crate::{App, Error, Result};

/// What was asked for, as it was written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Wanted<'a> {
    pub(super) ip: Option<&'a str>,
    pub(super) table: Option<&'a str>,
    pub(super) operation: Option<&'a str>,
}

impl Wanted<'_> {
    /// The counters that are meant.
    pub(super) fn filter(&self, app: &App) -> Result<Filter> {
        let prefix = app.draft().rate_limit.ipv6_prefix;
        let client = |ip: &str| {
            Client::parse(ip, prefix)
                .ok_or_else(|| Error::Setting(format!("`{ip}` is no address and no network")))
        };
        Ok(Filter {
            client: self.ip.map(client).transpose()?,
            table: self.table.map(str::to_owned),
            operation: self.operation.map(operation).transpose()?,
        })
    }

    /// The same as a question to the running server.
    pub(super) fn question(&self, command: &str) -> Value {
        let mut question = json!({"command": command});
        for (key, value) in [
            ("ip", self.ip),
            ("table", self.table),
            ("operation", self.operation),
        ] {
            if let Some(value) = value {
                question[key] = json!(value);
            }
        }
        question
    }
}

fn operation(name: &str) -> Result<Operation> {
    Operation::from_name(name).ok_or_else(|| {
        let near = zonai_policy::nearest(
            name,
            Operation::ALL.iter().map(|operation| operation.name()),
        );
        let near = near
            .map(|near| format!("; did you mean `{near}`?"))
            .unwrap_or_default();
        Error::Setting(format!("`{name}` is no operation{near}"))
    })
}
