//! Schema files: applied once, in order, wholly or not at all; faults with their place.

use std::collections::BTreeMap;
use std::path::Path;

use zonai_clock::Clock;
use zonai_engine::{EngineOptions, Migrations, TableOptions};

struct Project {
    folder: tempfile::TempDir,
    clock: Clock,
}

impl Project {
    fn new(files: &[(&str, &str)]) -> Self {
        let project = Self {
            folder: tempfile::tempdir().unwrap(),
            clock: Clock::manual().0,
        };
        for (name, text) in files {
            project.write(name, text);
        }
        project
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.folder.path().join(name), text).unwrap();
    }

    fn data(&self) -> std::path::PathBuf {
        self.folder.path().join("data.sqlite")
    }

    fn apply(&self) -> Result<Vec<String>, String> {
        let migrations =
            Migrations::read(self.folder.path()).map_err(|error| self.relative(&error))?;
        migrations
            .apply_to(&self.data(), &EngineOptions::default(), &self.clock)
            .map_err(|error| self.relative(&error))
    }

    fn check(&self, tables: &BTreeMap<String, TableOptions>) -> Result<Vec<String>, String> {
        let migrations =
            Migrations::read(self.folder.path()).map_err(|error| self.relative(&error))?;
        let schema = migrations
            .check(tables, &self.clock)
            .map_err(|error| self.relative(&error))?;
        Ok(schema.tables().map(|table| table.name.clone()).collect())
    }

    fn relative(&self, error: &dyn std::fmt::Display) -> String {
        error
            .to_string()
            .replace(&format!("{}/", self.folder.path().display()), "")
    }
}

#[test]
fn files_are_applied_once_in_the_order_of_their_names() {
    let project = Project::new(&[
        ("002.sql", "INSERT INTO t VALUES (2);"),
        ("001.sql", "CREATE TABLE t (n INTEGER);"),
        (".hidden.sql", "nonsense"),
        ("notes.txt", "nonsense"),
    ]);
    assert_eq!(project.apply().unwrap(), ["001.sql", "002.sql"]);
    assert_eq!(project.apply().unwrap(), [""; 0]);
    project.write("003.sql", "INSERT INTO t VALUES (3);");
    assert_eq!(project.apply().unwrap(), ["003.sql"]);
    let conn = rusqlite::Connection::open(project.data()).unwrap();
    let sum: i64 = conn
        .query_row("SELECT sum(n) FROM t", [], |row| row.get(0))
        .unwrap();
    assert_eq!(sum, 5);
}

#[test]
fn a_missing_folder_has_no_files() {
    assert_eq!(
        Migrations::read(Path::new("/nowhere/at/all"))
            .unwrap()
            .names()
            .count(),
        0
    );
}

#[test]
fn applied_files_are_history() {
    let project = Project::new(&[
        ("1.sql", "CREATE TABLE t (n);"),
        ("2.sql", "CREATE TABLE u (n);"),
    ]);
    project.apply().unwrap();
    project.write("1.sql", "CREATE TABLE t (n, m);");
    std::fs::remove_file(project.folder.path().join("2.sql")).unwrap();
    project.write("3.sql", "CREATE TABLE v (n);");
    assert_eq!(
        project.apply().unwrap_err(),
        "1.sql: this file was changed after it was applied; put it back and add a new file instead\n\
         2.sql: this file was applied to the data and is gone; put it back"
    );
    let conn = rusqlite::Connection::open(project.data()).unwrap();
    assert!(conn.prepare("SELECT * FROM v").is_err());
}

#[test]
fn faults_have_a_place_and_leave_nothing_behind() {
    let cases = [
        (
            "CREATE TABLE t (n);\nCREATE TABL u (n);",
            "1.sql:2:8: near \"TABL\": syntax error",
        ),
        (
            "CREATE TABLE t (n);\n\n  -- why\n  INSERT INTO x VALUES (1);",
            "1.sql:4:3: no such table: x",
        ),
        (
            "CREATE TABLE t (n UNIQUE);\nINSERT INTO t VALUES (1);\n  INSERT INTO t VALUES (1);",
            "1.sql:3:3: UNIQUE constraint failed: t.n",
        ),
        (
            "CREATE TABLE t (n);\n/* ä */ COMMIT;",
            "1.sql:2:9: COMMIT is not for schema files: each one is a transaction already",
        ),
        (
            "CREATE TABLE __x (n);",
            "1.sql:1:1: table `__x`: the name must not begin with `__`",
        ),
        (
            "CREATE TABLE _x (n);",
            "1.sql:1:1: table `_x`: names that begin with `_` are for the server",
        ),
        (
            "\nCREATE TABLE \"a:b\" (n);",
            "1.sql:2:1: table `a:b`: the name must not contain `:`",
        ),
        (
            "CREATE TABLE a (n);\nALTER TABLE a RENAME TO _b;",
            "1.sql:2:1: table `_b`: names that begin with `_` are for the server",
        ),
        (
            "DROP TABLE _migrations;",
            "1.sql:1:1: table `_migrations` belongs to the server",
        ),
        (
            "CREATE TABLE t (n); INSERT INTO t VALUES (?);",
            "1.sql:1:21: a schema file has no values for `?`",
        ),
        (
            "CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (p REFERENCES p); INSERT INTO c VALUES (7);",
            "1.sql: after this file, rows of `c` point to rows of `p` that do not exist",
        ),
        ("CREATE TABLE t (n", "1.sql:1:1: incomplete input"),
    ];
    for (text, expected) in cases {
        let project = Project::new(&[("1.sql", text)]);
        for fault in [
            project.apply().unwrap_err(),
            project.check(&BTreeMap::new()).unwrap_err(),
        ] {
            assert!(fault.starts_with(expected), "{text}: {fault}");
        }
        let conn = rusqlite::Connection::open(project.data()).unwrap();
        let tables: i64 = conn
            .query_row(
                "SELECT count(*) FROM sqlite_schema WHERE type = 'table'",
                [],
                |row| row.get(0),
            )
            .unwrap();
        assert_eq!(tables, 1, "only _migrations: {text}");
    }
}

#[test]
fn triggers_with_statements_inside_are_one_statement() {
    let project = Project::new(&[(
        "1.sql",
        "CREATE TABLE t (n); -- end;\nCREATE TRIGGER g AFTER INSERT ON t BEGIN UPDATE t SET n = 1; DELETE FROM t; END;\nINSERT INTO t VALUES (';');",
    )]);
    assert_eq!(project.apply().unwrap(), ["1.sql"]);
}

#[test]
fn tables_can_be_rebuilt_without_losing_what_points_to_them() {
    let project = Project::new(&[(
        "1.sql",
        "CREATE TABLE p (id INTEGER PRIMARY KEY); CREATE TABLE c (p REFERENCES p ON DELETE CASCADE);
         INSERT INTO p VALUES (1); INSERT INTO c VALUES (1);",
    )]);
    project.apply().unwrap();
    project.write(
        "2.sql",
        "CREATE TABLE p2 (id INTEGER PRIMARY KEY, name TEXT); INSERT INTO p2 (id) SELECT id FROM p;
         DROP TABLE p; ALTER TABLE p2 RENAME TO p;",
    );
    project.apply().unwrap();
    let conn = rusqlite::Connection::open(project.data()).unwrap();
    let left: i64 = conn
        .query_row("SELECT count(*) FROM c JOIN p ON p.id = c.p", [], |row| {
            row.get(0)
        })
        .unwrap();
    assert_eq!(left, 1);
}

#[test]
fn check_reads_the_tables_and_touches_no_data() {
    let project = Project::new(&[(
        "1.sql",
        "CREATE TABLE users (id TEXT PRIMARY KEY); CREATE VIEW v AS SELECT 1 AS n;",
    )]);
    let options = |name: &str| BTreeMap::from([(name.to_owned(), TableOptions::default())]);
    assert_eq!(project.check(&options("users")).unwrap(), ["users", "v"]);
    assert_eq!(
        project.check(&options("user")).unwrap_err(),
        "`app.tables.user`: there is no such table; did you mean `users`?"
    );
    assert!(!project.data().exists());
}
