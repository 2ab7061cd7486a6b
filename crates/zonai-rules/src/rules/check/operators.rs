//! Comparisons, arithmetic, `and` and `or`, `in`, `like`, and steps into JSON.
//!
//! Must never let sides through that SQLite and the parser could group differently.

use rusqlite::types::Value as Bound;
use sqlparser::ast::{BinaryOperator, Expr, InTarget};

use super::level::{Level, level_of, needs_parentheses, operand};
use super::{Checker, literal, refused};
use crate::rules::node::Node;
use crate::rules::{ExprFault, functions, paths};

impl Checker<'_> {
    pub(super) fn test(&mut self, inner: &Expr, test: &'static str) -> Result<Node, ExprFault> {
        operand(inner, Level::Sum)?;
        Ok(Node::Test(Box::new(self.node(inner)?), test))
    }

    pub(super) fn binary(
        &mut self,
        operator: &'static str,
        left: &Expr,
        right: &Expr,
    ) -> Result<Node, ExprFault> {
        operand(left, Level::Sum)?;
        operand(right, Level::Sum)?;
        Ok(Node::Binary(
            operator,
            Box::new(self.node(left)?),
            Box::new(self.node(right)?),
        ))
    }

    pub(super) fn operator(
        &mut self,
        expr: &Expr,
        left: &Expr,
        op: &BinaryOperator,
        right: &Expr,
    ) -> Result<Node, ExprFault> {
        let (symbol, level) = match op {
            BinaryOperator::And | BinaryOperator::Or => return self.chain(expr, op),
            BinaryOperator::Arrow | BinaryOperator::LongArrow => return self.json(expr),
            BinaryOperator::Eq => return self.binary("=", left, right),
            BinaryOperator::NotEq => return self.binary("<>", left, right),
            BinaryOperator::Lt => return self.binary("<", left, right),
            BinaryOperator::LtEq => return self.binary("<=", left, right),
            BinaryOperator::Gt => return self.binary(">", left, right),
            BinaryOperator::GtEq => return self.binary(">=", left, right),
            BinaryOperator::Is => return self.binary("IS", left, right),
            BinaryOperator::IsNot => return self.binary("IS NOT", left, right),
            BinaryOperator::Plus => ("+", Level::Sum),
            BinaryOperator::Minus => ("-", Level::Sum),
            BinaryOperator::Multiply => ("*", Level::Product),
            BinaryOperator::Divide => ("/", Level::Product),
            BinaryOperator::Modulo => ("%", Level::Product),
            BinaryOperator::StringConcat => ("||", Level::Joined),
            _ => {
                return Err(refused(
                    expr,
                    format!("the operator `{op}` cannot be used here"),
                ));
            }
        };
        for side in [left, right] {
            let found = level_of(side);
            // A sum of sums is read from the left by both, and a product binds tighter than a sum for both.
            let alike = found == Level::Primary
                || found == level
                || (level, found) == (Level::Sum, Level::Product);
            if !alike {
                return Err(needs_parentheses(side));
            }
        }
        Ok(Node::Binary(
            symbol,
            Box::new(self.node(left)?),
            Box::new(self.node(right)?),
        ))
    }

    /// `a AND b AND c` as one list, so that long ones do not nest.
    pub(super) fn chain(&mut self, expr: &Expr, op: &BinaryOperator) -> Result<Node, ExprFault> {
        let (mut parts, mut rest) = (Vec::new(), expr);
        while let Expr::BinaryOp {
            left,
            op: inner,
            right,
        } = rest
            && inner == op
        {
            parts.push(&**right);
            rest = left;
        }
        parts.push(rest);
        let nodes = parts
            .into_iter()
            .rev()
            .map(|part| self.condition(part))
            .collect::<Result<_, _>>()?;
        Ok(if *op == BinaryOperator::And {
            Node::All(nodes)
        } else {
            Node::Any(nodes)
        })
    }

    /// `column -> 'a' ->> 'b'`.
    pub(super) fn json(&mut self, expr: &Expr) -> Result<Node, ExprFault> {
        let (mut steps, mut rest) = (Vec::new(), expr);
        while let Expr::BinaryOp {
            left,
            op: op @ (BinaryOperator::Arrow | BinaryOperator::LongArrow),
            right,
        } = rest
        {
            let symbol = if *op == BinaryOperator::Arrow {
                "->"
            } else {
                "->>"
            };
            if symbol == "->>" && !steps.is_empty() {
                return Err(refused(rest, "`->>` is the last step"));
            }
            let value = match &**right {
                Expr::Value(value) => literal(&value.value, right)?,
                _ => Bound::Null,
            };
            match &value {
                Bound::Integer(_) => {}
                // A label; paths have a function of their own, in which they are checked.
                Bound::Text(label) if paths::is_member(label) => {}
                _ => {
                    return Err(refused(
                        right,
                        format!("`{symbol}` takes the name of a member or the number of an item"),
                    ));
                }
            }
            steps.push((symbol, value));
            rest = left;
        }
        steps.reverse();
        let node = self.node(rest)?;
        functions::plain(&node, rest, "->")?;
        Ok(Node::Json(Box::new(node), steps))
    }

    pub(super) fn within(
        &mut self,
        expr: &Expr,
        left: &Expr,
        target: &InTarget,
        negated: bool,
    ) -> Result<Node, ExprFault> {
        operand(left, Level::Sum)?;
        let node = Box::new(self.node(left)?);
        match target {
            InTarget::List(list) => {
                let list = list
                    .iter()
                    .map(|item| self.node(item))
                    .collect::<Result<_, _>>()?;
                Ok(Node::In(node, negated, list))
            }
            InTarget::Subquery(query) => Ok(Node::InSelect(
                node,
                negated,
                Box::new(self.select(query, true)?),
            )),
            _ => Err(refused(
                expr,
                "`in` takes a list of values or a SELECT, in parentheses",
            )),
        }
    }

    pub(super) fn like(
        &mut self,
        negated: bool,
        text: &Expr,
        pattern: &Expr,
        escape: Option<&Expr>,
    ) -> Result<Node, ExprFault> {
        operand(text, Level::Sum)?;
        let text = Box::new(self.node(text)?);
        let quoted = |expr: &Expr| match expr {
            Expr::Value(value) => match literal(&value.value, expr) {
                Ok(Bound::Text(text)) => Some(text),
                _ => None,
            },
            _ => None,
        };
        let Some(pattern) = quoted(pattern) else {
            let help = "`%` and `_` in a value would be wildcards; `instr(a, b) = 1` asks whether a begins with b";
            return Err(refused(pattern, "a pattern of `like` is a text in quotes").with_help(help));
        };
        let escape = match escape {
            None => None,
            Some(expr) => match quoted(expr)
                .map(|text| text.chars().collect::<Vec<_>>())
                .as_deref()
            {
                Some([one]) => Some(*one),
                _ => return Err(refused(expr, "`escape` takes one character in quotes")),
            },
        };
        Ok(Node::Like {
            negated,
            text,
            pattern,
            escape,
        })
    }
}
