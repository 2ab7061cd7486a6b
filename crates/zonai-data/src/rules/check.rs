//! From sqlparser's tree to our own: an allow-list of forms, everything else is a fault.
//!
//! SQLite and sqlparser do not bind all operators alike, so a mixture whose reading could differ needs parentheses.

use std::collections::BTreeSet;

use rusqlite::types::Value as Bound;
use sqlparser::ast::{
    BinaryOperator, Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, InTarget,
    Query, SelectItem, SetExpr, Spanned, TableFactor, UnaryOperator, Value as SqlValue,
};

use super::names::{Found, Inner, Names, Place};
use super::node::{Node, Select, Value};
use super::{ExprFault, functions};
use crate::schema::{ColumnKind, Schema, Table};

/// The most parts of an expression.
const MAX_PARTS: usize = 500;
/// The most subqueries.
const MAX_SELECTS: u32 = 8;

/// Walks one expression.
pub(super) struct Checker<'a> {
    names: Names<'a>,
    reads: BTreeSet<String>,
    parts: usize,
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
            Expr::Case {
                operand,
                conditions,
                else_result,
                ..
            } => {
                let simple = operand.is_some();
                let operand = operand
                    .as_deref()
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
                let other = else_result
                    .as_deref()
                    .map(|part| self.node(part).map(Box::new))
                    .transpose()?;
                Ok(Node::Case {
                    operand,
                    arms,
                    other,
                })
            }
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

    fn test(&mut self, inner: &Expr, test: &'static str) -> Result<Node, ExprFault> {
        operand(inner, Level::Sum)?;
        Ok(Node::Test(Box::new(self.node(inner)?), test))
    }

    fn binary(
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

    fn operator(
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
    fn chain(&mut self, expr: &Expr, op: &BinaryOperator) -> Result<Node, ExprFault> {
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
    fn json(&mut self, expr: &Expr) -> Result<Node, ExprFault> {
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
                Bound::Text(label) if !label.starts_with('$') => {}
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

    fn within(
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

    fn like(
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

    /// `SELECT … FROM table [AS name] [WHERE …]` and nothing more.
    fn select(&mut self, query: &Query, with_column: bool) -> Result<Select, ExprFault> {
        let fault = |message: String| Err(ExprFault::at(query.span(), message));
        let shape = "a subquery is `select … from <table> [as <name>] [where …]`";
        let SetExpr::Select(select) = &*query.body else {
            return fault(shape.to_owned());
        };
        let ([item], [from]) = (select.projection.as_slice(), select.from.as_slice()) else {
            return fault(shape.to_owned());
        };
        let TableFactor::Table { name, alias, .. } = &from.relation else {
            return fault(shape.to_owned());
        };
        // What is shown of a query is all of it: any further clause makes another text.
        let alias_text = alias.as_ref().map_or_else(String::new, |alias| {
            format!("{} {}", if alias.explicit { " AS" } else { "" }, alias.name)
        });
        let condition_text = select
            .selection
            .as_ref()
            .map_or_else(String::new, |condition| format!(" WHERE {condition}"));
        if query.to_string() != format!("SELECT {item} FROM {name}{alias_text}{condition_text}") {
            return fault(shape.to_owned());
        }
        let table = self.table(&name.to_string(), name.span())?;
        self.selects += 1;
        if self.selects > MAX_SELECTS {
            return fault(format!("more than {MAX_SELECTS} subqueries"));
        }
        let id = self.selects;
        let shown = alias
            .as_ref()
            .map_or_else(|| table.name.clone(), |alias| alias.name.value.clone());
        if ["old", "new"].contains(&shown.to_ascii_lowercase().as_str()) {
            return fault(format!(
                "`{shown}` is a name of the row; give the table another one with `as`"
            ));
        }
        self.names.inner.push(Inner {
            name: shown,
            table,
            id,
        });
        let column = match (with_column, item) {
            (false, _) => None,
            (true, SelectItem::UnnamedExpr(expr)) => Some(self.node(expr)?),
            (true, _) => return fault("name the one column that `in` compares with".to_owned()),
        };
        let condition = select
            .selection
            .as_ref()
            .map(|condition| self.condition(condition))
            .transpose()?;
        self.names.inner.pop();
        self.reads.insert(table.name.clone());
        Ok(Select {
            table: table.name.clone(),
            id,
            column,
            condition,
        })
    }
}

impl<'a> Checker<'a> {
    fn table(&self, name: &str, span: sqlparser::tokenizer::Span) -> Result<&'a Table, ExprFault> {
        let schema: &'a Schema = self.names.schema;
        let plain = name.trim_matches(['"', '`', '[', ']']);
        let Some(table) = schema.table_in_any_case(plain) else {
            let known: Vec<&str> = schema.tables().map(|table| table.name.as_str()).collect();
            return Err(ExprFault::at(span, format!("there is no table `{plain}`"))
                .with_nearest(plain, &known));
        };
        if table.is_view {
            let message = format!(
                "`{plain}` is a view; a rule reads tables, so that it is known when its answer may change"
            );
            return Err(ExprFault::at(span, message));
        }
        Ok(table)
    }
}

/// How tightly an expression holds together, as far as SQLite and sqlparser agree.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Primary,
    /// `||`, `->`: nothing but their own kind beside them.
    Joined,
    Product,
    Sum,
    Comparison,
}

fn level_of(expr: &Expr) -> Level {
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

fn operand(expr: &Expr, most: Level) -> Result<(), ExprFault> {
    if level_of(expr) > most {
        Err(needs_parentheses(expr))
    } else {
        Ok(())
    }
}

fn needs_parentheses(expr: &Expr) -> ExprFault {
    refused(expr, format!("put `{expr}` in parentheses"))
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
