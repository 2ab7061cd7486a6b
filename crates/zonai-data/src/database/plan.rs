//! A read as it will run: SQL, what to expand, and what to do about rows that the caller may not see.
//!
//! A plan holds no connection and can be run again, which is how live queries work.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::Inner;
use super::scope::Scope;
use crate::query::expand::{Expand, Expander};
use crate::query::{Condition, Place, Sql, page};
use crate::rights::{Action, RowExpr};
use crate::schema::Table;
use crate::{Caller, DataError, Payload};

/// What is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadKind {
    /// One row.
    Get,
    /// `{items, total}`.
    List,
    /// How many.
    Count,
}

/// What happens when a row that is asked for may not be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// The read is [`DataError::Forbidden`].
    Fail,
    /// The row is left out, as if it were not there.
    LeaveOut,
}

/// A read that was checked and can be run any number of times.
#[derive(Clone, Debug)]
pub struct ReadPlan {
    pub(super) table: Arc<Table>,
    pub(super) unseen: Unseen,
    pub(super) expand: Vec<Expand>,
    pub(super) shape: Shape,
    /// Touches one row, by its key: no related ones, and no others for its rule.
    pub(super) short: bool,
    other_tables: BTreeSet<String>,
}

#[derive(Clone, Debug)]
pub(super) enum Shape {
    Get {
        select: Sql,
        /// The last column says whether the row may be seen.
        ruled: bool,
    },
    List {
        refused: Option<Sql>,
        items: Sql,
        total: Sql,
        limit: i64,
        offset: i64,
        /// The columns of a grouped list, before the `count`.
        groups: Vec<usize>,
    },
    Count {
        refused: Option<Sql>,
        total: Sql,
    },
}

impl ReadPlan {
    /// Names of the tables whose changes may change the result; `None` when any change may (a view is read).
    #[must_use]
    pub fn tables(&self) -> Option<BTreeSet<&str>> {
        fn walk<'a>(steps: &'a [Expand], into: &mut BTreeSet<&'a str>) -> bool {
            steps.iter().all(|step| {
                into.insert(&step.table.name);
                !step.table.is_view && walk(&step.inner, into)
            })
        }
        let mut tables: BTreeSet<&str> = self.other_tables.iter().map(String::as_str).collect();
        tables.insert(&self.table.name);
        (!self.table.is_view && walk(&self.expand, &mut tables)).then_some(tables)
    }

    /// A text that is the same for two plans exactly when they always have the same result.
    #[must_use]
    pub fn key(&self) -> String {
        format!(
            "{:?} {:?} {:?}",
            self.shape,
            self.unseen,
            Steps(&self.expand)
        )
    }
}

/// The part of the steps that decides the result.
struct Steps<'a>(&'a [Expand]);

impl std::fmt::Debug for Steps<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let each = self
            .0
            .iter()
            .map(|step| (&step.key, step.at, &step.select, Steps(&step.inner)));
        f.debug_list().entries(each).finish()
    }
}

/// Builds a plan.
pub(super) fn read(
    inner: &Inner,
    caller: &Caller,
    payload: &Payload,
    kind: ReadKind,
    unseen: Unseen,
) -> Result<ReadPlan, DataError> {
    let action = match kind {
        ReadKind::Get => Action::View,
        ReadKind::List => Action::List,
        ReadKind::Count => Action::Count,
    };
    let scope = Scope::open(inner, caller, payload, action)?;
    payload.only(match kind {
        ReadKind::Get => &["table", "where", "expand"],
        ReadKind::List => &[
            "table", "where", "limit", "offset", "order_by", "group_by", "expand", "filter",
        ],
        ReadKind::Count => &["table", "where", "filter"],
    })?;
    let unseen = match kind {
        ReadKind::List | ReadKind::Count if scope.filters || page::flag(payload, "filter")? => {
            Unseen::LeaveOut
        }
        _ => unseen,
    };
    let (table, rule) = scope.rows()?;
    let condition = match (payload.get("where"), kind) {
        (Some(value), _) => Condition::parse(&table, value, &Place::Root("where"))?,
        (None, ReadKind::Get) => return Err(DataError::at("where", "is missing")),
        (None, _) => Condition::always(),
    };
    let mut other_tables: BTreeSet<String> =
        rule.iter().flat_map(|rule| rule.reads.clone()).collect();
    let expand = expand(inner, caller, &table, payload, kind, &mut other_tables)?;
    let by_key = table.key_column().is_some_and(|key| condition.pins(key));
    let short = kind == ReadKind::Get && by_key && expand.is_empty() && other_tables.is_empty();
    let query = Query {
        table: &table,
        condition: &condition,
        rule: rule.as_ref(),
        unseen,
    };
    let shape = match kind {
        ReadKind::Get => query.get(by_key),
        ReadKind::Count => Shape::Count {
            refused: query.refused(),
            total: query.total(&[]),
        },
        ReadKind::List => query.list(payload, &expand)?,
    };
    Ok(ReadPlan {
        table,
        unseen,
        expand,
        shape,
        short,
        other_tables,
    })
}

fn expand(
    inner: &Inner,
    caller: &Caller,
    table: &Arc<Table>,
    payload: &Payload,
    kind: ReadKind,
    other_tables: &mut BTreeSet<String>,
) -> Result<Vec<Expand>, DataError> {
    if kind == ReadKind::Count || payload.get("expand").is_none() {
        return Ok(Vec::new());
    }
    let rights = inner.rights.load();
    let reads = std::cell::RefCell::new(other_tables);
    let verdict = |table: &Table| {
        inner.asked();
        let verdict = rights.verdict(table, Action::View, caller);
        if let crate::Verdict::Rows(rule) = &verdict {
            reads.borrow_mut().extend(rule.reads.iter().cloned());
        }
        verdict
    };
    let mut expander = Expander {
        schema: &inner.schema,
        verdict: &verdict,
        steps: 0,
    };
    expander.read(table, payload)
}

/// What all statements of one read have in common.
struct Query<'a> {
    table: &'a Table,
    condition: &'a Condition,
    rule: Option<&'a RowExpr>,
    unseen: Unseen,
}

impl Query<'_> {
    fn get(&self, by_key: bool) -> Shape {
        let mut select = Sql::new("SELECT ");
        select.push(&self.table.select.list);
        let ruled = self.rule.filter(|_| self.unseen == Unseen::Fail);
        if let Some(rule) = ruled {
            select.push(",").rule(rule, true);
        }
        self.matching(&mut select);
        if !by_key {
            select.order(self.table, RowExpr::ROW, &[]);
        }
        select.push(" LIMIT 1");
        Shape::Get {
            select,
            ruled: ruled.is_some(),
        }
    }

    fn list(&self, payload: &Payload, expand: &[Expand]) -> Result<Shape, DataError> {
        let groups = page::group_by(self.table, payload)?;
        let orders = page::order_by(self.table, payload, &groups)?;
        let limit = page::list_limit(payload)?;
        let offset = page::offset(payload)?;
        if !groups.is_empty() && !expand.is_empty() {
            return Err(DataError::at("expand", "groups have no related rows"));
        }
        let mut items = Sql::new("SELECT ");
        if groups.is_empty() {
            items.push(&self.table.select.list);
            self.matching(&mut items);
            items.order(self.table, RowExpr::ROW, &orders);
        } else {
            self.group_columns(&mut items, &groups);
            items.push(",count(*) AS ").name("count");
            self.matching(&mut items);
            items.push(" GROUP BY ");
            self.group_columns(&mut items, &groups);
            items.group_order(self.table, RowExpr::ROW, &orders, &groups);
        }
        items
            .push(" LIMIT ")
            .bind(limit.into())
            .push(" OFFSET ")
            .bind(offset.into());
        Ok(Shape::List {
            refused: self.refused(),
            items,
            total: self.total(&groups),
            limit,
            offset,
            groups,
        })
    }

    fn group_columns(&self, sql: &mut Sql, groups: &[usize]) {
        for (nth, at) in groups.iter().enumerate() {
            if nth > 0 {
                sql.push(",");
            }
            sql.column(RowExpr::ROW, &self.table.columns[*at].name);
        }
    }

    /// ` FROM … WHERE …`; with the rule where rows are left out.
    fn matching(&self, sql: &mut Sql) {
        sql.from(self.table, RowExpr::ROW).push(" WHERE ");
        sql.condition(self.table, RowExpr::ROW, self.condition);
        if let Some(rule) = self.rule.filter(|_| self.unseen == Unseen::LeaveOut) {
            // Nothing but the row hangs on it, so NULL need not be told from false; an index can serve it then.
            sql.push(" AND ").expression(rule);
        }
    }

    fn total(&self, groups: &[usize]) -> Sql {
        if groups.is_empty() {
            let mut sql = Sql::new("SELECT count(*)");
            self.matching(&mut sql);
            return sql;
        }
        let mut sql = Sql::new("SELECT count(*) FROM (SELECT 1");
        self.matching(&mut sql);
        sql.push(" GROUP BY ");
        self.group_columns(&mut sql, groups);
        sql.push(")");
        sql
    }

    /// Finds a row that is asked for and may not be seen.
    fn refused(&self) -> Option<Sql> {
        let rule = self.rule.filter(|_| self.unseen == Unseen::Fail)?;
        let mut sql = Sql::new("SELECT 1");
        self.matching(&mut sql);
        sql.push(" AND ").rule(rule, false).push(" LIMIT 1");
        Some(sql)
    }
}
