//! Expressions that are refused, with the place and what was probably meant; and that nothing of a text gets into SQL.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, json};
use zonai_engine::{Schema, TableOptions};
use zonai_rules::{
    Action, Caller, ExprFault, Rights as _, RuleKey, RuleText, Rules, User, Verdict,
};

fn shop() -> Schema {
    let account = TableOptions {
        auth: true,
        ..TableOptions::default()
    };
    let conn = rusqlite::Connection::open_in_memory().unwrap();
    conn.execute_batch(
        "CREATE TABLE users (id TEXT PRIMARY KEY, email TEXT UNIQUE, password TEXT, role TEXT, verified BOOLEAN);
         CREATE TABLE items (id INTEGER PRIMARY KEY, owner TEXT, title TEXT, stock INTEGER, price REAL,
           public BOOLEAN, data JSON, status TEXT COLLATE NOCASE);
         CREATE TABLE members (id INTEGER PRIMARY KEY, item INTEGER, user TEXT, owner TEXT);
         CREATE VIEW cheap AS SELECT * FROM items WHERE price < 1;",
    )
    .unwrap();
    Schema::read(&conn, &BTreeMap::from([("users".to_owned(), account)])).unwrap()
}

fn add(schema: &Schema, action: Action, text: &str) -> Result<Rules, ExprFault> {
    let mut rules = Rules::default();
    let rule = RuleText::Expression(text.to_owned());
    rules.add(
        schema,
        schema.table("items").unwrap(),
        RuleKey::Action(action),
        &rule,
    )?;
    Ok(rules)
}

#[test]
fn faults_say_where_and_what_was_meant() {
    let shop = shop();
    let cases = [
        ("", "1:1 the expression is empty"),
        (
            "ownr = @user.id",
            "1:1 unknown column `ownr` (did you mean `owner`?)",
        ),
        (
            "stock > 1 and\n  titel = 'x'",
            "2:3 unknown column `titel` (did you mean `title`?)",
        ),
        (
            "items.ownr = 'a'",
            "1:7 unknown column `ownr` (did you mean `owner`?)",
        ),
        (
            "item.owner = 'a'",
            "1:1 `item` is no table of this expression (did you mean `items`?)",
        ),
        (
            "owner = \"zoe\"",
            "1:9 unknown column `zoe` (a text stands in single quotes: 'zoe')",
        ),
        (
            "owner = @usr.id",
            "1:9 there is no `@usr` (did you mean `@user`?)",
        ),
        (
            "owner = @user.emial",
            "1:15 unknown column `emial` (did you mean `email`?)",
        ),
        (
            "@user.password = title",
            "1:7 `password` is secret and cannot be used here",
        ),
        (
            "owner = @user",
            "1:9 `@user` has parts: `@user.id`, `@user.table`, `@user.<column>`",
        ),
        (
            "stock = @input.amount",
            "1:9 `@input` is only there in custom operations",
        ),
        (
            "old.owner = 'a'",
            "1:1 `old.` is only there in `update` and in rules of custom operations (a column alone is that of the row)",
        ),
        ("title", "1:1 `title` holds a text and is no condition"),
        ("public and 'yes'", "1:12 `'yes'` is no condition"),
        ("stock + 1", "1:1 `stock + 1` is no condition"),
        (
            "owner = @user.id; delete from items",
            "1:17 unexpected `;`: one expression is expected",
        ),
        ("owner = 'a' -- all", "1:13 SQL comments have no place here"),
        (
            "owner = ?",
            "1:9 parameters have no place here (values of the caller are `@user.id`, `@user.<column>`, `@claims.<name>`, `@admin`)",
        ),
        ("owner = 'a", "1:9 unterminated string literal"),
        ("owner =", "1:8 expected an expression, found the end"),
        (
            "owner = 'a' 'b'",
            "1:13 unexpected `'b'` after the expression",
        ),
        (
            "load_extension('x')",
            "1:1 the function `load_extension` cannot be used here (there are abs, coalesce, ifnull, iif, instr, json_array_length, json_contains, json_extract, json_type, json_valid, length, lower, ltrim, max, min, nullif, round, rtrim, upper, substr, trim)",
        ),
        (
            "lowr(owner) = 'a'",
            "1:1 the function `lowr` cannot be used here (did you mean `lower`?)",
        ),
        ("max(stock) > 1", "1:1 `max` takes 2 to 16 arguments, not 1"),
        ("count(*) > 1", "1:1 `count` takes plain arguments only"),
        (
            "owner like @user.id",
            "1:12 a pattern of `like` is a text in quotes (`%` and `_` in a value would be wildcards; `instr(a, b) = 1` asks whether a begins with b)",
        ),
        (
            "owner glob 'a*'",
            "1:1 the operator `GLOB` cannot be used here",
        ),
        ("stock = 1 = public", "1:1 put `stock = 1` in parentheses"),
        (
            "title || stock + 1 = 'a'",
            "1:1 put `title || stock` in parentheses",
        ),
        (
            "json_extract(data, 'name') = 1",
            "1:20 this is no path into JSON; one looks like '$.name' or '$.list[0]'",
        ),
        // Behind a member that may be missing: SQLite says so only where it is there.
        (
            "json_extract(data, '$.a[1}') = 1",
            "1:20 this is no path into JSON; one looks like '$.name' or '$.list[0]'",
        ),
        (
            "data -> '' = 1",
            "1:9 `->` takes the name of a member or the number of an item",
        ),
        (
            "data ->> '[x]' = 1",
            "1:10 `->>` takes the name of a member or the number of an item",
        ),
        (
            "(select owner from members) = 'a'",
            "1:2 a SELECT stands in `exists (…)` or `in (…)` only",
        ),
        (
            "exists (select 1 from memers)",
            "1:23 there is no table `memers` (did you mean `members`?)",
        ),
        (
            "exists (select 1 from _jwt)",
            "1:23 there is no table `_jwt`",
        ),
        (
            "exists (select 1 from sqlite_master)",
            "1:23 there is no table `sqlite_master`",
        ),
        (
            "exists (select 1 from cheap)",
            "1:23 `cheap` is a view; a rule reads tables, so that it is known when its answer may change",
        ),
        (
            "exists (select 1 from members where owner = @user.id)",
            "1:37 `owner` is a column of `members` and of `items` (write `members.owner` or `items.owner`)",
        ),
        (
            "exists (select 1 from members order by id)",
            "1:9 a subquery is `select … from <table> [as <name>] [where …]`",
        ),
        (
            "exists (select 1 from members union select 1 from users)",
            "1:9 a subquery is `select … from <table> [as <name>] [where …]`",
        ),
        (
            "exists (select 1 from users where password = 'x')",
            "1:35 `password` is secret and cannot be used here",
        ),
        ("1e999 > stock", "1:1 `1e999` is out of range"),
        (
            "cast(stock as text) = '1'",
            "1:6 `CAST(stock AS TEXT)` cannot be used here",
        ),
        (
            "owner collate nocase = 'a'",
            "1:1 `owner COLLATE nocase` cannot be used here",
        ),
        ("rowid = 1", "1:1 unknown column `rowid`"),
        (
            "_row.owner = 'a'",
            "1:1 `_row` is no table of this expression",
        ),
    ];
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let told = match add(&shop, Action::View, text) {
            Ok(_) => "passes".to_owned(),
            Err(fault) => {
                let help = fault
                    .help
                    .map_or_else(String::new, |help| format!(" ({help})"));
                format!("{}:{} {}{help}", fault.line, fault.column, fault.message)
            }
        };
        if told != expected {
            wrong.push(format!("{text}\n  expected {expected}\n  found    {told}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn sizes_are_bounded() {
    let shop = shop();
    let cases = [
        format!("{}stock > 1{}", "(".repeat(100), ")".repeat(100)),
        format!("stock > 1{}", " and stock > 1".repeat(500)),
        format!("{}stock{} > 1", "abs(".repeat(30), ")".repeat(30)),
        format!(
            "stock > 1{}",
            " and exists (select 1 from members)".repeat(9)
        ),
        format!("not {} public", "not ".repeat(200)),
        format!("stock{} > 1", "+1".repeat(2_000)),
        format!("1{}", "=1".repeat(2_000)),
        format!("(1{}) + 1", " and 1".repeat(650)),
        format!("stock{}", " is null".repeat(500)),
        format!("{}1", "case when 1 then ".repeat(200)),
    ];
    for text in cases {
        assert!(add(&shop, Action::View, &text).is_err(), "{text}");
    }
    let long = format!("stock > 1{}", " or stock > 1".repeat(150));
    let rules = add(&shop, Action::List, &long).unwrap();
    let items = shop.table("items").unwrap();
    let Verdict::Rows(rule) = rules.verdict(items, Action::List, &Caller::Anonymous) else {
        panic!("expected a rule on rows");
    };
    assert_eq!(rule.values.len(), 151);
}

/// What a file says and what a caller is are values or nothing: none of it is in the SQL.
#[test]
fn texts_and_values_are_bound() {
    let shop = shop();
    let evil = "'; DROP TABLE items; --";
    let text = "owner = @user.id and title <> '''; DROP TABLE items; --' and status in ('DROP', @claims.x, @user.role)
        and exists (select 1 from members m where m.item = items.id and m.user = 'DROP')";
    let rules = add(&shop, Action::View, text).unwrap();
    let caller = Caller::User(Arc::new(User {
        id: json!(evil),
        table: evil.to_owned(),
        claims: Map::from_iter([("x".to_owned(), json!(evil))]),
        row: Map::from_iter([("role".to_owned(), json!({"DROP": evil}))]),
    }));
    let items = shop.table("items").unwrap();
    let Verdict::Rows(rule) = rules.verdict(items, Action::View, &caller) else {
        panic!("expected a rule on rows");
    };
    assert!(!rule.sql.contains("DROP"), "{}", rule.sql);
    assert!(!rule.sql.contains('\''), "{}", rule.sql);
    assert_eq!(rule.sql.matches('?').count(), rule.values.len());
    assert_eq!(rule.reads, ["members"]);
}
