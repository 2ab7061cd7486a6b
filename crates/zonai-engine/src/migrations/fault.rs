//! What is wrong with a schema file, and where. For the operator: these texts may quote SQL.

use std::fmt;
use std::path::{Path, PathBuf};

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationFault {
    /// The file or folder.
    pub path: PathBuf,
    /// Line and column, from 1, where the fault has a place in the file.
    pub place: Option<(usize, usize)>,
    /// What is wrong.
    pub reason: String,
}

impl MigrationFault {
    pub(super) fn of_file(path: &Path, reason: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            place: None,
            reason: reason.into(),
        }
    }
}

impl fmt::Display for MigrationFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match self.place {
            Some((line, column)) => write!(f, "{path}:{line}:{column}: {}", self.reason),
            None => write!(f, "{path}: {}", self.reason),
        }
    }
}

/// Why the schema files were not applied; one line a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigrationError {
    faults: Vec<MigrationFault>,
}

impl MigrationError {
    /// The faults, at least one.
    #[must_use]
    pub fn faults(&self) -> &[MigrationFault] {
        &self.faults
    }

    pub(super) fn of_file(path: &Path, reason: impl Into<String>) -> Self {
        MigrationFault::of_file(path, reason).into()
    }

    pub(super) fn unless_empty(faults: Vec<MigrationFault>) -> Result<(), Self> {
        if faults.is_empty() {
            Ok(())
        } else {
            Err(Self { faults })
        }
    }
}

impl From<MigrationFault> for MigrationError {
    fn from(fault: MigrationFault) -> Self {
        Self {
            faults: vec![fault],
        }
    }
}

impl fmt::Display for MigrationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, fault) in self.faults.iter().enumerate() {
            if nth > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for MigrationError {}
