//! What a project's tables are for the limiter, for the readers of policy files and for the data layer.

use std::collections::BTreeMap;

use zonai_limit::{Accounts, CustomNames, Known, KnownTable};
use zonai_policy::{TableFacts, Tables};

use crate::in_code::ANY_NAME;
use crate::settings::{Settings, TableSettings};

/// The internal table that admins reach through `/db`.
pub const RATE_LIMIT_TABLE: &str = "_rate_limit";

/// What the limiter must know of the tables.
pub(crate) fn known<'a>(
    tables: impl Iterator<Item = &'a str>,
    settings: &BTreeMap<String, TableSettings>,
    operations: &BTreeMap<String, Vec<String>>,
) -> Known {
    let mut tables: Vec<KnownTable> = tables
        .map(|name| KnownTable {
            name: name.to_owned(),
            accounts: settings.get(name).map_or(Accounts::None, accounts),
            custom: custom(operations.get(name).map_or(&[], Vec::as_slice)),
        })
        .collect();
    tables.push(KnownTable {
        name: RATE_LIMIT_TABLE.to_owned(),
        accounts: Accounts::None,
        custom: CustomNames::Registered(Vec::new()),
    });
    Known { tables }
}

fn custom(names: &[String]) -> CustomNames {
    if names.iter().any(|name| name == ANY_NAME) {
        CustomNames::Unvalidated
    } else {
        CustomNames::Registered(names.to_vec())
    }
}

fn accounts(table: &TableSettings) -> Accounts {
    match (table.admin, table.has_accounts()) {
        (true, _) => Accounts::Admins,
        (false, true) => Accounts::Users,
        (false, false) => Accounts::None,
    }
}

/// What the readers of policy files must know of the tables.
pub(crate) fn policy_tables(known: &Known) -> Tables {
    let mut tables = Tables::new();
    for table in &known.tables {
        let operations = match &table.custom {
            CustomNames::Registered(names) => {
                zonai_policy::CustomNames::Known(names.iter().cloned().collect())
            }
            CustomNames::Unvalidated => zonai_policy::CustomNames::Open,
        };
        tables.insert(
            &table.name,
            TableFacts {
                auth: table.accounts != Accounts::None,
                operations,
            },
        );
    }
    tables
}

/// `app.tables` as the data layer takes it.
pub fn table_options(settings: &Settings) -> BTreeMap<String, zonai_data::TableOptions> {
    let options = settings.app.tables.iter().map(|(name, table)| {
        let options = zonai_data::TableOptions {
            auth: table.has_accounts(),
            admin: table.admin,
            id_suffix: table.id_suffix.clone(),
            secret_columns: Vec::new(),
        };
        (name.clone(), options)
    });
    options.collect()
}
