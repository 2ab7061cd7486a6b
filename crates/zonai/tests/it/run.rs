//! A temporary project and the program in it, with nothing of this process's environment.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A project folder that is removed at the end.
pub(crate) struct Folder(tempfile::TempDir);

/// What a command left behind.
pub(crate) struct Outcome {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Folder {
    /// A project whose `zonai.yaml` is `text`.
    pub(crate) fn with(text: &str) -> Self {
        let folder = Self::empty();
        folder.write("zonai.yaml", text);
        folder
    }

    pub(crate) fn empty() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap()
    }

    /// Runs `zonai` inside of the folder.
    pub(crate) fn zonai(&self, arguments: &[&str]) -> Outcome {
        self.zonai_with(arguments, &[])
    }

    /// The same with variables.
    pub(crate) fn zonai_with(&self, arguments: &[&str], variables: &[(&str, &str)]) -> Outcome {
        let output = command(arguments)
            .envs(variables.iter().copied())
            .current_dir(self.path())
            .output()
            .unwrap();
        Outcome {
            code: output.status.code().unwrap(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        }
    }
}

/// The program, with an empty environment.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_zonai"));
    command.args(arguments).env_clear();
    command
}
