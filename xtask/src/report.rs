//! What the checks found, one line each.
//!
//! Must never stop at the first fault: who mends wants all of them.

use std::process::ExitCode;

/// Faults and warnings in the order they were found.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) faults: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

impl Report {
    pub(crate) fn fault(&mut self, place: impl std::fmt::Display, what: impl std::fmt::Display) {
        self.faults.push(format!("{place}: {what}"));
    }

    pub(crate) fn warn(&mut self, place: impl std::fmt::Display, what: impl std::fmt::Display) {
        self.warnings.push(format!("{place}: {what}"));
    }

    /// Prints everything; fails where there is a fault.
    pub(crate) fn close(self, name: &str) -> ExitCode {
        for warning in &self.warnings {
            println!("warning: {warning}");
        }
        for fault in &self.faults {
            println!("fault: {fault}");
        }
        println!(
            "{name}: {} faults, {} warnings",
            self.faults.len(),
            self.warnings.len()
        );
        if self.faults.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        }
    }
}
