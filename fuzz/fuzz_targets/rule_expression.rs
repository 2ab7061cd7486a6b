//! An expression of a rules file: what is taken is one expression that SQLite prepares, that reads nothing secret, that
//! no row makes fail, and that says without a row what it says with one.
//!
//! The first character of an input chooses the kind of rule and the caller, from `0` to `5`.
#![no_main]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use libfuzzer_sys::{Corpus, fuzz_target};
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, params_from_iter};
use serde_json::{Map, json};
use zonai_data::{
    Action, Caller, ExprFault, Rights, RowExpr, RuleKey, RuleText, Rules, Schema, TableOptions,
    User, Verdict,
};
use zonai_fuzz::data::{SCHEMA, hides_secret};

const MORE: &str = r#"
CREATE TABLE users (id TEXT PRIMARY KEY, email TEXT, age INTEGER, password TEXT);
INSERT INTO users VALUES ('u1', 'a@example.org', 40, 'hash'), ('u2', NULL, NULL, NULL);
CREATE TABLE member (id INTEGER PRIMARY KEY, "user id" TEXT, t INTEGER, role TEXT);
INSERT INTO member VALUES (1, 'u1', 2, 'owner'), (2, 'u1', 3, NULL), (3, 'u2', 2, 'reader');
CREATE VIEW shown AS SELECT id, s FROM t;
"#;

struct World {
    conn: Connection,
    schema: Schema,
}

thread_local! {
    static WORLD: RefCell<World> = RefCell::new(World::new());
}

fuzz_target!(|text: &[u8]| -> Corpus {
    let Some((&choice, text)) = text.split_first() else {
        return Corpus::Reject;
    };
    let Ok(text) = std::str::from_utf8(text) else {
        return Corpus::Reject;
    };
    WORLD.with_borrow(|world| {
        let caller = caller(choice % 3);
        if choice / 3 % 2 == 0 {
            world.on_rows(text, &caller);
        } else {
            world.on_changes(text, &caller);
        }
    });
    Corpus::Keep
});

impl World {
    fn new() -> Self {
        let mut conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(SCHEMA).unwrap();
        conn.execute_batch(MORE).unwrap();
        let accounts = TableOptions {
            auth: true,
            ..TableOptions::default()
        };
        let options = BTreeMap::from([
            ("t".to_owned(), hides_secret()),
            ("users".to_owned(), accounts),
        ]);
        let schema = Schema::read(&conn, &options).unwrap();
        conn.authorizer(Some(only_reads)).unwrap();
        Self { conn, schema }
    }

    /// A rule on rows.
    fn on_rows(&self, text: &str, caller: &Caller) {
        let Ok(verdict) = self.verdict(text, Action::List, caller) else {
            return;
        };
        let said = match &verdict {
            Verdict::Allow => vec![true; self.ids()],
            Verdict::Deny => vec![false; self.ids()],
            Verdict::Rows(rule) => self.asked(rule, &["_row"]),
            Verdict::Change { .. } => panic!("a change for a list"),
        };
        assert!(said.len() == self.ids(), "not one answer for each row");
        // The same, so wrapped that nothing can be said before there is a row.
        let wrapped = format!("case when t.id is null then false else ({text}) end");
        match self.verdict(&wrapped, Action::List, caller) {
            Ok(Verdict::Rows(rule)) => assert_eq!(said, self.asked(&rule, &["_row"]), "{text}"),
            Ok(other) => panic!("{other:?} of {wrapped}"),
            Err(fault) => assert!(too_large(&fault), "{fault:?} of {wrapped}"),
        }
    }

    /// A rule on a change.
    fn on_changes(&self, text: &str, caller: &Caller) {
        match self.verdict(text, Action::Update, caller) {
            Ok(Verdict::Change { before, after }) => {
                let old = self.asked(&before, &["_old"]);
                let both = self.asked(&after, &["_old", "_new"]);
                assert!(old.len() == self.ids() && both.len() == self.ids().pow(2));
            }
            Ok(Verdict::Rows(rule)) => panic!("{rule:?} for an update"),
            Ok(Verdict::Allow | Verdict::Deny) | Err(_) => {}
        }
    }

    fn verdict(&self, text: &str, action: Action, caller: &Caller) -> Result<Verdict, ExprFault> {
        let table = self.schema.table("t").unwrap();
        let mut rules = Rules::default();
        let rule = RuleText::Expression(text.to_owned());
        match rules.add(&self.schema, table, RuleKey::Action(action), &rule) {
            Ok(()) => Ok(rules.verdict(table, action, caller)),
            Err(fault) => {
                inside(&fault, text);
                Err(fault)
            }
        }
    }

    /// What SQLite says of each row, or of each pair of rows.
    fn asked(&self, rule: &RowExpr, aliases: &[&str]) -> Vec<bool> {
        is_one_expression(&rule.sql);
        let from: Vec<String> = aliases
            .iter()
            .map(|alias| format!("t AS {alias}"))
            .collect();
        let sql = format!("SELECT ({}) IS TRUE FROM {}", rule.sql, from.join(", "));
        let mut statement = self
            .conn
            .prepare(&sql)
            .unwrap_or_else(|error| panic!("{error}: {sql}"));
        assert!(statement.readonly());
        assert_eq!(statement.parameter_count(), rule.values.len(), "{sql}");
        let rows = statement.query_map(params_from_iter(&rule.values), |row| row.get(0));
        rows.unwrap()
            .collect::<Result<_, _>>()
            .unwrap_or_else(|error| panic!("{error}: {sql} with {:?}", rule.values))
    }

    fn ids(&self) -> usize {
        5
    }
}

fn caller(which: u8) -> Caller {
    let user = || {
        Arc::new(User {
            id: json!("u1"),
            table: "users".to_owned(),
            claims: Map::from_iter([
                ("role".to_owned(), json!("owner")),
                ("level".to_owned(), json!(2)),
            ]),
            row: Map::from_iter([
                ("email".to_owned(), json!("a@example.org")),
                ("age".to_owned(), json!(40)),
            ]),
        })
    };
    match which {
        0 => Caller::Anonymous,
        1 => Caller::User(user()),
        _ => Caller::Admin(Some(user())),
    }
}

/// Reads of what may be seen, and functions that compute; everything else is no expression of ours.
fn only_reads(asked: AuthContext<'_>) -> Authorization {
    let fine = match asked.action {
        AuthAction::Select => true,
        AuthAction::Read {
            table_name,
            column_name,
        } => {
            ["t", "users", "member", "json_each"].contains(&table_name)
                && !["secret", "password"].contains(&column_name)
        }
        AuthAction::Function { function_name } => FUNCTIONS.contains(&function_name),
        _ => false,
    };
    if fine {
        Authorization::Allow
    } else {
        Authorization::Deny
    }
}

/// What `docs/rules.md` lists, and what those are made of.
const FUNCTIONS: [&str; 24] = [
    "abs",
    "coalesce",
    "ifnull",
    "iif",
    "instr",
    "json_array_length",
    "json_extract",
    "json_type",
    "json_valid",
    "length",
    "like",
    "lower",
    "ltrim",
    "max",
    "min",
    "nullif",
    "round",
    "rtrim",
    "substr",
    "trim",
    "upper",
    "->",
    "->>",
    "json_each",
];

/// Outside of quoted names: no comment, no end of a statement, no literal but our own, and every bracket closed where it
/// was opened.
fn is_one_expression(sql: &str) {
    let (mut open, mut rest) = (0_usize, sql);
    while let Some(first) = rest.chars().next() {
        let mut length = first.len_utf8();
        match first {
            '"' | '\'' => {
                let end = rest[1..].find(first);
                length = end.unwrap_or_else(|| panic!("left open: {sql}")) + 2;
                let text = &rest[1..length - 1];
                let ours = ["$", "[]", "array"].contains(&text);
                assert!(first == '"' || ours, "{text}: {sql}");
            }
            '(' => open += 1,
            ')' => {
                open = open
                    .checked_sub(1)
                    .unwrap_or_else(|| panic!("closed too early: {sql}"))
            }
            ';' | '`' | '[' | '\0' => panic!("{first}: {sql}"),
            '-' | '/' if rest.starts_with("--") || rest.starts_with("/*") => {
                panic!("a comment: {sql}")
            }
            _ => {}
        }
        rest = &rest[length..];
    }
    assert_eq!(open, 0, "left open: {sql}");
}

/// A fault has a place in the text, or right behind it.
fn inside(fault: &ExprFault, text: &str) {
    assert!(fault.line >= 1 && fault.column >= 1, "{fault:?}");
    let line = text.split('\n').nth(fault.line as usize - 1);
    let characters = line.map(|line| line.chars().count());
    assert!(
        characters.is_some_and(|characters| fault.column as usize <= characters + 1),
        "{fault:?} is not in {text:?}"
    );
}

/// What was just small enough is too large with something around it.
fn too_large(fault: &ExprFault) -> bool {
    ["too deep", "longer than", "too large", "parts"]
        .iter()
        .any(|why| fault.message.contains(why))
}
