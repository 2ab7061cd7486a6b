//! Everything that is wrong with a project's files, without serving it.
//!
//! Must never write into the project or its data folder, and never stop at the first fault.

use std::path::Path;

use serde_json::Value;
use zonai_auth::Secrets;
use zonai_clock::Clock;
use zonai_policy::Diagnostic;
use zonai_server::explain::Explain;
use zonai_server::{Additions, Running, StartError};

use super::App;
use crate::config::shown;
use crate::files::Files;
use crate::{Error, Result};

impl App {
    /// Everything that is wrong with the files of the project: schema, rules, policies, accounts, secrets.
    ///
    /// # Errors
    /// When the check itself cannot be made: no thread, no folder for temporary files.
    pub fn check(&self) -> Result<Vec<Diagnostic>> {
        let files = self.files(&Clock::system());
        let twice = files.twice();
        let Files {
            mut faults,
            schema_passes,
            ..
        } = files;
        if schema_passes {
            for fault in self.rehearse()? {
                let same = |told: &Diagnostic| {
                    (told.line, told.column, &told.message)
                        == (fault.line, fault.column, &fault.message)
                };
                if !faults.iter().any(same) {
                    faults.push(fault);
                }
            }
        }
        faults.extend(twice);
        faults.extend(self.project.check_secrets());
        Ok(faults)
    }

    /// What would stop the real start.
    fn rehearse(&self) -> Result<Vec<Diagnostic>> {
        Ok(match self.rehearsal(async |_running| ())? {
            Ok(()) => Vec::new(),
            Err(StartError::Faults(faults)) => self.from_here(faults),
            Err(other) => {
                let file = self
                    .draft()
                    .paths
                    .config
                    .as_deref()
                    .map_or_else(|| "zonai.yaml".into(), shown);
                vec![Diagnostic::whole_file(&file, crate::files::chain(&other))]
            }
        })
    }

    /// What a server that starts now would do with a request, and why: by the code that decides, and as if nobody
    /// had been counted yet.
    pub(crate) fn explain(&self, request: &Explain) -> Result<Value> {
        let explained = self.rehearsal(async |running| running.explain(request).await)?;
        match explained {
            Ok(explained) => explained.map_err(|error| Error::Setting(error.to_string())),
            Err(StartError::Faults(faults)) => Err(Error::Faults(self.from_here(faults))),
            Err(other) => Err(Error::Start(other)),
        }
    }

    /// Starts the server without an address and on a data folder of its own, has it do `work`, and stops it.
    fn rehearsal<T>(
        &self,
        work: impl AsyncFnOnce(&Running) -> T,
    ) -> Result<std::result::Result<T, StartError>> {
        let failed = |source| Error::Io {
            what: "make a folder in",
            path: std::env::temp_dir(),
            source,
        };
        let folder = tempfile::Builder::new()
            .prefix("zonai-check-")
            .tempdir()
            .map_err(failed)?;
        let secrets = Secrets::generate().map_err(|error| Error::Secrets(error.to_string()))?;
        let mut settings = self.project.settings(Vec::new(), secrets);
        settings.paths.data = folder.path().to_path_buf();
        let mut additions = Additions::default();
        additions.rate_limits.clone_from(&self.rate_limits);
        Ok(super::run::runtime()?.block_on(async {
            let running = Running::start(settings, additions, Clock::system()).await?;
            let done = work(&running).await;
            running.stop().await;
            Ok(done)
        }))
    }

    fn from_here(&self, faults: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let project = &self.draft().paths.project;
        faults
            .into_iter()
            .map(|fault| from_here(fault, project))
            .collect()
    }
}

/// A path from the project as one from the current folder, so that an editor finds it.
fn from_here(mut fault: Diagnostic, project: &Path) -> Diagnostic {
    let path = project.join(&fault.path);
    if path.exists() {
        fault.path = shown(&path);
    }
    fault
}
