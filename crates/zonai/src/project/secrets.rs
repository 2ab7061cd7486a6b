//! Where the secrets of a project come from: the environment, its `.env`, or, on a developer's own machine,
//! a file that is made once.
//!
//! Must never write a secret anywhere but into a new file that only its owner can read, and never into a log.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use zonai_auth::Secrets;
use zonai_policy::Diagnostic;

use super::{Environment, dotenv};
use crate::{Error, Result};

/// The two that a server cannot do without.
const NEEDED: [&str; 2] = ["JWT_SECRET", "PASSWORD_SECRET"];

/// The file of made secrets, below the project.
pub(crate) const MADE_FILE: &str = ".zonai/secrets.env";

/// What is needed to decide whether secrets may be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation<'a> {
    pub(crate) project: &'a Path,
    pub(crate) data: &'a Path,
    /// Why this server is more than a developer's own; `None` where every listener is loopback and no proxy is trusted.
    pub(crate) exposed: Option<&'a str>,
}

/// The secrets of a project, and what to say about them at start.
pub(crate) fn find(environment: &Environment, at: Situation<'_>) -> Result<(Secrets, Vec<String>)> {
    let missing: Vec<&str> = NEEDED
        .into_iter()
        .filter(|name| environment.get(name).is_none())
        .collect();
    let mut made = BTreeMap::new();
    let mut warnings = Vec::new();
    if !missing.is_empty() {
        let file = at.project.join(MADE_FILE);
        if let Some(reason) = at.exposed {
            return Err(Error::Secrets(not_here(&missing, reason, &file)));
        }
        made = made_secrets(&file, at)?;
        warnings.push(format!(
            "{} not set: using the secrets made for this machine in {}. Set them in the environment or in .env before \
             anybody else can reach this server",
            listed(&missing),
            crate::config::shown(&file)
        ));
    }
    let value = |name: &str| {
        environment
            .get(name)
            .or_else(|| made.get(name).map(String::as_str))
            .unwrap_or("")
    };
    let secrets = Secrets::parse(
        value(NEEDED[0]),
        value(NEEDED[1]),
        value("PREVIOUS_JWT_SECRETS"),
        value("PREVIOUS_PASSWORD_SECRETS"),
    );
    Ok((
        secrets.map_err(|error| Error::Secrets(error.to_string()))?,
        warnings,
    ))
}

/// Whether the secrets are good, as far as they are set; makes none.
pub(crate) fn check(environment: &Environment, at: Situation<'_>) -> Option<Diagnostic> {
    let missing: Vec<&str> = NEEDED
        .into_iter()
        .filter(|name| environment.get(name).is_none())
        .collect();
    if let Some(name) = missing.first() {
        let reason = at.exposed?;
        return Some(environment.fault(
            name,
            &not_here(&missing, reason, &at.project.join(MADE_FILE)),
        ));
    }
    let value = |name: &str| environment.get(name).unwrap_or("");
    Secrets::parse(
        value(NEEDED[0]),
        value(NEEDED[1]),
        value("PREVIOUS_JWT_SECRETS"),
        value("PREVIOUS_PASSWORD_SECRETS"),
    )
    .err()
    .map(|error| Diagnostic::whole_file("environment", error.to_string()))
}

/// A new `.env` for a new project.
pub(crate) fn new_env_file() -> Result<String> {
    let secrets = Secrets::generate().map_err(|error| Error::Secrets(error.to_string()))?;
    Ok(format!(
        "# Secrets of this project. Never commit this file; every installation has its own.\n\
         # JWT_SECRET signs tokens, PASSWORD_SECRET peppers passwords: losing it locks every account out.\n\
         JWT_SECRET={}\nPASSWORD_SECRET={}\n",
        secrets.jwt().expose(),
        secrets.password().expose()
    ))
}

/// Writes a file that is readable by its owner only from its first moment, complete or not at all.
/// An existing file is left as it is, and `false` comes back.
pub(crate) fn write_private(path: &Path, text: &str) -> io::Result<bool> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let beside = path.with_file_name(name);
    let written = (|| {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        // A link, not a rename: of two servers that start at once, one wins and both use its secrets.
        match fs::hard_link(&beside, path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    })();
    let _ = fs::remove_file(&beside);
    written
}

fn made_secrets(file: &Path, at: Situation<'_>) -> Result<BTreeMap<String, String>> {
    if !file.exists() {
        if file.starts_with(at.data) {
            return Err(Error::Secrets(format!(
                "JWT_SECRET and PASSWORD_SECRET are not set, and none are made here because `dataPath` ({}) holds the \
                 folder they would be in: secrets must not travel with copies of the data. Set them in .env, or choose \
                 another dataPath",
                crate::config::shown(at.data)
            )));
        }
        make(file)?;
    }
    let text = fs::read_to_string(file).map_err(failed("read the secrets", file))?;
    let values = dotenv::parse(&text).map_err(|faults| {
        let shown = crate::config::shown(file);
        let line = faults.first().map_or(1, |fault| fault.line);
        Error::Secrets(format!(
            "{shown}:{line}: this file of made secrets is broken; remove it to have new ones made"
        ))
    })?;
    if NEEDED.iter().any(|name| !values.contains_key(*name)) {
        let shown = crate::config::shown(file);
        return Err(Error::Secrets(format!(
            "{shown} does not hold {}; remove it to have new ones made",
            listed(&NEEDED)
        )));
    }
    Ok(values
        .into_iter()
        .map(|(name, (value, _))| (name, value))
        .collect())
}

fn make(file: &Path) -> Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(failed("make the folder", folder))?;
    let ignore = folder.join(".gitignore");
    if !ignore.exists() {
        fs::write(&ignore, "*\n").map_err(failed("write", &ignore))?;
    }
    let secrets = Secrets::generate().map_err(|error| Error::Secrets(error.to_string()))?;
    let text = format!(
        "# Made by `zonai serve` for this machine only. Never commit or copy this file.\nJWT_SECRET={}\nPASSWORD_SECRET={}\n",
        secrets.jwt().expose(),
        secrets.password().expose()
    );
    write_private(file, &text)
        .map_err(failed("write the secrets", file))
        .map(drop)
}

fn not_here(missing: &[&str], reason: &str, made: &Path) -> String {
    let copy = if made.exists() {
        format!(
            " (the ones in {} are for local use only)",
            crate::config::shown(made)
        )
    } else {
        String::new()
    };
    format!(
        "{} not set, and none are made because {reason}{copy}. Set each in the environment or in the project's .env to 32 \
         or more random characters, such as `openssl rand -base64 32` prints",
        listed(missing)
    )
}

fn listed(names: &[&str]) -> String {
    match names {
        [one] => format!("{one} is"),
        more => format!("{} are", more.join(" and ")),
    }
}

fn failed(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
    let path: PathBuf = path.to_path_buf();
    move |source| Error::Io { what, path, source }
}
