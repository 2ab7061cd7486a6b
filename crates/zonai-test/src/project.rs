//! A project in a temporary folder.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use zonai::App;
use zonai_project::settings::Settings;

/// Secrets that are good enough and the same in every test.
const ENV: &str = "JWT_SECRET=0123456789abcdefghijklmnopqrstuvwxyz-jwt\n\
                   PASSWORD_SECRET=zyxwvutsrqponmlkjihgfedcba9876543210-password\n";

/// A project's files; gone when dropped.
pub struct Project {
    folder: TempDir,
}

impl Project {
    /// An empty project with secrets, listening on a free port of 127.0.0.1.
    #[must_use]
    pub fn new() -> Self {
        let project = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        project.file("zonai.yaml", "listen: [\"127.0.0.1:0\"]\n");
        project.file(".env", ENV);
        project
    }

    /// The tables `tasks` (open to everybody, `create` at 10 a minute) and `notes` (open, no policy).
    #[must_use]
    pub fn tasks() -> Self {
        let project = Self::new();
        project.file(
            "lib/src/schemas/001_tasks.sql",
            "CREATE TABLE tasks (id TEXT PRIMARY KEY, title TEXT NOT NULL, done BOOLEAN NOT NULL DEFAULT FALSE);\n\
             CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT NOT NULL);\n",
        );
        project.open_to_all("tasks").open_to_all("notes");
        project.file(
            "lib/src/rate_limit/tasks.yaml",
            "table: tasks\nlimits:\n  create: 10/1m\n",
        );
        project
    }

    /// Lets everybody do everything with a table.
    pub fn open_to_all(&self, table: &str) -> &Self {
        let rules: String = ["view", "list", "count", "create", "update", "delete"]
            .map(|rule| format!("{rule}: true\n"))
            .concat();
        self.file(&format!("lib/src/rules/{table}.yaml"), &rules)
    }

    /// Writes a file, with its folders, in one step: as a good editor does.
    pub fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let new = path.with_file_name(format!(".{name}.new"));
        std::fs::write(&new, text).unwrap();
        std::fs::rename(&new, &path).unwrap();
        self
    }

    /// Takes a file away.
    pub fn remove(&self, path: &str) -> &Self {
        std::fs::remove_file(self.path(path)).unwrap();
        self
    }

    /// What its settings say.
    #[must_use]
    pub fn settings(&self) -> Settings {
        App::open(self.folder()).unwrap().settings().unwrap()
    }

    /// A path inside the project.
    #[must_use]
    pub fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// The project folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

impl Default for Project {
    fn default() -> Self {
        Self::new()
    }
}
