//! From a checked expression to SQL text: every name quoted and with its row, every value a `?`, every step in parentheses.
//!
//! Must never put a value or a bare name into the text.

use rusqlite::types::Value as Bound;
use serde_json::Value as Json;

use super::node::{Node, Of, Select, Value};
use crate::Caller;
use crate::rights::RowExpr;
use zonai_engine::dialect::push_quoted;

/// The longest SQL of one expression, in bytes; guards repeat what they guard.
pub(super) const MAX_SQL: usize = 32_768;

/// SQL with the values still to come.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Template {
    sql: String,
    values: Vec<Value>,
    reads: Vec<String>,
}

impl Template {
    /// Renders expressions that must all hold. Columns of the row, of `old.` and of `new.` are those of the given aliases.
    pub(super) fn all<'n>(
        nodes: impl Iterator<Item = (&'n Node, &'static str)>,
        reads: &[String],
    ) -> Self {
        let mut renderer = Renderer {
            row: RowExpr::ROW,
            out: Self::default(),
        };
        for (node, row) in nodes {
            renderer.row = row;
            if !renderer.out.sql.is_empty() {
                renderer.push(" AND ");
            }
            renderer.node(node);
        }
        let mut out = renderer.out;
        if out.sql.is_empty() {
            out.sql.push('1');
        }
        out.reads = reads.to_vec();
        out
    }

    pub(super) fn len(&self) -> usize {
        self.sql.len()
    }

    /// With the values of a caller.
    pub(crate) fn bind(&self, value: &dyn Fn(&Value) -> Bound) -> RowExpr {
        RowExpr {
            sql: self.sql.clone(),
            values: self.values.iter().map(value).collect(),
            reads: self.reads.clone(),
        }
    }
}

/// A value of a caller; NULL where there is none.
pub(crate) fn of_caller(value: &Value, caller: &Caller) -> Bound {
    let user = caller.user();
    match value {
        Value::Literal(literal) => literal.clone(),
        Value::Admin => Bound::Integer(caller.is_admin().into()),
        Value::UserId => bound(user.map(|user| &user.id)),
        Value::UserTable => user.map_or(Bound::Null, |user| Bound::Text(user.table.clone())),
        Value::UserColumn(name) => bound(user.and_then(|user| user.row.get(name))),
        Value::Claim(name) => bound(user.and_then(|user| user.claims.get(name))),
        Value::Input(_) => Bound::Null,
    }
}

/// JSON as SQL compares it: lists and objects as their text.
pub(crate) fn bound(value: Option<&Json>) -> Bound {
    match value {
        None | Some(Json::Null) => Bound::Null,
        Some(Json::Bool(value)) => Bound::Integer((*value).into()),
        Some(Json::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Bound::Integer(whole),
            (None, Some(float)) => Bound::Real(float),
            (None, None) => Bound::Null,
        },
        Some(Json::String(text)) => Bound::Text(text.clone()),
        Some(other) => Bound::Text(other.to_string()),
    }
}

struct Renderer {
    row: &'static str,
    out: Template,
}

impl Renderer {
    fn push(&mut self, text: &str) -> &mut Self {
        self.out.sql.push_str(text);
        self
    }

    fn value(&mut self, value: Value) -> &mut Self {
        self.out.values.push(value);
        self.push("?")
    }

    fn literal(&mut self, value: Bound) -> &mut Self {
        self.value(Value::Literal(value))
    }

    fn list(&mut self, nodes: &[Node], separator: &str) -> &mut Self {
        for (nth, node) in nodes.iter().enumerate() {
            self.push(if nth == 0 { "" } else { separator });
            self.node(node);
        }
        self
    }

    fn node(&mut self, node: &Node) -> &mut Self {
        // What is too long already is refused; guards of guards must not make it longer and longer.
        if self.out.sql.len() > MAX_SQL {
            return self;
        }
        match node {
            Node::Column(of, name) => self.column(*of, name),
            // Not a `?`: SQLite plans better with what it knows.
            Node::Value(Value::Literal(Bound::Null)) => self.push("NULL"),
            Node::Value(value) => self.value(value.clone()),
            Node::Not(inner) => self.push("(NOT ").node(inner).push(")"),
            Node::Minus(inner) => self.push("(- ").node(inner).push(")"),
            Node::All(parts) => self.push("(").list(parts, " AND ").push(")"),
            Node::Any(parts) => self.push("(").list(parts, " OR ").push(")"),
            Node::Binary(operator, left, right) => self
                .push("(")
                .node(left)
                .push(" ")
                .push(operator)
                .push(" ")
                .node(right)
                .push(")"),
            Node::Test(inner, test) => self.push("(").node(inner).push(" ").push(test).push(")"),
            Node::In(left, negated, list) => {
                self.push("(")
                    .node(left)
                    .push(if *negated { " NOT IN (" } else { " IN (" });
                self.list(list, ",").push("))")
            }
            Node::InSelect(left, negated, select) => {
                self.push("(")
                    .node(left)
                    .push(if *negated { " NOT IN (" } else { " IN (" });
                self.select(select).push("))")
            }
            Node::Exists(negated, select) => {
                self.push(if *negated {
                    "(NOT EXISTS ("
                } else {
                    "(EXISTS ("
                });
                self.select(select).push("))")
            }
            Node::Between(negated, parts) => {
                let [middle, low, high] = &**parts;
                self.push("(").node(middle).push(if *negated {
                    " NOT BETWEEN "
                } else {
                    " BETWEEN "
                });
                self.node(low).push(" AND ").node(high).push(")")
            }
            Node::Like {
                negated,
                text,
                pattern,
                escape,
            } => {
                self.push("(")
                    .node(text)
                    .push(if *negated { " NOT LIKE " } else { " LIKE " });
                self.literal(Bound::Text(pattern.clone()));
                if let Some(escape) = escape {
                    self.push(" ESCAPE ")
                        .literal(Bound::Text(escape.to_string()));
                }
                self.push(")")
            }
            Node::Case {
                operand,
                arms,
                other,
            } => self.case(operand.as_deref(), arms, other.as_deref()),
            Node::Call(name, args) => self.call(name, args),
            Node::Json(inner, steps) => {
                self.push("(CASE WHEN json_valid(")
                    .node(inner)
                    .push(") THEN ")
                    .node(inner);
                for (symbol, step) in steps {
                    self.push(" ").push(symbol).push(" ").literal(step.clone());
                }
                self.push(" END)")
            }
        }
    }

    fn column(&mut self, of: Of, name: &str) -> &mut Self {
        match of {
            Of::Row => push_quoted(&mut self.out.sql, self.row),
            Of::Old => push_quoted(&mut self.out.sql, RowExpr::OLD),
            Of::New => push_quoted(&mut self.out.sql, RowExpr::NEW),
            Of::Sub(id) => push_quoted(&mut self.out.sql, &alias(id)),
        }
        self.push(".");
        push_quoted(&mut self.out.sql, name);
        self
    }

    fn case(
        &mut self,
        operand: Option<&Node>,
        arms: &[(Node, Node)],
        other: Option<&Node>,
    ) -> &mut Self {
        self.push("(CASE");
        if let Some(operand) = operand {
            self.push(" ").node(operand);
        }
        for (when, then) in arms {
            self.push(" WHEN ").node(when).push(" THEN ").node(then);
        }
        if let Some(other) = other {
            self.push(" ELSE ").node(other);
        }
        self.push(" END)")
    }

    fn call(&mut self, name: &str, args: &[Node]) -> &mut Self {
        match (name, args) {
            // The smallest whole number has no counterpart, and `abs` of it is an error.
            ("abs", [one]) => {
                self.push("(CASE WHEN ")
                    .node(one)
                    .push(" = -9223372036854775808 THEN 9223372036854775807 ELSE abs(");
                self.node(one).push(") END)")
            }
            ("json_contains", [list, item]) => {
                self.push("(EXISTS (SELECT 1 FROM json_each(CASE WHEN NOT json_valid(")
                    .node(list);
                self.push(") THEN '[]' WHEN json_type(")
                    .node(list)
                    .push(")='array' THEN ")
                    .node(list);
                self.push(" ELSE '[]' END) AS \"_item\" WHERE \"_item\".\"value\" = ")
                    .node(item)
                    .push("))")
            }
            ("json_valid", _) => self.push("json_valid(").list(args, ",").push(")"),
            (json, [first, ..]) if json.starts_with("json_") => {
                self.push("(CASE WHEN json_valid(")
                    .node(first)
                    .push(") THEN ");
                self.push(json).push("(").list(args, ",").push(") END)")
            }
            _ => self.push(name).push("(").list(args, ",").push(")"),
        }
    }

    fn select(&mut self, select: &Select) -> &mut Self {
        self.push("SELECT ");
        match &select.column {
            Some(column) => self.node(column),
            None => self.push("1"),
        };
        self.push(" FROM ");
        push_quoted(&mut self.out.sql, &select.table);
        self.push(" AS ");
        push_quoted(&mut self.out.sql, &alias(select.id));
        if let Some(condition) = &select.condition {
            self.push(" WHERE ").node(condition);
        }
        self
    }
}

fn alias(id: u32) -> String {
    format!("_s{id}")
}
