//! Commands that read a project's files: faults of every kind at once, limits, conversion, migration, admins.

use std::io::Write as _;
use std::process::Stdio;

use crate::run::{Folder, command};

fn project() -> Folder {
    let folder = Folder::empty();
    assert_eq!(folder.zonai(&["init"]).code, 0);
    folder
}

#[test]
fn faults_of_every_kind_of_file_are_listed_at_once() {
    let folder = project();
    folder.write("lib/src/rules/tasks.yaml", "view: true\nlst: true\n");
    folder.write(
        "lib/src/rate_limit/tasks.yaml",
        "table: tasks\nlimits: {create: 10/min, get: 5}\n",
    );
    folder.write("lib/src/rate_limit/other.yaml", "table: taks\n");
    let outcome = folder.zonai_with(&["check"], &[("JWT_SECRET", "short")]);
    assert_eq!(outcome.code, 2);
    for words in [
        "lib/src/rules/tasks.yaml:2:1: ",
        "lib/src/rate_limit/tasks.yaml:2:18: ",
        "lib/src/rate_limit/other.yaml:1:8: ",
        "JWT_SECRET has 5 characters",
    ] {
        assert!(outcome.out.contains(words), "{words}\n{}", outcome.out);
    }
    let places: Vec<&str> = outcome.out.lines().collect();
    let mut unique = places.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(
        places.len(),
        unique.len(),
        "nothing is told twice:\n{}",
        outcome.out
    );
    assert!(!folder.path().join(".zonai").exists(), "nothing is written");
}

#[test]
fn paths_are_shown_from_where_the_command_runs() {
    let folder = Folder::empty();
    folder.zonai(&["init", "shop"]);
    folder.write("shop/lib/src/rules/tasks.yaml", "lst: true\n");
    folder.write(
        "shop/lib/src/rate_limit/tasks.yaml",
        "table: tasks\nlimit: {}\n",
    );
    let outcome = folder.zonai(&["check", "shop"]);
    assert!(
        outcome.out.contains("shop/lib/src/rules/tasks.yaml:1:1: "),
        "{}",
        outcome.out
    );
    assert!(
        outcome
            .out
            .contains("shop/lib/src/rate_limit/tasks.yaml:2:1: "),
        "{}",
        outcome.out
    );
}

#[test]
fn a_schema_that_does_not_apply_is_named_with_its_line() {
    let folder = project();
    folder.write(
        "lib/src/schemas/002_more.sql",
        "CREATE TABLE more (id TEXT);\nCREATE TABEL x (id TEXT);\n",
    );
    let outcome = folder.zonai(&["check"]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome.out.contains("lib/src/schemas/002_more.sql:2:"),
        "{}",
        outcome.out
    );
}

#[test]
fn a_table_that_does_not_exist_is_named_in_the_settings() {
    let folder = project();
    folder.write("zonai.yaml", "app:\n  tables:\n    task: {idSuffix: tk}\n");
    let outcome = folder.zonai(&["check"]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome
            .out
            .contains("zonai.yaml:3:5: there is no table `task`; did you mean `tasks`?"),
        "{}",
        outcome.out
    );
}

#[test]
fn a_table_limited_in_two_files_is_named_with_both() {
    let folder = project();
    folder.write(
        "lib/src/rate_limit/again.yaml",
        "table: tasks\nlimits: {}\n",
    );
    let outcome = folder.zonai(&["check"]);
    assert_eq!(outcome.code, 2);
    assert!(
        outcome
            .out
            .contains("already registered for tasks; first in"),
        "{}",
        outcome.out
    );
}

#[test]
fn limits_are_listed_from_the_files_where_no_server_runs() {
    let folder = project();
    let outcome = folder.zonai(&["limits", "list", "--table", "tasks"]);
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    insta::assert_snapshot!(outcome.out);
    let near = folder.zonai(&["limits", "list", "--table", "task"]);
    assert_eq!(near.code, 2);
    assert!(near.err.contains("did you mean `tasks`?"), "{}", near.err);
}

#[test]
fn a_dart_file_is_converted_and_kept() {
    let folder = project();
    std::fs::remove_file(folder.path().join("lib/src/rate_limit/tasks.yaml")).unwrap();
    folder.write(
        "lib/src/rate_limit/tasks.dart",
        "final class TaskRateLimits extends TableRateLimits<TaskTable, Task> {\n  TaskRateLimits() : super(tasks);\n\n  \
         @override\n  Future<RateLimitPolicy?> createPolicy() async =>\n      const RateLimitPolicy(maxRequests: 7, \
         window: Duration(minutes: 1));\n}\n\nTaskRateLimits main() => TaskRateLimits();\n",
    );
    let shown = folder.zonai(&["limits", "convert"]);
    assert_eq!(
        shown.out, "# from lib/src/rate_limit/tasks.dart\ntable: tasks\nlimits:\n  create: 7/1m\n",
        "{}",
        shown.err
    );
    let written = folder.zonai(&["limits", "convert", "--write"]);
    assert_eq!(written.code, 0, "{}", written.err);
    assert_eq!(
        folder.read("lib/src/rate_limit/tasks.yaml"),
        "table: tasks\nlimits:\n  create: 7/1m\n"
    );
    assert!(
        folder
            .path()
            .join("lib/src/rate_limit/tasks.dart.converted")
            .exists()
    );
    assert_eq!(folder.zonai(&["check"]).code, 0);
}

#[test]
fn schema_files_are_applied_once() {
    let folder = project();
    let first = folder.zonai(&["db", "migrate"]);
    assert_eq!(
        (first.code, first.out.as_str()),
        (0, "applied 001_tasks.sql\n"),
        "{}",
        first.err
    );
    assert_eq!(folder.zonai(&["db", "migrate"]).out, "nothing to apply\n");
    folder.write(
        "lib/src/schemas/001_tasks.sql",
        "CREATE TABLE tasks (id TEXT PRIMARY KEY);\n",
    );
    let changed = folder.zonai(&["db", "migrate"]);
    assert_eq!(changed.code, 2);
    assert!(changed.err.contains("001_tasks.sql"), "{}", changed.err);
}

#[test]
fn admins_are_added_listed_and_removed() {
    let folder = project();
    folder.write("zonai.yaml", "app: {tables: {staff: {admin: true}}}\n");
    folder.write(
        "lib/src/schemas/002_staff.sql",
        "CREATE TABLE staff (id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE, password TEXT, name TEXT) STRICT;\n",
    );
    let add = |email: &str, password: &str| {
        let mut child = command(&["admin", "add", email, "--set", "name=Ann"])
            .current_dir(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        writeln!(child.stdin.take().unwrap(), "{password}").unwrap();
        let output = child.wait_with_output().unwrap();
        (
            output.status.code().unwrap(),
            String::from_utf8(output.stdout).unwrap(),
            String::from_utf8(output.stderr).unwrap(),
        )
    };
    let added = add("Ann@Example.org", "correct horse battery");
    assert_eq!(added.0, 0, "{}", added.2);
    assert_eq!(
        add("ann@example.org", "correct horse battery").0,
        2,
        "the address is taken"
    );
    assert_eq!(add("bob@example.org", "").0, 2, "a password is needed");
    assert_eq!(add("bob", "correct horse battery").0, 2, "no address");
    let listed = folder.zonai(&["admin", "list"]);
    assert!(
        listed.out.contains("ann@example.org"),
        "{}{}",
        listed.out,
        listed.err
    );
    let json: serde_json::Value =
        serde_json::from_str(&folder.zonai(&["admin", "list", "--format", "json"]).out).unwrap();
    assert_eq!(json["admins"][0]["name"], "Ann");
    assert!(!json.to_string().contains("argon2"));
    assert_eq!(
        folder.zonai(&["admin", "remove", "ann@example.org"]).code,
        0
    );
    assert_eq!(
        folder.zonai(&["admin", "remove", "ann@example.org"]).code,
        2
    );
    let none = project().zonai(&["admin", "list"]);
    assert_eq!(none.code, 2);
    assert!(none.err.contains("`admin: true`"), "{}", none.err);
}

#[test]
fn a_table_of_accounts_without_a_column_exits_2_and_says_what_to_do() {
    let folder = project();
    folder.write(
        "zonai.yaml",
        "app:\n  tables:\n    tasks: {auth: [password]}\n",
    );
    for words in [
        &["check"][..],
        &["serve", "--port", "0"],
        &["admin", "list"],
    ] {
        let outcome = folder.zonai(words);
        let text = format!("{}{}", outcome.out, outcome.err);
        assert_eq!(outcome.code, 2, "{text}");
        let place = "zonai.yaml:3:5: the table has no column `email`, which accounts need; add it in a new file under \
                     lib/src/schemas";
        assert!(text.contains(place), "{text}");
    }
}

#[test]
fn an_applied_schema_file_that_was_changed_stops_the_start_with_2() {
    let folder = project();
    assert_eq!(folder.zonai(&["db", "migrate"]).code, 0);
    let path = "lib/src/schemas/001_tasks.sql";
    let changed = format!("{}\n-- changed\n", folder.read(path));
    folder.write(path, &changed);
    let outcome = folder.zonai(&["serve", "--port", "0"]);
    assert_eq!(outcome.code, 2, "{}", outcome.err);
    let words = "lib/src/schemas/001_tasks.sql:1:1: this file was changed after it was applied; put it back and add a new \
                 file instead";
    assert!(outcome.err.contains(words), "{}", outcome.err);
}

#[test]
fn faults_of_jobs_and_mail_texts_are_listed_too() {
    let folder = project();
    folder.write(
        "lib/src/crons/nightly.yaml",
        "schedule: every night\nsql: SELECT 1\n",
    );
    folder.write(
        "lib/src/crons/weekly.yaml",
        "schedule: \"0 0 * * 1\"\nsql: DELETE FROM tasks; DELETE FORM tasks\n",
    );
    folder.write("lib/src/email_templates/otp.txt", "Your code is {{cod}}\n");
    let outcome = folder.zonai(&["check"]);
    assert_eq!(outcome.code, 2);
    for words in [
        "lib/src/crons/nightly.yaml:1:11: ",
        "lib/src/crons/weekly.yaml:2:6: the SQL cannot be run: near \"FORM\"",
        "lib/src/email_templates/otp.txt:1:",
    ] {
        assert!(outcome.out.contains(words), "{words}\n{}", outcome.out);
    }
    assert!(outcome.err.contains("3 faults"), "{}", outcome.err);
}
