//! `zonai check`: every fault at once, each with its place and what was probably meant.

use crate::run::Folder;

const EVERY_KEY: &str = include_str!("every_key.yaml");

#[test]
fn a_file_with_every_key_passes() {
    let folder = Folder::with(EVERY_KEY);
    let outcome = folder.zonai_with(
        &["check"],
        &[
            ("JWT_SECRET", "0123456789abcdef0123456789abcdef"),
            ("PASSWORD_SECRET", "fedcba9876543210fedcba9876543210"),
        ],
    );
    assert_eq!(
        (outcome.code, outcome.err.as_str()),
        (0, ""),
        "{}",
        outcome.out
    );
}

#[test]
fn an_empty_file_passes() {
    let outcome = Folder::with("").zonai(&["check"]);
    assert_eq!(
        (outcome.code, outcome.err.as_str()),
        (0, ""),
        "{}",
        outcome.out
    );
}

#[test]
fn unknown_keys_are_named_with_what_was_meant() {
    let outcome = Folder::with(
        "prot: 80\nschemas_path: x\nappName: Shop\ncors: {origins: []}\nJWT_SECRET: abc\nzzzz: 1\n\
         rateLimit: {max_counters: 5, Exempt: []}\napp: {email: {host: a, from: a@b.c, password: x}, port: 1}\n\
         server: {timeout: 1s}\n",
    )
    .zonai(&["check"]);
    assert_eq!(outcome.code, 2);
    assert!(!outcome.out.contains("abc"), "a secret is not shown");
    insta::assert_snapshot!(outcome.out);
}

#[test]
fn wrong_values_are_named_with_what_is_right() {
    let outcome = Folder::with(
        r#"
version: [1]
host: example.org
port: 80000
schemasPath: ~/schemas
dataPath: 7
rateLimit:
  maxCounters: many
  ipv6Prefix: 129
  exempt: [10.0.0.0/8, 10.0.0.0/33, nonsense]
  headers: both
  shared: {confirm: 100/min, list: 5/1m, logout: -1/1m}
app:
  appName: ""
  baseUrl: api.example.org
  jwtExpiresIn: 24
  devMail: yes
  trustedProxy: {headers: [X-Forwarded-For, "a b"], proxies: [10.0.0.0/8, 300.1.1.1]}
  email: {from: nobody, tls: ssl, port: 0}
  cors: {origins: [https://a.example/, "*.example.org"]}
  tables:
    users: {auth: [pasword], admin: 1, idSuffix: "A-1"}
server:
  connections: 0
  bodyBytes: 1MB
  maxPayload: 8MiB
  headTimeout: 0s
  idleTimeout: 5 min
  stopGrace: forever
"#,
    )
    .zonai(&["check"]);
    assert_eq!(outcome.code, 2);
    insta::assert_snapshot!(outcome.out);
}

#[test]
fn settings_that_contradict_each_other_are_refused() {
    for (text, place, words) in [
        (
            "host: localhost\nlisten: [\"127.0.0.1:1\"]\n",
            "zonai.yaml:1:1:",
            "`listen` both say",
        ),
        ("listen: []\n", "zonai.yaml:1:9:", "needs an address"),
        (
            "app: {trustedProxy: {headers: [a, b]}}\n",
            "zonai.yaml:1:7:",
            "no `proxies`",
        ),
        (
            "app: {trustedProxy: {}}\n",
            "zonai.yaml:1:7:",
            "trusts nothing",
        ),
        (
            "server: {bodyBytesPerClient: 512KiB}\n",
            "zonai.yaml:1:30:",
            "must not be larger",
        ),
        ("a: 1\na: 2\n", "zonai.yaml:2:1:", "twice"),
        ("- a\n", "zonai.yaml:1:1:", "map"),
        ("a: [\n", "zonai.yaml:1:4:", "YAML"),
    ] {
        let outcome = Folder::with(text).zonai(&["check"]);
        assert_eq!(outcome.code, 2, "{text}");
        assert!(
            outcome.out.contains(place) && outcome.out.contains(words),
            "{text}\n{}",
            outcome.out
        );
    }
}

#[test]
fn json_is_one_object_with_all_faults() {
    let outcome = Folder::with("prot: 80\nhost: 1\n").zonai(&["check", "--format", "json", "."]);
    assert_eq!(outcome.code, 2);
    let report: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
    assert_eq!(report["ok"], false);
    assert_eq!(report["faults"][0]["path"], "zonai.yaml");
    assert_eq!(
        (&report["faults"][0]["line"], &report["faults"][0]["column"]),
        (&1.into(), &1.into())
    );
    assert_eq!(report["faults"][0]["help"], "did you mean `port`?");
    assert_eq!(report["faults"].as_array().unwrap().len(), 2);
    let fine = Folder::with("").zonai(&["check", "--format", "json"]);
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(&fine.out).unwrap()["ok"],
        true
    );
}

#[test]
fn files_that_would_be_passed_over_are_named() {
    let folder = Folder::with("");
    for file in [
        "lib/src/schemas/001_notes.SQL",
        "lib/src/schemas/new/002_more.sql",
        "lib/src/rules/notes.YML",
        "lib/src/rate_limit/team/notes.yaml",
        "lib/src/crons/Tidy.Yaml",
        "lib/src/operations/old/notes.yml",
    ] {
        folder.write(file, "");
    }
    let outcome = folder.zonai(&["check"]);
    assert_eq!(outcome.code, 2);
    for fault in [
        "lib/src/schemas/001_notes.SQL:1:1: is not read; the name must end in `.sql`",
        "lib/src/schemas/new:1:1: is a folder with files that are not read",
        "lib/src/rules/notes.YML:1:1: is not read; the name must end in `.yml`",
        "lib/src/rate_limit/team:1:1: is a folder with files that are not read",
        "lib/src/crons/Tidy.Yaml:1:1: is not read; the name must end in `.yaml`",
        "lib/src/operations/old:1:1: is a folder with files that are not read",
    ] {
        assert!(outcome.out.contains(fault), "{fault}\n{}", outcome.out);
    }
}

#[test]
fn a_folder_that_is_no_project_is_said_to_be_none() {
    let folder = Folder::with("");
    folder.write("lib/src/x", "");
    let outcome = folder.zonai(&["check", "lib/src"]);
    assert_eq!((outcome.code, outcome.out.as_str()), (2, ""));
    assert!(
        outcome.err.contains("did you mean the project in"),
        "{}",
        outcome.err
    );
    folder.write("zonai.yml", "");
    let outcome = folder.zonai(&["check"]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.out.contains("keep one of the two"),
        "{}",
        outcome.out
    );
}

#[test]
fn faults_of_the_environment_and_of_env_are_listed_too() {
    let folder = Folder::with("port: x\n");
    folder.write(
        ".env",
        "JWT_SECRET='s3cret-of-mine\nZONAI_HOST=example.org\n",
    );
    let outcome = folder.zonai_with(&["check"], &[("ZONAI_PORT", "tcp://10.0.0.1:8080")]);
    assert_eq!(outcome.code, 2);
    assert!(!outcome.out.contains("s3cret"), "a secret is not shown");
    insta::assert_snapshot!(outcome.out);
    folder.write(".env", "\nZONAI_HOST=example.org\n");
    let outcome = folder.zonai(&["check"]);
    assert!(
        outcome.out.contains(".env:2:1: ZONAI_HOST: "),
        "{}",
        outcome.out
    );
}

/// A proxy range that is none is refused at load, by name and place.
#[test]
fn a_range_that_is_none_is_named() {
    let outcome = Folder::with(
        "app:\n  trustedProxy:\n    headers: [X-Forwarded-For]\n    proxies: [10.0.0.0/8, 10.0.0.0/33]\n",
    )
    .zonai(&["check"]);
    assert_eq!(outcome.code, 2);
    let all = format!("{}{}", outcome.out, outcome.err);
    assert!(all.contains("zonai.yaml:4:27: "), "{all}");
    assert!(all.contains("`10.0.0.0/33` is no network"), "{all}");
}
