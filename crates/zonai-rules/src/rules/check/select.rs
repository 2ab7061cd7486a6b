//! Subqueries: one table of the schema, one condition, nothing more.

use sqlparser::ast::{Query, SelectItem, SetExpr, Spanned, TableFactor};
use sqlparser::tokenizer::Span;

use super::Checker;
use crate::rules::ExprFault;
use crate::rules::names::Inner;
use crate::rules::node::Select;
use zonai_engine::schema::{Schema, Table};

/// The most subqueries.
const MAX_SELECTS: u32 = 8;

impl Checker<'_> {
    /// `SELECT … FROM table [AS name] [WHERE …]` and nothing more.
    pub(super) fn select(&mut self, query: &Query, with_column: bool) -> Result<Select, ExprFault> {
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
    fn table(&self, name: &str, span: Span) -> Result<&'a Table, ExprFault> {
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
