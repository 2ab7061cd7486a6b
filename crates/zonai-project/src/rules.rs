//! Rules files: `lib/src/rules/<table>.yaml`, who may do what with a table.
//!
//! Reads texts with their places; what a rule means is the business of `zonai-data`.
//! Must never stop at the first fault, and never read a faulty rule as a yes.

use std::path::Path;

use zonai_data::{AccountAction, Action, Operations, RuleKey, RuleText, Rules, Schema, Table};
use zonai_policy::yaml::{Entry, Map};
use zonai_policy::{Diagnostic, Faults};

use crate::{place, tables};

/// Reads every rules file of a folder. `operations` are those that `custom` may name.
///
/// # Errors
/// With every fault of every file.
pub(crate) fn read(
    folder: &Path,
    project: &Path,
    schema: &Schema,
    operations: &Operations,
) -> Result<Rules, Vec<Diagnostic>> {
    let mut rules = Rules::default();
    let faults = tables::read(folder, project, schema, |table, map, faults| {
        File {
            schema,
            table,
            operations,
            rules: &mut rules,
            faults,
        }
        .read(map);
    });
    if faults.is_empty() {
        Ok(rules)
    } else {
        Err(faults)
    }
}

struct File<'a, 's> {
    schema: &'a Schema,
    table: &'a Table,
    operations: &'a Operations,
    rules: &'a mut Rules,
    faults: &'a mut Faults<'s>,
}

impl File<'_, '_> {
    fn read(&mut self, map: &Map) {
        for entry in &map.entries {
            let key = entry.key.as_str();
            let action = Action::ALL.into_iter().find(|action| action.key() == key);
            let account = AccountAction::ALL
                .into_iter()
                .find(|action| action.key() == key);
            match (key, action, account) {
                (_, Some(action), _) => self.rule(entry, RuleKey::Action(action)),
                (_, _, Some(account)) => self.account(entry, account),
                ("custom", ..) => self.custom(entry),
                ("filter", ..) => {
                    if let Some(filter) = entry.value.expect_bool("`filter`", self.faults) {
                        self.rules.set_filter(self.table, filter);
                    }
                }
                ("table", ..) => {}
                _ => {
                    let actions = Action::ALL.into_iter().map(Action::key);
                    let accounts = AccountAction::ALL.into_iter().map(AccountAction::key);
                    let known = actions.chain(accounts).chain(["custom", "filter", "table"]);
                    self.faults.unknown(entry.key_span, "key", key, known);
                }
            }
        }
    }

    fn account(&mut self, entry: &Entry, action: AccountAction) {
        if !self.table.options.auth && !self.table.options.admin {
            let message = format!(
                "`{}` is for tables with accounts, and `{}` has none",
                entry.key, self.table.name
            );
            let help = format!(
                "list it under `app.tables` of zonai.yaml: `{}: {{auth: [password]}}`",
                self.table.name
            );
            return self.faults.at_with_help(entry.key_span, message, help);
        }
        self.rule(entry, RuleKey::Account(action));
    }

    fn custom(&mut self, entry: &Entry) {
        let Some(map) = entry.value.expect_map("`custom`", self.faults) else {
            return;
        };
        for entry in &map.entries {
            if self.operations.get(&self.table.name, &entry.key).is_none() {
                let names = self
                    .operations
                    .names()
                    .remove(&self.table.name)
                    .unwrap_or_default();
                let names = names.iter().map(String::as_str);
                self.faults
                    .unknown(entry.key_span, "custom operation", &entry.key, names);
                continue;
            }
            self.rule(entry, RuleKey::Custom(entry.key.clone()));
        }
    }

    fn rule(&mut self, entry: &Entry, key: RuleKey) {
        let rule = match (entry.value.as_bool(), entry.value.as_str()) {
            (Some(allowed), _) => RuleText::Fixed(allowed),
            (None, Some(text)) => RuleText::Expression(text.to_owned()),
            (None, None) => {
                let found = entry.value.describe();
                let message = format!(
                    "`{}` must be true, false or an SQL expression, not {found}",
                    entry.key
                );
                return self.faults.at(entry.value.span, message);
            }
        };
        if let Err(fault) = self.rules.add(self.schema, self.table, key, &rule) {
            let text = entry.value.as_str().unwrap_or_default();
            place::tell(self.faults, &entry.value, text, &fault);
        }
    }
}
