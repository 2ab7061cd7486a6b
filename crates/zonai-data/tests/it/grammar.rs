//! The where grammar, case by case: what is found, and what is refused with which words.

use serde_json::{Value, json};

use crate::support::{Data, bad, open};

async fn people() -> Data {
    let data = open(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, name TEXT, age INTEGER, score REAL, active BOOLEAN,
            tags JSON, photo BLOB, password_hash TEXT);",
    );
    data.sql(
        "INSERT INTO people VALUES
            (1, 'Ann', 30, 1.5, 1, '[\"a\",\"b\"]', x'00ff', 's'), (2, 'ann', 40, NULL, 0, '[]', NULL, 's'),
            (3, '50%', NULL, -2, NULL, '[1,{\"k\":2}]', x'01', 's'), (4, 'a_b', 0, 0, 1, NULL, NULL, 's'),
            (5, NULL, 50, 9e9, 0, '\"text\"', NULL, 's'), (6, 'Zoë', 30, 2.25, 1, '{\"k\":2}', NULL, 's');",
    )
    .await;
    data
}

#[tokio::test]
async fn every_operator_finds_what_it_says() {
    let data = people().await;
    let cases: Vec<(Value, &[i64])> = vec![
        (json!({}), &[1, 2, 3, 4, 5, 6]),
        (json!({"name": {"eq": "Ann"}}), &[1]),
        (
            json!({"type": "eq", "column": "name", "value": "Ann"}),
            &[1],
        ),
        (json!({"name": {"ne": "Ann"}}), &[2, 3, 4, 5, 6]),
        (json!({"age": {"gt": 30}}), &[2, 5]),
        (json!({"age": {"gte": 30}}), &[1, 2, 5, 6]),
        (json!({"age": {"lt": 30}}), &[4]),
        (json!({"age": {"lte": 30}}), &[1, 4, 6]),
        (
            json!({"age": {"gte": 30, "lt": 50}, "active": {"eq": true}}),
            &[1, 6],
        ),
        (json!({"score": {"eq": 1.5}}), &[1]),
        (json!({"age": {"eq": "30"}}), &[1, 6]),
        (json!({"name": {"in": ["Ann", "ann", "nobody"]}}), &[1, 2]),
        (
            json!({"type": "in", "column": "id", "values": [3, 4]}),
            &[3, 4],
        ),
        (json!({"name": {"in": []}}), &[]),
        (json!({"name": {"not_in": []}}), &[1, 2, 3, 4, 5, 6]),
        (json!({"name": {"in": [null, "Ann"]}}), &[1, 5]),
        (json!({"name": {"not_in": ["Ann"]}}), &[2, 3, 4, 5, 6]),
        (json!({"name": {"not_in": ["Ann", null]}}), &[2, 3, 4, 6]),
        (json!({"name": {"contains": "n"}}), &[1, 2]),
        (json!({"name": {"contains": "%"}}), &[3]),
        (json!({"name": {"contains": "_"}}), &[4]),
        (json!({"name": {"contains": ""}}), &[1, 2, 3, 4, 6]),
        (json!({"name": {"not_contains": "n"}}), &[3, 4, 5, 6]),
        (json!({"name": {"starts_with": "a"}}), &[2, 4]),
        (json!({"name": {"starts_with": "_"}}), &[]),
        (json!({"name": {"ends_with": "ë"}}), &[6]),
        (json!({"name": {"ends_with": "%"}}), &[3]),
        (json!({"name": {"ends_with": ""}}), &[1, 2, 3, 4, 6]),
        (json!({"name": {"is_null": true}}), &[5]),
        (json!({"name": {"is_null": false}}), &[1, 2, 3, 4, 6]),
        (
            json!({"type": "not_null", "column": "age"}),
            &[1, 2, 4, 5, 6],
        ),
        (json!({"age": {"eq": null}}), &[3]),
        (json!({"age": {"ne": null}}), &[1, 2, 4, 5, 6]),
        (json!({"age": {"gt": null}}), &[]),
        (json!({"active": {"eq": false}}), &[2, 5]),
        (json!({"photo": {"eq": "AP8="}}), &[1]),
        (json!({"tags": {"contains": "a"}}), &[1]),
        (json!({"tags": {"contains": 1}}), &[3]),
        (json!({"tags": {"contains": "ex"}}), &[5]),
        (json!({"tags": {"not_contains": "a"}}), &[2, 3, 4, 5, 6]),
        (json!({"tags": {"eq": []}}), &[2]),
        (json!({"tags": {"eq": {"k": 2}}}), &[6]),
        (json!({"tags": {"eq": "text"}}), &[5]),
    ];
    for (condition, expected) in cases {
        check(&data, condition, expected).await;
    }
}

#[tokio::test]
async fn groups_nest_and_not_is_the_complement() {
    let data = people().await;
    let ann = json!({"name": {"eq": "Ann"}});
    let cases: Vec<(Value, &[i64])> = vec![
        (json!({"type": "or", "conditions": []}), &[]),
        (
            json!({"type": "and", "conditions": []}),
            &[1, 2, 3, 4, 5, 6],
        ),
        (
            json!({"type": "not", "conditions": [ann]}),
            &[2, 3, 4, 5, 6],
        ),
        (
            json!({"type": "not", "condition": {"age": {"gt": 30}}}),
            &[1, 3, 4, 6],
        ),
        (
            json!({"type": "not", "conditions": [{"type": "or", "conditions": []}]}),
            &[1, 2, 3, 4, 5, 6],
        ),
        (
            json!({"type": "or", "conditions": [ann, {"age": {"is_null": true}}]}),
            &[1, 3],
        ),
        (
            json!({"or": [ann, {"id": {"eq": 6}}], "active": {"eq": true}}),
            &[1, 6],
        ),
        (json!({"not": {"name": {"contains": "n"}}}), &[3, 4, 5, 6]),
        (
            json!({"type": "and", "conditions": [
                {"type": "not", "conditions": [{"type": "eq", "column": "age", "value": 30}]},
                {"type": "not_in", "column": "id", "values": [2]},
            ]}),
            &[3, 4, 5],
        ),
    ];
    for (condition, expected) in cases {
        check(&data, condition, expected).await;
    }
}

async fn check(data: &Data, condition: Value, expected: &[i64]) {
    let query = json!({"table": "people", "where": condition, "order_by": [{"column": "id"}]});
    let found = data.column("id", query).await;
    assert_eq!(
        found,
        expected.iter().map(|id| json!(id)).collect::<Vec<_>>(),
        "{condition}"
    );
}

#[tokio::test]
async fn faults_say_where_and_what_was_meant() {
    let data = people().await;
    let cases = [
        (json!([]), "where: expected an object, found a list"),
        (
            json!({"nmae": {"eq": 1}}),
            "where.nmae: unknown column `nmae`; did you mean `name`?",
        ),
        (
            json!({"name": {"eqq": 1}}),
            "where.name.eqq: unknown operator `eqq`; did you mean `eq`?",
        ),
        (
            json!({"name": "Ann"}),
            "where.name: expected an object of operators such as {\"eq\": …}, found a text",
        ),
        (
            json!({"type": "eq", "column": "name"}),
            "where.value: is missing",
        ),
        (
            json!({"type": "eq", "value": 1}),
            "where.column: is missing",
        ),
        (
            json!({"type": "eq", "column": 3, "value": 1}),
            "where.column: expected a text, found a number",
        ),
        (
            json!({"type": "eq", "column": "name", "value": 1, "x": 2}),
            "where: unknown key `x`",
        ),
        (
            json!({"type": "xor", "conditions": []}),
            "where.type: unknown operator `xor`",
        ),
        (
            json!({"type": "in", "column": "id", "values": 3}),
            "where.values: expected a list, found a number",
        ),
        (
            json!({"name": {"contains": 3}}),
            "where.name.contains: expected a text, found a number",
        ),
        (
            json!({"name": {"is_null": 1}}),
            "where.name.is_null: expected true or false, found a number",
        ),
        (
            json!({"age": {"eq": [1]}}),
            "where.age.eq: expected a text, a number or true or false, found a list",
        ),
        (
            json!({"photo": {"contains": "a"}}),
            "where.photo.contains: `photo` holds bytes, not text",
        ),
        (
            json!({"type": "or", "conditions": [{}, {"type": "and", "conditions": [{"x": {}}]}]}),
            "where.conditions[1].conditions[0].x: unknown column `x`",
        ),
    ];
    for (condition, expected) in cases {
        let query = json!({"table": "people", "where": condition});
        assert_eq!(bad(data.list(query).await), expected);
    }
}

#[tokio::test]
async fn size_is_bounded_and_the_bounds_can_be_reached() {
    let data = people().await;
    let nested = |levels: usize| {
        (1..levels).fold(
            json!({"id": {"gt": 0}}),
            |inner, _| json!({"type": "not", "conditions": [inner]}),
        )
    };
    let wide = |count: i64| {
        let conditions: Vec<_> = (0..count).map(|id| json!({"id": {"eq": id}})).collect();
        json!({"type": "or", "conditions": conditions})
    };
    let ids = |count: usize| json!({"id": {"in": vec![1; count]}});
    let ask = |condition: Value| data.count(json!({"table": "people", "where": condition}));
    assert_eq!(ask(nested(32)).await, Ok(json!(0)));
    assert_eq!(bad(ask(nested(33)).await), "where: more than 32 deep");
    assert_eq!(ask(wide(1_000)).await, Ok(json!(6)));
    assert_eq!(
        bad(ask(wide(1_001)).await),
        "where: more than 1000 conditions"
    );
    assert_eq!(ask(ids(10_000)).await, Ok(json!(1)));
    assert_eq!(bad(ask(ids(10_001)).await), "where: more than 10000 values");
}

#[tokio::test]
async fn names_that_could_be_taken_for_grammar_are_columns() {
    let data =
        open("CREATE TABLE odd (\"type\" TEXT, \"and\" TEXT, \"a\"\"b\" TEXT, \"select\" TEXT);");
    data.sql("INSERT INTO odd VALUES ('t', 'x', 'q', 's')")
        .await;
    for condition in [
        json!({"type": {"eq": "t"}}),
        json!({"type": "eq", "column": "type", "value": "t"}),
        json!({"and": {"eq": "x"}}),
        json!({"a\"b": {"eq": "q"}, "select": {"eq": "s"}}),
    ] {
        assert_eq!(
            data.count(json!({"table": "odd", "where": condition}))
                .await,
            Ok(json!(1)),
            "{condition}"
        );
    }
}

#[tokio::test]
async fn sql_in_values_and_names_stays_text() {
    let data = people().await;
    let texts = [
        "'; DROP TABLE people; --",
        "\" OR 1=1 --",
        "x' OR 'a'='a",
        "?1",
        "\\",
        "%",
        "1) OR (1",
    ];
    for text in texts {
        let by = |condition: Value| data.list(json!({"table": "people", "where": condition}));
        assert_eq!(
            by(json!({"name": {"eq": text}})).await.unwrap()["total"],
            0,
            "{text}"
        );
        assert_eq!(
            by(json!({"name": {"starts_with": text}})).await.unwrap()["total"],
            0,
            "{text}"
        );
        bad(by(json!({text: {"eq": 1}})).await);
        bad(data
            .list(json!({"table": "people", "order_by": [{"column": text}]}))
            .await);
        bad(data
            .list(json!({"table": "people", "order_by": [{"column": "id", "direction": text}]}))
            .await);
        bad(data
            .list(json!({"table": "people", "group_by": [text]}))
            .await);
        bad(data
            .list(json!({"table": "people", "expand": [text]}))
            .await);
        bad(data
            .create(json!({"table": "people", "object": {text: 1}}))
            .await);
        let made = data
            .create(json!({"table": "people", "object": {"name": text}}))
            .await
            .unwrap();
        assert_eq!(made["name"], text);
        let gone = json!({"table": "people", "where": {"name": {"eq": text}}});
        assert_eq!(data.delete_many(gone).await, Ok(1), "{text}");
    }
    assert_eq!(data.count(json!({"table": "people"})).await, Ok(json!(6)));
}
