//! Which operators may stand beside each other without parentheses.
//!
//! SQLite and sqlparser do not bind all of them alike; where they could differ, parentheses are asked for.

use sqlparser::ast::{BinaryOperator, Expr, UnaryOperator};

use super::refused;
use crate::rules::ExprFault;

/// How tightly an expression holds together, as far as SQLite and sqlparser agree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Primary,
    /// `||`, `->`: nothing but their own kind beside them.
    Joined,
    Product,
    Sum,
    Comparison,
}

pub(super) fn level_of(expr: &Expr) -> Level {
    match expr {
        Expr::BinaryOp { op, .. } => match op {
            BinaryOperator::StringConcat | BinaryOperator::Arrow | BinaryOperator::LongArrow => Level::Joined,
            BinaryOperator::Multiply | BinaryOperator::Divide | BinaryOperator::Modulo => Level::Product,
            BinaryOperator::Plus | BinaryOperator::Minus => Level::Sum,
            _ => Level::Comparison,
        },
        Expr::UnaryOp { op: UnaryOperator::Minus, .. } => Level::Product,
        Expr::Identifier(_)
        | Expr::CompoundIdentifier(_)
        | Expr::Value(_)
        | Expr::Nested(_)
        | Expr::Function(_)
        | Expr::Substring { .. }
        | Expr::Trim { .. }
        | Expr::Case { .. }
        // Refused for what they are, wherever they stand.
        | Expr::Subquery(_)
        | Expr::Cast { .. }
        | Expr::Collate { .. } => Level::Primary,
        Expr::Exists { negated: false, .. } => Level::Primary,
        _ => Level::Comparison,
    }
}

pub(super) fn operand(expr: &Expr, most: Level) -> Result<(), ExprFault> {
    if level_of(expr) > most {
        Err(needs_parentheses(expr))
    } else {
        Ok(())
    }
}

pub(super) fn needs_parentheses(expr: &Expr) -> ExprFault {
    refused(expr, format!("put `{expr}` in parentheses"))
}
