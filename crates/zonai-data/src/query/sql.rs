//! SQL text with the values to bind, and how a condition becomes one.
//!
//! Negations are pushed down to the tests, so that SQL's NULL never stands under a NOT and an index can serve what is left.

use rusqlite::types::Value as Bound;

use super::{Condition, Operator, Test};
use crate::dialect;
use crate::rights::RowExpr;
use crate::schema::{ColumnKind, Table};

/// SQL text with anonymous `?`, and their values in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sql {
    pub(crate) text: String,
    pub(crate) values: Vec<Bound>,
}

impl Sql {
    pub(crate) fn new(text: &str) -> Self {
        let mut sql = Self {
            text: String::with_capacity(256),
            values: Vec::new(),
        };
        sql.text.push_str(text);
        sql
    }

    pub(crate) fn push(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    pub(crate) fn bind(&mut self, value: Bound) -> &mut Self {
        self.text.push('?');
        self.values.push(value);
        self
    }

    /// A name, quoted.
    pub(crate) fn name(&mut self, name: &str) -> &mut Self {
        dialect::push_quoted(&mut self.text, name);
        self
    }

    /// A column of a row alias.
    pub(crate) fn column(&mut self, alias: &str, name: &str) -> &mut Self {
        self.name(alias).push(".").name(name)
    }

    /// ` FROM table AS alias`.
    pub(crate) fn from(&mut self, table: &Table, alias: &str) -> &mut Self {
        self.push(" FROM ")
            .name(&table.name)
            .push(" AS ")
            .name(alias)
    }

    /// An expression with its values, in parentheses.
    pub(crate) fn expression(&mut self, expr: &RowExpr) -> &mut Self {
        self.push("(").push(&expr.sql).push(")");
        self.values.extend_from_slice(&expr.values);
        self
    }

    /// A rule, as true or false.
    pub(crate) fn rule(&mut self, rule: &RowExpr, expected: bool) -> &mut Self {
        self.push("((").push(&rule.sql);
        self.values.extend_from_slice(&rule.values);
        self.push(if expected {
            ") IS TRUE)"
        } else {
            ") IS NOT TRUE)"
        })
    }

    /// A condition over the columns of `alias`; true or not true, never relied on to be false.
    pub(crate) fn condition(
        &mut self,
        table: &Table,
        alias: &str,
        condition: &Condition,
    ) -> &mut Self {
        self.either(table, alias, condition, false);
        self
    }

    fn either(&mut self, table: &Table, alias: &str, condition: &Condition, negated: bool) {
        match condition {
            Condition::Not(inner) => self.either(table, alias, inner, !negated),
            Condition::Test(test) => test_sql(self, table, alias, test, negated),
            Condition::All(inner) | Condition::Any(inner) => {
                let and = matches!(condition, Condition::All(_)) != negated;
                self.group(table, alias, inner, negated, and);
            }
        }
    }

    /// Halves a long list again and again: SQLite refuses expressions that are 1,000 levels deep, and a plain chain is.
    fn group(&mut self, table: &Table, alias: &str, inner: &[Condition], negated: bool, and: bool) {
        match inner {
            [] => {
                self.push(if and { "1" } else { "0" });
            }
            [one] => self.either(table, alias, one, negated),
            many => {
                let (left, right) = many.split_at(many.len() / 2);
                self.push("(");
                self.group(table, alias, left, negated, and);
                self.push(if and { " AND " } else { " OR " });
                self.group(table, alias, right, negated, and);
                self.push(")");
            }
        }
    }
}

fn test_sql(sql: &mut Sql, table: &Table, alias: &str, test: &Test, negated: bool) {
    let column = &table.columns[test.column];
    let json = column.kind == ColumnKind::Json;
    let mut place = String::with_capacity(alias.len() + column.name.len() + 5);
    dialect::push_quoted(&mut place, alias);
    place.push('.');
    dialect::push_quoted(&mut place, &column.name);
    let operand = if json {
        dialect::json_scalar(&place)
    } else {
        place.clone()
    };
    let value = || test.values.first().cloned().unwrap_or(Bound::Null);
    // Each operator or its complement; the two are told apart by `positive`.
    let (operator, positive) = match test.operator {
        Operator::Ne => (Operator::Eq, negated),
        Operator::NotIn => (Operator::In, negated),
        Operator::NotContains => (Operator::Contains, negated),
        Operator::NotNull => (Operator::IsNull, negated),
        other => (other, !negated),
    };
    match operator {
        Operator::IsNull => null(sql, &place, positive),
        Operator::Eq if value() == Bound::Null => null(sql, &place, positive),
        Operator::Eq => compare(
            sql,
            &operand,
            if positive { "=" } else { "<>" },
            value(),
            positive,
        ),
        Operator::Gt | Operator::Gte | Operator::Lt | Operator::Lte => {
            if value() == Bound::Null {
                sql.push(if positive { "0" } else { "1" });
                return;
            }
            let symbol = match (operator, positive) {
                (Operator::Gt, true) | (Operator::Lte, false) => ">",
                (Operator::Gte, true) | (Operator::Lt, false) => ">=",
                (Operator::Lt, true) | (Operator::Gte, false) => "<",
                _ => "<=",
            };
            compare(sql, &operand, symbol, value(), positive);
        }
        Operator::In => any_of(sql, &place, &operand, &test.values, positive),
        _ => {
            sql.push("((");
            match operator {
                Operator::Contains if json => dialect::json_contains(sql, &place, value()),
                Operator::Contains => dialect::contains(sql, &operand, value()),
                Operator::StartsWith => dialect::starts_with(sql, &operand, value()),
                _ => dialect::ends_with(sql, &operand, value()),
            }
            sql.push(if positive {
                ") IS TRUE)"
            } else {
                ") IS NOT TRUE)"
            });
        }
    }
}

fn null(sql: &mut Sql, place: &str, positive: bool) {
    sql.push(place)
        .push(if positive { " IS NULL" } else { " IS NOT NULL" });
}

/// A comparison; a negated one holds for NULL too.
fn compare(sql: &mut Sql, operand: &str, symbol: &str, value: Bound, positive: bool) {
    if positive {
        sql.push(operand).push(symbol).bind(value);
    } else {
        sql.push("(").push(operand).push(symbol).bind(value);
        sql.push(" OR ").push(operand).push(" IS NULL)");
    }
}

fn any_of(sql: &mut Sql, place: &str, operand: &str, values: &[Bound], positive: bool) {
    let with_null = values.contains(&Bound::Null);
    let mut plain = values
        .iter()
        .filter(|value| **value != Bound::Null)
        .peekable();
    if plain.peek().is_none() {
        if with_null {
            null(sql, place, positive);
        } else {
            sql.push(if positive { "0" } else { "1" });
        }
        return;
    }
    sql.push("(")
        .push(operand)
        .push(if positive { " IN (" } else { " NOT IN (" });
    for (nth, value) in plain.enumerate() {
        if nth > 0 {
            sql.push(",");
        }
        sql.bind(value.clone());
    }
    sql.push(")");
    // NULL is in the list or it is not: SQL's IN says neither.
    if with_null == positive {
        sql.push(" OR ").push(place).push(" IS NULL");
    }
    sql.push(")");
}
