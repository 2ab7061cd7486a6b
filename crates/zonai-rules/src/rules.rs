//! Rules as SQL expressions: parsed and checked once, at load, and bound to a caller for each request.
//!
//! What reaches SQLite is rendered from the checked tree, with every name quoted and every value bound; the text of a file
//! never does. Must never run SQL: what can be said without a row is said here, everything else becomes part of the query.

mod check;
mod fault;
mod fold;
mod functions;
mod names;
mod node;
mod parse;
mod paths;
mod render;

use std::collections::{BTreeMap, BTreeSet};

use check::Checked;
use fold::{Truth, fold};
use names::Place;
use render::Template;
use serde_json::{Map, Value as Json};
use sqlparser::tokenizer::Location;

pub use fault::ExprFault;

use crate::Caller;
use crate::rights::{AccountAction, Action, Rights, RowExpr, RuleText, Verdict};
use node::Node;
use zonai_engine::schema::{Schema, Table};

/// An entry of a rules file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RuleKey {
    /// `view`, `list`, …
    Action(Action),
    /// `signUp`, `signIn`, `passwordReset`.
    Account(AccountAction),
    /// `custom.<name>`.
    Custom(String),
}

/// The rules of all tables.
///
/// A table without rules is for admins, and so is what its rules leave out; but `count` follows `list`, and accounts may
/// sign up, sign in and reset their password unless a rule says otherwise. A rule that is written is asked of admins too.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    tables: BTreeMap<String, TableRules>,
}

#[derive(Clone, Debug, Default)]
struct TableRules {
    filter: bool,
    actions: BTreeMap<Action, Rule>,
    accounts: BTreeMap<AccountAction, Rule>,
    custom: BTreeMap<String, Rule>,
}

#[derive(Clone, Debug)]
struct Rule {
    /// For what can be said without a row.
    node: Node,
    looks_at_rows: bool,
    /// On the row, or on the row before a change.
    before: Template,
    /// On the row after a change.
    after: Option<Template>,
}

impl Rules {
    /// Adds a rule; a second one for the same entry takes the place of the first.
    ///
    /// # Errors
    /// Where the expression is none, or uses what may not be used.
    pub fn add(
        &mut self,
        schema: &Schema,
        table: &Table,
        key: RuleKey,
        rule: &RuleText,
    ) -> Result<(), ExprFault> {
        let change = matches!(key, RuleKey::Action(Action::Update) | RuleKey::Custom(_));
        let rule = match rule {
            RuleText::Fixed(allowed) => Rule::new(
                schema,
                table,
                change,
                if *allowed { "true" } else { "false" },
            ),
            RuleText::Expression(text) => Rule::new(schema, table, change, text),
        }?;
        let rules = self.tables.entry(table.name.clone()).or_default();
        match key {
            RuleKey::Action(action) => drop(rules.actions.insert(action, rule)),
            RuleKey::Account(action) => drop(rules.accounts.insert(action, rule)),
            RuleKey::Custom(name) => drop(rules.custom.insert(name, rule)),
        }
        Ok(())
    }

    /// Makes lists and counts of a table leave out what may not be seen, instead of failing.
    pub fn set_filter(&mut self, table: &Table, filter: bool) {
        self.tables.entry(table.name.clone()).or_default().filter = filter;
    }
}

impl Rights for Rules {
    fn verdict(&self, table: &Table, action: Action, caller: &Caller) -> Verdict {
        let rules = self.tables.get(&table.name);
        let rule = rules.and_then(|rules| {
            let written = rules.actions.get(&action);
            written.or_else(|| {
                rules
                    .actions
                    .get(&Action::List)
                    .filter(|_| action == Action::Count)
            })
        });
        let reads = matches!(action, Action::View | Action::List | Action::Count);
        match rule {
            Some(rule) => rule.verdict(caller, reads),
            None => for_admins(caller),
        }
    }

    fn custom(&self, table: &Table, operation: &str, caller: &Caller) -> Verdict {
        match self
            .tables
            .get(&table.name)
            .and_then(|rules| rules.custom.get(operation))
        {
            Some(rule) => rule.verdict(caller, false),
            None => for_admins(caller),
        }
    }

    fn account(&self, table: &Table, action: AccountAction, caller: &Caller) -> Verdict {
        match self
            .tables
            .get(&table.name)
            .and_then(|rules| rules.accounts.get(&action))
        {
            Some(rule) => rule.verdict(caller, false),
            None => Verdict::Allow,
        }
    }

    fn filters(&self, table: &Table) -> bool {
        self.tables
            .get(&table.name)
            .is_some_and(|rules| rules.filter)
    }
}

fn for_admins(caller: &Caller) -> Verdict {
    if caller.is_admin() {
        Verdict::Allow
    } else {
        Verdict::Deny
    }
}

impl Rule {
    fn new(schema: &Schema, table: &Table, change: bool, text: &str) -> Result<Self, ExprFault> {
        let place = if change { Place::Change } else { Place::Row };
        let checked = checked(schema, table, place, text, true)?;
        let (before, after) = if change {
            let (before, after) = in_change(&checked.node, &checked.reads);
            (before, Some(after))
        } else {
            let rows = [(&checked.node, RowExpr::ROW)];
            (Template::all(rows.into_iter(), &checked.reads), None)
        };
        if before.len().max(after.as_ref().map_or(0, Template::len)) > render::MAX_SQL {
            return Err(too_large());
        }
        Ok(Self {
            looks_at_rows: checked.node.looks().at_rows(),
            node: checked.node,
            before,
            after,
        })
    }

    /// A read asks its rows, even where no row could pass: one that finds nothing is no offence. A write is refused at once.
    fn verdict(&self, caller: &Caller, reads: bool) -> Verdict {
        let value = |value: &node::Value| render::of_caller(value, caller);
        match fold(&self.node, &value) {
            Some(Truth::True) => return Verdict::Allow,
            Some(_) if !reads || !self.looks_at_rows => return Verdict::Deny,
            Some(_) => {
                let sql = "0".to_owned();
                return Verdict::Rows(RowExpr {
                    sql,
                    values: Vec::new(),
                    reads: Vec::new(),
                });
            }
            None => {}
        }
        let before = self.before.bind(&value);
        match &self.after {
            None => Verdict::Rows(before),
            Some(after) => Verdict::Change {
                before,
                after: after.bind(&value),
            },
        }
    }
}

/// A rule on a change holds for the row as it was and for the row as it becomes: a plain column is read as each of them.
/// Whatever needs no `new.` is asked before anything is written, so that a constraint never answers first.
fn in_change(node: &Node, reads: &[String]) -> (Template, Template) {
    let parts = node.conjuncts();
    let before = parts
        .iter()
        .filter(|part| !part.looks().new)
        .map(|part| (part, RowExpr::OLD));
    let after = parts.iter().flat_map(|part| {
        let looks = part.looks();
        let as_new = (looks.row || looks.new || looks.tables).then_some((part, RowExpr::NEW));
        let as_old = (looks.row && looks.new).then_some((part, RowExpr::OLD));
        as_new.into_iter().chain(as_old)
    });
    (Template::all(before, reads), Template::all(after, reads))
}

/// An expression of a custom operation, over the row before it ([`RowExpr::OLD`]).
#[derive(Clone, Debug)]
pub struct OperationExpr {
    template: Template,
    inputs: BTreeSet<String>,
}

impl OperationExpr {
    /// Reads an expression over a table: a `condition`, or else a value for a column.
    ///
    /// # Errors
    /// Where the expression is none, is too large, or uses what may not be used.
    pub fn new(
        schema: &Schema,
        table: &Table,
        text: &str,
        condition: bool,
    ) -> Result<Self, ExprFault> {
        let checked = checked(schema, table, Place::Operation, text, condition)?;
        let template = Template::all([(&checked.node, RowExpr::OLD)].into_iter(), &checked.reads);
        if template.len() > render::MAX_SQL {
            return Err(too_large());
        }
        Ok(Self {
            template,
            inputs: checked.inputs,
        })
    }

    /// The names of the values that it takes from a request: `@input.<name>`.
    #[must_use]
    pub fn inputs(&self) -> &BTreeSet<String> {
        &self.inputs
    }

    /// With the values of a caller and of a request; NULL for those that are not there.
    #[must_use]
    pub fn bind(&self, caller: &Caller, inputs: &Map<String, Json>) -> RowExpr {
        self.template.bind(&|value| match value {
            node::Value::Input(name) => render::bound(inputs.get(name)),
            other => render::of_caller(other, caller),
        })
    }
}

/// Parses and checks on a stack of its own: sqlparser's tree may be as deep as the text is long, and whoever loads rules
/// may have little stack left. What comes out is at most as deep as a check allows.
fn checked(
    schema: &Schema,
    table: &Table,
    place: Place,
    text: &str,
    condition: bool,
) -> Result<Checked, ExprFault> {
    const STACK: usize = 32 << 20;
    let work = || check::check(schema, table, place, &parse::parse(text)?, condition);
    let done = std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().stack_size(STACK);
        builder.spawn_scoped(scope, work).ok()?.join().ok()
    });
    done.unwrap_or_else(|| {
        let message = "the expression could not be checked: no thread for it";
        Err(ExprFault::point(Location::new(1, 1), message))
    })
}

fn too_large() -> ExprFault {
    ExprFault::point(Location::new(1, 1), "the expression is too large")
}
