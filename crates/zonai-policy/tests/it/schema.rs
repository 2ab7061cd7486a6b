//! The JSON schema in the repository and the reader agree, document by document.

use boon::{Compiler, Schemas};
use serde_json::Value as Json;
use zonai_policy::yaml::{self, Node, Value};
use zonai_policy::{Faults, Source};

use crate::support::faults;

struct Schema {
    schemas: Schemas,
    index: boon::SchemaIndex,
}

impl Schema {
    fn load() -> Self {
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../schemas/rate-limit.schema.json"
        );
        let schema: Json = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        let mut schemas = Schemas::new();
        let mut compiler = Compiler::new();
        compiler
            .add_resource("file:///rate-limit.schema.json", schema)
            .unwrap();
        let index = compiler
            .compile("file:///rate-limit.schema.json", &mut schemas)
            .unwrap();
        Self { schemas, index }
    }

    fn takes(&self, text: &str) -> bool {
        self.schemas
            .validate(&json(&document(text)), self.index)
            .is_ok()
    }
}

fn document(text: &str) -> Node {
    let source = Source::new("s.yaml", text);
    let mut faults = Faults::new(&source);
    let node = yaml::parse(&mut faults).unwrap();
    assert!(faults.is_empty(), "{text}");
    node
}

/// The document as an editor sees it.
fn json(node: &Node) -> Json {
    match &node.value {
        Value::Seq(items) => items.iter().map(json).collect(),
        Value::Map(map) => Json::Object(
            map.entries
                .iter()
                .map(|entry| (entry.key.clone(), json(&entry.value)))
                .collect(),
        ),
        Value::Scalar { text, plain: true } if node.as_str().is_none() => {
            if node.is_null() {
                Json::Null
            } else if let Some(flag) = node.as_bool() {
                flag.into()
            } else {
                serde_json::from_str(text).unwrap()
            }
        }
        Value::Scalar { text, .. } => text.as_str().into(),
    }
}

/// Documents on which both say yes.
const GOOD: &[&str] = &[
    "{table: tasks, limits: {}}",
    "{table: tasks, limits: null}",
    "{table: tasks, limits: {}, mode: observe}",
    "{table: users, auth: {}}",
    "{table: users, limits: {get: none}, auth: {signIn: 1/1s}}",
    "{table: tasks, limits: {get: 1/1ms, list: 2/366d, count: 0/1h, create: 'none', update: [1/1s], delete: 1/8784h}}",
    "{table: tasks, limits: {get: {maxRequests: 4294967295, window: 31622400000ms}}}",
    "{table: tasks, limits: {get: {max_requests: 0, window: 1d, mode: enforce}}}",
    "{table: tasks, limits: {get: {limit: [1/1s, {maxRequests: 2, window: 1m}], mode: observe}}}",
    "{table: tasks, limits: {get: {limit: {maxRequests: 2, window: 1m}}}}",
    "{table: tasks, limits: {get: {limit: none}}}",
    "{table: tasks, limits: {get: {mode: observe}}}",
    "{table: tasks, limits: {custom: 1/1m}}",
    "{table: tasks, limits: {custom: [1/1m, 2/1h]}}",
    "{table: tasks, limits: {custom: none}}",
    "{table: tasks, limits: {custom: {}}}",
    "{table: tasks, limits: {custom: {fill: 1/1m, archive: none, default: {mode: observe}}}}",
    "{table: users, auth: {failedSignIn: none, sendOtp: 1/1m, sendMagicLink: 1/1m, sendResetPassword: 1/1m, sendVerifyEmail: 1/1m, authenticate: 1/1m, signUp: 1/1m}}",
    "{table: users, auth: {failedSignIn: {limit: 1/1m, mode: enforce}}}",
    "{table: tasks, limits: {get: [1/1s, 1/2s, 1/3s, 1/4s, 1/5s, 1/6s, 1/7s, 1/8s]}}",
];

/// Documents on which both say no.
const BAD: &[&str] = &[
    "{limits: {}}",
    "{table: tasks}",
    "null",
    "[]",
    "{table: 5, limits: {}}",
    "{table: tasks, limits: {}, tabel: x}",
    "{table: tasks, limits: {}, mode: watch}",
    "{table: tasks, limits: []}",
    "{table: tasks, limits: 10/1m}",
    "{table: tasks, limits: {signIn: 1/1m}}",
    "{table: users, auth: {create: 1/1m}}",
    "{table: users, auth: {confirm: 1/1m}}",
    "{table: tasks, limits: {get: 100}}",
    "{table: tasks, limits: {get: 100/min}}",
    "{table: tasks, limits: {get: null}}",
    "{table: tasks, limits: {get: false}}",
    "{table: tasks, limits: {get: []}}",
    "{table: tasks, limits: {get: [none]}}",
    "{table: tasks, limits: {get: [[1/1m]]}}",
    "{table: tasks, limits: {get: [1/1s, 1/2s, 1/3s, 1/4s, 1/5s, 1/6s, 1/7s, 1/8s, 1/9s]}}",
    "{table: tasks, limits: {get: {}}}",
    "{table: tasks, limits: {get: {maxRequests: 1}}}",
    "{table: tasks, limits: {get: {window: 1m}}}",
    "{table: tasks, limits: {get: {maxRequests: 1, windowMS: 1000}}}",
    "{table: tasks, limits: {get: {maxRequests: 1, window: 1000}}}",
    "{table: tasks, limits: {get: {maxRequests: -1, window: 1m}}}",
    "{table: tasks, limits: {get: {maxRequests: 1.5, window: 1m}}}",
    "{table: tasks, limits: {get: {maxRequests: 4294967296, window: 1m}}}",
    "{table: tasks, limits: {get: {maxRequests: '1', window: 1m}}}",
    "{table: tasks, limits: {get: {maxRequests: 1, max_requests: 1, window: 1m}}}",
    "{table: tasks, limits: {get: {limit: 1/1m, window: 1m}}}",
    "{table: tasks, limits: {get: {limit: none, mode: observe}}}",
    "{table: tasks, limits: {get: {limit: {limit: 1/1m}}}}",
    "{table: tasks, limits: {get: {limit: {maxRequests: 1, window: 1m, mode: observe}}}}",
    "{table: tasks, limits: {get: [{maxRequests: 1, window: 1m, mode: observe}]}}",
    "{table: tasks, limits: {custom: {fill: {mode: observe}}}}",
    "{table: tasks, limits: {custom: {maxRequests: 1, window: 1m}}}",
    "{table: users, auth: {failedSignIn: {mode: observe}}}",
    "{table: users, auth: {failedSignIn: {limit: 1/1m, mode: observe}}}",
    "{table: users, auth: {failedSignIn: {maxRequests: 1, window: 1m, mode: observe}}}",
];

/// Documents that only the reader can refuse: a schema knows no tables and compares no windows.
const BEYOND: &[&str] = &[
    "{table: taks, limits: {}}",
    "{table: tasks, auth: {}}",
    "{table: tasks, limits: {custom: {fil: 1/1m}}}",
    "{table: tasks, limits: {get: [1/1m, 2/60s]}}",
];

#[test]
fn schema_and_reader_agree_on_documents() {
    let schema = Schema::load();
    for text in GOOD {
        assert_eq!(faults(text), [""; 0], "{text}");
        assert!(schema.takes(text), "{text}");
    }
    for text in BAD {
        assert!(!faults(text).is_empty(), "{text}");
        assert!(!schema.takes(text), "{text}");
    }
    for text in BEYOND {
        assert_eq!(faults(text).len(), 1, "{text}");
        assert!(schema.takes(text), "{text}");
    }
}

#[test]
fn schema_and_reader_agree_on_the_text_of_limits_at_every_border() {
    let schema = Schema::load();
    let mut tried = 0;
    let numbers = [
        0_u64,
        1,
        9,
        10,
        365,
        366,
        367,
        8_783,
        8_784,
        8_785,
        527_040,
        527_041,
        31_622_400,
        31_622_401,
        31_622_400_000,
        31_622_400_001,
        4_294_967_295,
        4_294_967_296,
        99_999_999_999,
        u64::MAX,
    ];
    let units = ["ms", "s", "m", "h", "d", "w", "", "M", " m", "min"];
    let mut texts: Vec<String> = Vec::new();
    for number in numbers {
        texts.extend(units.iter().map(|unit| format!("1/{number}{unit}")));
        texts.push(format!("{number}/1m"));
        texts.push(format!("0{number}/1m"));
        texts.push(format!("1/0{number}d"));
    }
    texts.extend(
        [
            "", "/", "1/", "/1m", "1/1m/1m", " 1/1m", "1/1m ", "1 /1m", "1/1m\\n", "None", "none",
            "-1/1m", "+1/1m", "1/-1m", "1e3/1m", "١/1m",
        ]
        .map(String::from),
    );
    for text in texts {
        let text = format!("{{table: tasks, limits: {{get: \"{text}\"}}}}");
        assert_eq!(schema.takes(&text), faults(&text).is_empty(), "{text}");
        tried += 1;
    }
    assert!(tried > 200);
}
