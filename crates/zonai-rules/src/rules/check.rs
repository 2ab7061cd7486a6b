//! From sqlparser's tree to our own: an allow-list of forms, everything else is a fault.
//!
//! Whatever is let through here can be rendered and neither fails nor grows without bound.
//! Must never let a form through because nobody thought of it: what is not named here is refused.

mod level;
mod operators;
mod select;

use std::collections::BTreeSet;

use rusqlite::types::Value as Bound;
use sqlparser::ast::{
    CaseWhen, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, Spanned,
    UnaryOperator, Value as SqlValue,
};

use level::{Level, operand};

use super::names::{Found, Names, Place};
use super::node::{Node, Value};
use super::{ExprFault, functions};
use zonai_engine::schema::{ColumnKind, Schema, Table};

/// The most parts of an expression.
const MAX_PARTS: usize = 500;
/// How deep parts may stand in each other.
const MAX_DEPTH: usize = 60;

/// Walks one expression.
pub(super) struct Checker<'a> {
    names: Names<'a>,
    reads: BTreeSet<String>,
    parts: usize,
    depth: usize,
    selects: u32,
}

/// What came out.
pub(super) struct Checked {
    pub(super) node: Node,
    /// Other tables that are read.
    pub(super) reads: Vec<String>,
    /// `@input.<name>`.
    pub(super) inputs: BTreeSet<String>,
}

/// Checks an expression; with `condition` one that is true or false.
pub(super) fn check(
    schema: &Schema,
    table: &Table,
    place: Place,
    expr: &Expr,
    condition: bool,
) -> Result<Checked, ExprFault> {
    let names = Names {
        schema,
        table,
        place,
        inner: Vec::new(),
        inputs: BTreeSet::new(),
    };
    let mut checker = Checker {
        names,
        reads: BTreeSet::new(),
        parts: 0,
        depth: 0,
        selects: 0,
    };
    let node = if condition {
        checker.condition(expr)?
    } else {
        checker.node(expr)?
    };
    Ok(Checked {
        node,
        reads: checker.reads.into_iter().collect(),
        inputs: checker.names.inputs,
    })
}

impl Checker<'_> {
    /// An expression that is true or false. Numbers are left to SQL; texts are certainly a mistake.
    pub(super) fn condition(&mut self, expr: &Expr) -> Result<Node, ExprFault> {
        let node = match expr {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
                self.part(expr)?;
                let (node, column) = self.name(expr)?;
                let kind = column.map_or(ColumnKind::Any, |column| column.kind);
                if matches!(
                    kind,
                    ColumnKind::Text | ColumnKind::Json | ColumnKind::Blob | ColumnKind::Real
                ) {
                    let message = format!("`{expr}` holds {} and is no condition", kind.describe());
                    return Err(ExprFault::at(expr.span(), message));
                }
                node
            }
            Expr::Nested(inner) => self.condition(inner)?,
            _ => self.node(expr)?,
        };
        let no_condition = match &node {
            Node::Value(Value::Literal(literal)) => {
                matches!(literal, Bound::Text(_) | Bound::Real(_))
            }
            Node::Minus(_) => true,
            Node::Binary(operator, ..) => matches!(*operator, "+" | "-" | "*" | "/" | "%" | "||"),
            _ => false,
        };
        if no_condition {
            return Err(ExprFault::at(
                expr.span(),
                format!("`{expr}` is no condition"),
            ));
        }
        Ok(node)
    }

    /// Any expression.
    pub(super) fn node(&mut self, expr: &Expr) -> Result<Node, ExprFault> {
        self.part(expr)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(refused(expr, "nested too deep"));
        }
        let node = self.form(expr);
        self.depth -= 1;
        node
    }

    fn form(&mut self, expr: &Expr) -> Result<Node, ExprFault> {
        match expr {
            Expr::Identifier(_) | Expr::CompoundIdentifier(_) => {
                self.name(expr).map(|(node, _)| node)
            }
            Expr::Value(value) => {
                literal(&value.value, expr).map(|value| Node::Value(Value::Literal(value)))
            }
            Expr::Nested(inner) => self.node(inner),
            Expr::IsNull(inner) => self.test(inner, "IS NULL"),
            Expr::IsNotNull(inner) => self.test(inner, "IS NOT NULL"),
            Expr::IsTrue(inner) => self.test(inner, "IS TRUE"),
            Expr::IsNotTrue(inner) => self.test(inner, "IS NOT TRUE"),
            Expr::IsFalse(inner) => self.test(inner, "IS FALSE"),
            Expr::IsNotFalse(inner) => self.test(inner, "IS NOT FALSE"),
            Expr::IsDistinctFrom(left, right) => self.binary("IS NOT", left, right),
            Expr::IsNotDistinctFrom(left, right) => self.binary("IS", left, right),
            Expr::BinaryOp { left, op, right } => self.operator(expr, left, op, right),
            Expr::UnaryOp {
                op: UnaryOperator::Not,
                expr: inner,
            } => Ok(Node::Not(Box::new(self.condition(inner)?))),
            Expr::UnaryOp {
                op: UnaryOperator::Minus,
                expr: inner,
            } => {
                operand(inner, Level::Primary)?;
                Ok(Node::Minus(Box::new(self.node(inner)?)))
            }
            Expr::In {
                expr: left,
                target,
                negated,
                global: false,
            } => self.within(expr, left, target, *negated),
            Expr::Between {
                expr: middle,
                negated,
                low,
                high,
            } => {
                let mut part = |expr| operand(expr, Level::Sum).and_then(|()| self.node(expr));
                Ok(Node::Between(
                    *negated,
                    Box::new([part(middle)?, part(low)?, part(high)?]),
                ))
            }
            Expr::Like {
                negated,
                any: false,
                expr: text,
                pattern,
                escape_char,
            } => self.like(*negated, text, pattern, escape_char.as_deref()),
            _ => self.phrase(expr),
        }
    }

    /// Forms of several words, and functions.
    fn phrase(&mut self, expr: &Expr) -> Result<Node, ExprFault> {
        match expr {
            Expr::Case {
                operand,
                conditions,
                else_result,
                ..
            } => self.case(operand.as_deref(), conditions, else_result.as_deref()),
            Expr::Exists { subquery, negated } => Ok(Node::Exists(
                *negated,
                Box::new(self.select(subquery, false)?),
            )),
            Expr::Function(function) => self.function(function, expr),
            Expr::Substring {
                expr: text,
                substring_from,
                substring_for,
                ..
            } => {
                let parts = substring_from.iter().chain(substring_for);
                let args: Vec<&Expr> = std::iter::once(text)
                    .chain(parts)
                    .map(|part| &**part)
                    .collect();
                functions::call(self, "substr", &args, expr)
            }
            Expr::Trim {
                expr: text,
                trim_where: None,
                trim_what: None,
                trim_characters,
            } => {
                let args: Vec<&Expr> = std::iter::once(&**text)
                    .chain(trim_characters.iter().flatten())
                    .collect();
                functions::call(self, "trim", &args, expr)
            }
            Expr::Subquery(_) => Err(refused(
                expr,
                "a SELECT stands in `exists (…)` or `in (…)` only",
            )),
            _ => Err(refused(expr, format!("`{expr}` cannot be used here"))),
        }
    }

    fn case(
        &mut self,
        operand: Option<&Expr>,
        conditions: &[CaseWhen],
        other: Option<&Expr>,
    ) -> Result<Node, ExprFault> {
        let simple = operand.is_some();
        let operand = operand
            .map(|part| self.node(part).map(Box::new))
            .transpose()?;
        let arms = conditions.iter().map(|arm| {
            let when = if simple {
                self.node(&arm.condition)
            } else {
                self.condition(&arm.condition)
            };
            Ok((when?, self.node(&arm.result)?))
        });
        let arms = arms.collect::<Result<_, ExprFault>>()?;
        let other = other
            .map(|part| self.node(part).map(Box::new))
            .transpose()?;
        Ok(Node::Case {
            operand,
            arms,
            other,
        })
    }

    fn part(&mut self, expr: &Expr) -> Result<(), ExprFault> {
        self.parts += 1;
        if self.parts > MAX_PARTS {
            return Err(refused(
                expr,
                format!("the expression has more than {MAX_PARTS} parts"),
            ));
        }
        Ok(())
    }

    fn name(&mut self, expr: &Expr) -> Result<Found<'_>, ExprFault> {
        match expr {
            Expr::Identifier(one) => self.names.one(one),
            Expr::CompoundIdentifier(parts) => match parts.as_slice() {
                [first, second] => self.names.two(first, second),
                _ => Err(refused(expr, format!("`{expr}` has too many parts"))),
            },
            _ => Err(refused(expr, format!("`{expr}` is no name"))),
        }
    }

    fn function(&mut self, function: &Function, expr: &Expr) -> Result<Node, ExprFault> {
        let name = function.name.to_string();
        let FunctionArguments::List(list) = &function.args else {
            return Err(refused(expr, format!("`{expr}` cannot be used here")));
        };
        let args: Option<Vec<&Expr>> = list
            .args
            .iter()
            .map(|arg| match arg {
                FunctionArg::Unnamed(FunctionArgExpr::Expr(expr)) => Some(expr),
                _ => None,
            })
            .collect();
        let plain = args.filter(|args| {
            let args: Vec<String> = args.iter().map(ToString::to_string).collect();
            function.to_string() == format!("{name}({})", args.join(", "))
        });
        match plain {
            Some(args) => functions::call(self, &name, &args, expr),
            None => Err(refused(
                expr,
                format!("`{name}` takes plain arguments only"),
            )),
        }
    }
}

fn refused(expr: &Expr, message: impl Into<String>) -> ExprFault {
    ExprFault::at(expr.span(), message)
}

fn literal(value: &SqlValue, at: &Expr) -> Result<Bound, ExprFault> {
    match value {
        SqlValue::Null => Ok(Bound::Null),
        SqlValue::Boolean(value) => Ok(Bound::Integer((*value).into())),
        SqlValue::SingleQuotedString(text) if !text.contains('\0') => Ok(Bound::Text(text.clone())),
        SqlValue::Number(text, false) => {
            let digits = text.replace('_', "");
            let whole = digits.parse().map(Bound::Integer).ok();
            let number = || {
                digits
                    .parse::<f64>()
                    .ok()
                    .filter(|number| number.is_finite())
                    .map(Bound::Real)
            };
            whole
                .or_else(number)
                .ok_or_else(|| refused(at, format!("`{text}` is out of range")))
        }
        _ => Err(refused(at, format!("`{at}` cannot be used here"))),
    }
}
