//! The folder: which files count, and that everything wrong is told at once.

use std::fs;

use zonai_policy::read_folder;

use crate::support::tables;

#[test]
fn a_missing_or_empty_folder_says_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let reading = read_folder(&dir.path().join("missing"), &tables());
    assert!(
        reading.registrations.is_empty() && reading.faults.is_empty() && reading.files.is_empty()
    );
    let reading = read_folder(dir.path(), &tables());
    assert!(reading.registrations.is_empty() && reading.faults.is_empty());
}

#[test]
fn only_policy_files_count_in_the_order_of_their_names() {
    let dir = tempfile::tempdir().unwrap();
    let text = |table: &str| format!("table: {table}\nlimits: {{}}\n");
    fs::write(dir.path().join("b.yml"), text("notes")).unwrap();
    fs::write(dir.path().join("a.yaml"), text("tasks")).unwrap();
    fs::write(dir.path().join(".hidden.yaml"), "broken: [").unwrap();
    fs::write(dir.path().join("a.yaml.swp"), "broken: [").unwrap();
    fs::write(dir.path().join("README.md"), "broken: [").unwrap();
    fs::create_dir(dir.path().join("folder.yaml")).unwrap();
    fs::write(dir.path().join("elsewhere"), text("users")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("elsewhere"), dir.path().join("c.yaml")).unwrap();
    let reading = read_folder(dir.path(), &tables());
    assert!(reading.faults.is_empty(), "{:?}", reading.faults);
    let names: Vec<_> = reading
        .registrations
        .iter()
        .map(|stated| stated.limits.table.as_str())
        .collect();
    assert_eq!(names, ["tasks", "notes", "users"]);
    assert_eq!(reading.files.len(), 3);
}

/// What a person would take for in force, and is not, stops a start and a reload.
#[test]
fn what_would_be_passed_over_is_a_fault() {
    let dir = tempfile::tempdir().unwrap();
    let text = "table: tasks\nlimits: {create: 1/1h}\n";
    for folder in ["more", ".old", "empty", "notes"] {
        fs::create_dir(dir.path().join(folder)).unwrap();
    }
    for file in [
        "A.YAML",
        "b.Yml",
        "c.DART",
        "more/tasks.yaml",
        ".old/tasks.yaml",
        "notes/README",
        ".hidden.YAML",
    ] {
        fs::write(dir.path().join(file), text).unwrap();
    }
    let reading = zonai_policy::read_folder_as(dir.path(), "lib".as_ref(), &tables());
    let told: Vec<String> = reading.faults.iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "lib/A.YAML:1:1: is not read; the name must end in `.yaml`",
            "lib/b.Yml:1:1: is not read; the name must end in `.yml`",
            "lib/c.DART:1:1: is not read; the name must end in `.dart`",
            "lib/more:1:1: is a folder with files that are not read; move them one up, or begin its name with `.`",
        ]
    );
    assert!(reading.registrations.is_empty());
}

#[test]
fn what_cannot_be_read_is_a_fault_of_its_file() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(
        dir.path().join("a.yaml"),
        b"table: tasks\nlimits: {}\n# \xff\n",
    )
    .unwrap();
    fs::write(dir.path().join("b.yaml"), "#".repeat((1 << 20) + 1)).unwrap();
    std::os::unix::fs::symlink(dir.path().join("gone"), dir.path().join("c.yaml")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", dir.path().join("d.yaml")).unwrap();
    let reading = zonai_policy::read_folder_as(dir.path(), "lib".as_ref(), &tables());
    let told: Vec<String> = reading.faults.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 4, "{told:?}");
    assert_eq!(told[0], "lib/a.yaml:3:3: is not UTF-8 text from here on");
    assert_eq!(
        told[1],
        "lib/b.yaml:1:1: is larger than 1048576 bytes, the most a file may have"
    );
    assert!(
        told[2].starts_with("lib/c.yaml:1:1: cannot be read: "),
        "{told:?}"
    );
    assert_eq!(told[3], "lib/d.yaml:1:1: is not a plain file");
}

#[test]
fn two_files_for_one_table_are_both_returned() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a.yaml", "b.yaml"] {
        fs::write(dir.path().join(name), "table: tasks\nlimits: {}\n").unwrap();
    }
    let reading = read_folder(dir.path(), &tables());
    assert!(reading.faults.is_empty());
    assert_eq!(reading.registrations.len(), 2);
}

/// One file for each kind of fault that a folder may hold, and one that is right.
fn ten_faults() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in [
        ("a.yaml", "table: taks\nlimits:\n  create: 10/1m\n"),
        (
            "b.yaml",
            "table: tasks\nlimits:\n  creat: 10/1m\n  update: 100/min\n  delete: -1/1m\n",
        ),
        (
            "c.yml",
            "table: tasks\nlimits:\n  get: {maxRequests: 10, windowMS: 60000}\n  custom: {fil: 1/1m}\n",
        ),
        (
            "d.yaml",
            "table: users\nauth:\n  signIn: 10/0m\n  confirm: 5/1m\n",
        ),
        (
            "e.dart",
            "class A extends TableRateLimits<T, U> {\n  A() : super(tasks);\n  f createPolicy() async {\n    if (x) return null;\n  }\n}\nA main() => A();\n",
        ),
        ("f.yaml", "table: tasks\nlimits:\n  create: [10/1s\n"),
        ("g.yaml", "table: notes\nlimits:\n  create: 10/1m\n"),
    ] {
        fs::write(dir.path().join(name), text).unwrap();
    }
    dir
}

#[test]
fn ten_faults_in_a_folder_are_ten_lines() {
    let dir = ten_faults();
    let reading = zonai_policy::read_folder_as(dir.path(), "p".as_ref(), &tables());
    let told: Vec<String> = reading.faults.iter().map(ToString::to_string).collect();
    assert_eq!(told.len(), 10);
    insta::assert_snapshot!(told.join("\n"));
}

#[test]
fn a_fault_is_shown_with_its_line_and_a_mark() {
    let dir = ten_faults();
    let reading = zonai_policy::read_folder_as(dir.path(), "p".as_ref(), &tables());
    let shown: Vec<String> = reading
        .faults
        .iter()
        .map(|fault| fault.render(false))
        .collect();
    insta::assert_snapshot!(shown.join("\n"));
    insta::assert_snapshot!(
        "in_color",
        reading.faults[0].render(true).replace('\u{1b}', "ESC")
    );
    insta::assert_json_snapshot!("as_json", &reading.faults[..2]);
}

#[test]
fn a_long_line_is_cut_around_its_mark() {
    let source = zonai_policy::Source::new("long.yaml", format!("a: {}\n", "x, ".repeat(100)));
    let fault = source.fault(
        zonai_policy::Span {
            line: 1,
            column: 200,
            length: 5,
        },
        "there",
    );
    let shown = fault.render(false);
    let (line, mark) = (shown.lines().nth(3).unwrap(), shown.lines().nth(4).unwrap());
    assert!(
        line.chars().count() < 120 && mark.ends_with("^^^^^"),
        "{shown}"
    );
    let marked: String = line.chars().skip(mark.find('^').unwrap()).take(5).collect();
    let meant: String = source.text().chars().skip(199).take(5).collect();
    assert_eq!(marked, meant);
}

#[test]
fn yaml_and_dart_may_both_speak_of_one_table() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.yaml"), "table: tasks\nlimits: {}\n").unwrap();
    fs::write(
        dir.path().join("b.dart"),
        "class A extends TableRateLimits {\n  A() : super(tasks);\n}\nA main() => A();\n",
    )
    .unwrap();
    let reading = zonai_policy::read_folder_as(dir.path(), "p".as_ref(), &tables());
    assert!(reading.faults.is_empty(), "{:?}", reading.faults);
    let places: Vec<_> = reading
        .registrations
        .iter()
        .map(|stated| stated.limits.origin.to_string())
        .collect();
    assert_eq!(places, ["p/a.yaml:2:1", "p/b.dart:1:7"]);
}
