//! `expand`: paths along foreign keys, such as `"author"` or `"author.team"`, at most 4 deep.
//!
//! A step is the name of a column with a foreign key; where there is no such column, `author` also stands for `author_id` and
//! `authorId`. Rights are asked once for each table on the way, and held against each related row.

use std::sync::Arc;

use serde_json::Value;

use super::{Place, Sql, readable, shortened};
use crate::DataError;
use crate::Payload;
use crate::payload::describe;
use crate::rights::{RowExpr, Verdict};
use crate::schema::{Column, ForeignKey, Schema, Table};

/// The most steps of a path.
const MAX_DEPTH: usize = 4;
/// The most steps of all paths together.
const MAX_STEPS: usize = 64;

/// One step: the related row of a row, and what is expanded in it.
#[derive(Clone, Debug)]
pub(crate) struct Expand {
    /// A number of its own in the query.
    pub(crate) id: usize,
    /// The key under `expanded`.
    pub(crate) key: String,
    /// Where the foreign key is in the select list of the row it starts from.
    pub(crate) at: usize,
    /// The related table.
    pub(crate) table: Arc<Table>,
    /// Selects the related row, and whether it may be seen where the rules look at rows; the last `?` is its key. `None`
    /// where the caller may see no row of the table.
    pub(crate) select: Option<Sql>,
    /// Whether the last column says if the row may be seen.
    pub(crate) ruled: bool,
    /// What is expanded in the related row.
    pub(crate) inner: Vec<Expand>,
}

/// Builds the steps of a payload.
pub(crate) struct Expander<'a> {
    pub(crate) schema: &'a Schema,
    /// What the caller may do with single rows of a table.
    pub(crate) verdict: &'a dyn Fn(&Table) -> Verdict,
    pub(crate) steps: usize,
}

impl Expander<'_> {
    /// The steps, none when the payload has no `expand`.
    ///
    /// # Errors
    /// 400 for a path that is none.
    pub(crate) fn read(
        &mut self,
        table: &Arc<Table>,
        payload: &Payload,
    ) -> Result<Vec<Expand>, DataError> {
        let root = Place::Root("expand");
        let items = match payload.get("expand") {
            None | Some(Value::Null) => return Ok(Vec::new()),
            Some(Value::Array(items)) => items.as_slice(),
            Some(one) => std::slice::from_ref(one),
        };
        let mut steps = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let place = root.item(at);
            let Value::String(path) = item else {
                return Err(DataError::at(
                    place,
                    format_args!("expected a text, found {}", describe(item)),
                ));
            };
            let names: Vec<&str> = path.split('.').map(str::trim).collect();
            if names.len() > MAX_DEPTH {
                return Err(DataError::at(
                    place,
                    format_args!("more than {MAX_DEPTH} deep"),
                ));
            }
            self.path(table, &names, &place, &mut steps)?;
        }
        Ok(steps)
    }

    fn path(
        &mut self,
        table: &Table,
        names: &[&str],
        place: &Place<'_>,
        into: &mut Vec<Expand>,
    ) -> Result<(), DataError> {
        let Some((name, rest)) = names.split_first() else {
            return Ok(());
        };
        let at = match into.iter().position(|step| step.key == *name) {
            Some(at) => at,
            None => {
                into.push(self.step(table, name, place)?);
                into.len() - 1
            }
        };
        let table = Arc::clone(&into[at].table);
        self.path(&table, rest, place, &mut into[at].inner)
    }

    fn step(&mut self, table: &Table, name: &str, place: &Place<'_>) -> Result<Expand, DataError> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return Err(DataError::at(
                "expand",
                format_args!("more than {MAX_STEPS} steps"),
            ));
        }
        let key = foreign_key(table, name).ok_or_else(|| match readable(table, name, place) {
            Ok(_) => DataError::at(
                place,
                format_args!("`{}` is no foreign key", shortened(name)),
            ),
            Err(error) => error,
        })?;
        let unserved = || {
            DataError::at(
                place,
                format_args!("`{}` leads to no table that is served", shortened(name)),
            )
        };
        let related = self
            .schema
            .table_in_any_case(&key.table)
            .ok_or_else(unserved)?;
        let references = |column: &&Column| column.name.eq_ignore_ascii_case(&key.references);
        let references = related
            .columns
            .iter()
            .find(references)
            .ok_or_else(unserved)?;
        let at = table
            .select
            .shown
            .iter()
            .position(|shown| *shown == key.column);
        let (select, ruled) = match (self.verdict)(related) {
            Verdict::Deny | Verdict::Change { .. } => (None, false),
            Verdict::Allow => (Some(select(related, references, None)), false),
            Verdict::Rows(rule) => (Some(select(related, references, Some(&rule))), true),
        };
        Ok(Expand {
            id: self.steps,
            key: name.to_owned(),
            at: at.ok_or_else(unserved)?,
            table: Arc::clone(related),
            select,
            ruled,
            inner: Vec::new(),
        })
    }
}

/// The key of a step: a readable column with a foreign key.
fn foreign_key<'t>(table: &'t Table, name: &str) -> Option<&'t ForeignKey> {
    let of = |name: &str| {
        let place = table.place(name)?;
        table
            .foreign_keys
            .iter()
            .find(|key| key.column == place && !table.columns[place].secret)
    };
    of(name).or_else(|| {
        if table.column(name).is_some() {
            return None;
        }
        of(&format!("{name}_id")).or_else(|| of(&format!("{name}Id")))
    })
}

fn select(table: &Table, references: &Column, rule: Option<&RowExpr>) -> Sql {
    let mut sql = Sql::new("SELECT ");
    sql.push(&table.select.list);
    if let Some(rule) = rule {
        sql.push(",").rule(rule, true);
    }
    sql.from(table, RowExpr::ROW).push(" WHERE ");
    sql.column(RowExpr::ROW, &references.name)
        .push("=? LIMIT 1");
    sql
}
