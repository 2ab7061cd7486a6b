//! A checked expression. Only what can be made safely has a form here; SQL is rendered from this and nothing else.

use rusqlite::types::Value as Bound;

/// Whose column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Of {
    /// The row in question; in a change both the row before and the row after.
    Row,
    /// `old.`
    Old,
    /// `new.`
    New,
    /// The table of a subquery, by number.
    Sub(u32),
}

/// A value that is bound.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Literal(Bound),
    /// `@user.id`
    UserId,
    /// `@user.table`
    UserTable,
    /// `@user.<column>`
    UserColumn(String),
    /// `@claims.<name>`
    Claim(String),
    /// `@admin`
    Admin,
    /// `@input.<name>`, in custom operations.
    Input(String),
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Node {
    Column(Of, String),
    Value(Value),
    Not(Box<Node>),
    Minus(Box<Node>),
    All(Vec<Node>),
    Any(Vec<Node>),
    /// Comparisons, arithmetic, `||`, `IS`, `IS NOT`.
    Binary(&'static str, Box<Node>, Box<Node>),
    /// `IS NULL`, `IS NOT TRUE`, …
    Test(Box<Node>, &'static str),
    In(Box<Node>, bool, Vec<Node>),
    InSelect(Box<Node>, bool, Box<Select>),
    Exists(bool, Box<Select>),
    Between(bool, Box<[Node; 3]>),
    Like {
        negated: bool,
        text: Box<Node>,
        pattern: String,
        escape: Option<char>,
    },
    Case {
        operand: Option<Box<Node>>,
        arms: Vec<(Node, Node)>,
        other: Option<Box<Node>>,
    },
    /// A function of the list, or one of our own.
    Call(&'static str, Vec<Node>),
    /// `->` and `->>` in turn.
    Json(Box<Node>, Vec<(&'static str, Bound)>),
}

/// `SELECT column FROM table WHERE condition`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Select {
    pub(crate) table: String,
    pub(crate) id: u32,
    /// `None` in EXISTS.
    pub(crate) column: Option<Node>,
    pub(crate) condition: Option<Node>,
}

/// What of the rows an expression looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Looks {
    pub(crate) row: bool,
    pub(crate) old: bool,
    pub(crate) new: bool,
    pub(crate) tables: bool,
}

impl Looks {
    /// Whether it needs a database at all.
    pub(crate) fn at_rows(self) -> bool {
        self.row || self.old || self.new || self.tables
    }
}

impl Node {
    pub(crate) fn looks(&self) -> Looks {
        let mut looks = Looks::default();
        self.visit(&mut |node| match node {
            Self::Column(Of::Row, _) => looks.row = true,
            Self::Column(Of::Old, _) => looks.old = true,
            Self::Column(Of::New, _) => looks.new = true,
            Self::InSelect(..) | Self::Exists(..) => looks.tables = true,
            _ => {}
        });
        looks
    }

    /// The parts that must all hold.
    pub(crate) fn conjuncts(&self) -> &[Self] {
        match self {
            Self::All(parts) => parts,
            one => std::slice::from_ref(one),
        }
    }

    fn visit(&self, see: &mut impl FnMut(&Self)) {
        see(self);
        match self {
            Self::Column(..) | Self::Value(_) => {}
            Self::Not(inner) | Self::Minus(inner) | Self::Test(inner, _) | Self::Json(inner, _) => {
                inner.visit(see)
            }
            Self::Like { text, .. } => text.visit(see),
            Self::All(parts) | Self::Any(parts) | Self::Call(_, parts) => {
                parts.iter().for_each(|part| part.visit(see))
            }
            Self::Binary(_, left, right) => {
                left.visit(see);
                right.visit(see);
            }
            Self::In(left, _, list) => {
                left.visit(see);
                list.iter().for_each(|item| item.visit(see));
            }
            Self::InSelect(left, _, select) => {
                left.visit(see);
                select.visit(see);
            }
            Self::Exists(_, select) => select.visit(see),
            Self::Between(_, parts) => parts.iter().for_each(|part| part.visit(see)),
            Self::Case {
                operand,
                arms,
                other,
            } => {
                operand.iter().chain(other).for_each(|part| part.visit(see));
                for (when, then) in arms {
                    when.visit(see);
                    then.visit(see);
                }
            }
        }
    }
}

impl Select {
    fn visit(&self, see: &mut impl FnMut(&Node)) {
        self.column
            .iter()
            .chain(&self.condition)
            .for_each(|part| part.visit(see));
    }
}
