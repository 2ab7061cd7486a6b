//! The files of the project, as git sees them.
//!
//! Must never look at what git ignores, and must never write.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::source::Source;

/// What can go wrong with a chore.
pub(crate) type Error = Box<dyn std::error::Error>;

/// The root of the project.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_path_buf()
}

/// Every file that is committed or would be, from the root, in name order.
pub(crate) fn files() -> Result<Vec<String>, Error> {
    let listed = output(Command::new("git").args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
    ]))?;
    let mut files: Vec<String> = listed
        .lines()
        .filter(|path| root().join(path).is_file())
        .map(str::to_owned)
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// The Rust files among them.
pub(crate) fn sources(files: &[String]) -> Result<Vec<Source>, Error> {
    files
        .iter()
        .filter(|path| path.ends_with(".rs"))
        .map(|path| {
            Ok(Source::new(
                path,
                &std::fs::read_to_string(root().join(path))?,
            ))
        })
        .collect()
}

/// What a command prints, run at the root.
pub(crate) fn output(command: &mut Command) -> Result<String, Error> {
    let done = command.current_dir(root()).output()?;
    if !done.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&done.stderr)).into());
    }
    Ok(String::from_utf8(done.stdout)?)
}

/// The cargo that runs this, or the one on the path.
pub(crate) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}
