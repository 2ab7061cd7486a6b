//! A `where` as a tree over columns of one table.
//!
//! Two-valued: every test is true or false, also on NULL, so that `not` is the exact complement and a caller need not know
//! SQL's third truth value. `eq` and the comparisons are false on NULL, `ne`, `not_in` and `not_contains` are true.

use rusqlite::types::Value as Bound;

/// A tree of conditions.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    /// All hold; empty: always.
    All(Vec<Condition>),
    /// One holds; empty: never.
    Any(Vec<Condition>),
    /// Does not hold.
    Not(Box<Condition>),
    /// A column against values.
    Test(Test),
}

/// A column against values.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Test {
    /// The place of the column in its table.
    pub(crate) column: usize,
    pub(crate) operator: Operator,
    /// One value, for `In` and `NotIn` any number, for the null tests none.
    pub(crate) values: Vec<Bound>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Eq,
    Ne,
    Gt,
    Gte,
    Lt,
    Lte,
    In,
    NotIn,
    Contains,
    NotContains,
    StartsWith,
    EndsWith,
    IsNull,
    NotNull,
}

impl Operator {
    pub(crate) const ALL: [(&'static str, Self); 14] = [
        ("eq", Self::Eq),
        ("ne", Self::Ne),
        ("gt", Self::Gt),
        ("gte", Self::Gte),
        ("lt", Self::Lt),
        ("lte", Self::Lte),
        ("in", Self::In),
        ("not_in", Self::NotIn),
        ("contains", Self::Contains),
        ("not_contains", Self::NotContains),
        ("starts_with", Self::StartsWith),
        ("ends_with", Self::EndsWith),
        ("is_null", Self::IsNull),
        ("not_null", Self::NotNull),
    ];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|(known, _)| *known == name)
            .map(|(_, operator)| operator)
    }
}

impl Condition {
    /// What every row meets.
    pub(crate) const fn always() -> Self {
        Self::All(Vec::new())
    }

    /// Whether the condition says `column eq value` and nothing else, so that looking for its row takes no time worth speaking of.
    pub(crate) fn pins(&self, column: usize) -> bool {
        match self {
            Self::All(conditions) => match conditions.as_slice() {
                [only] => only.pins(column),
                _ => false,
            },
            Self::Test(test) => {
                test.column == column
                    && test.operator == Operator::Eq
                    && !matches!(test.values.as_slice(), [Bound::Null])
            }
            Self::Any(_) | Self::Not(_) => false,
        }
    }
}
