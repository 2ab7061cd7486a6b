//! One fuzz target: a run on a copy of its corpus.
//!
//! Must never write where git looks; `fuzz/artifacts` is ignored.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::outcome::{self, Outcome};
use crate::tree;

/// How long one input may take, in seconds: far more than any takes on a slow machine.
const INPUT_SECONDS: u32 = 10;
/// How much memory a target may take.
const MEGABYTES: u32 = 1_024;
/// The longest input, in bytes; some bounds of the grammars are reached by long ones only.
const LONGEST: u32 = 16_384;

/// A program of the fuzz workspace.
pub(super) struct Target {
    pub(super) name: String,
    pub(super) path: PathBuf,
}

impl Target {
    /// Runs the target until the time is over or an input breaks something.
    pub(super) fn run(&self, seconds: u32, seed: u32) -> Result<Outcome, tree::Error> {
        let folder = self.folder()?;
        let (corpus, log) = (folder.join("corpus"), folder.join("log"));
        let artifacts = tree::root().join("fuzz/artifacts").join(&self.name);
        fs::create_dir_all(&artifacts)?;
        let mut command = Command::new(&self.path);
        command.arg(&corpus).args([
            format!("-seed={seed}"),
            format!("-max_total_time={seconds}"),
            format!("-timeout={INPUT_SECONDS}"),
            format!("-rss_limit_mb={MEGABYTES}"),
            format!("-max_len={LONGEST}"),
            format!("-artifact_prefix={}/", artifacts.display()),
            "-print_final_stats=1".to_owned(),
        ]);
        let words = tree::root().join(format!("fuzz/dictionaries/{}.txt", self.name));
        if words.is_file() {
            command.arg(format!("-dict={}", words.display()));
        }
        let status = command
            // A target that makes files leaves them here.
            .env("TMPDIR", &folder)
            .env("RUST_BACKTRACE", "1")
            .current_dir(tree::root())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .status()?;
        let log = fs::read(&log)?;
        Ok(outcome::read(
            self,
            status.success(),
            &String::from_utf8_lossy(&log),
        ))
    }

    /// An empty folder beside the program, with a copy of the corpus.
    fn folder(&self) -> Result<PathBuf, tree::Error> {
        let beside = self.path.parent().unwrap_or(Path::new("."));
        let folder = beside.join("runs").join(&self.name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let to = folder.join("corpus");
        fs::create_dir_all(&to)?;
        let from = tree::root().join("fuzz/corpus").join(&self.name);
        let seeds = fs::read_dir(&from).map_err(|error| format!("{}: {error}", from.display()))?;
        for seed in seeds {
            let seed = seed?;
            fs::copy(seed.path(), to.join(seed.file_name()))?;
        }
        Ok(folder)
    }
}
