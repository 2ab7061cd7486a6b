//! The counters on file, for when no server runs.
//!
//! Must never be shown as those of a running server.

use std::path::Path;

use zonai_clock::Clock;
use zonai_data::error::with_causes;
use zonai_limit_sqlite::{CounterRow, FILE_NAME, Filter, offline};

use crate::{Error, Result};

/// The stored counters that are meant, the fullest first.
pub(super) fn fullest(data: &Path, filter: &Filter) -> Result<Vec<CounterRow>> {
    let path = data.join(FILE_NAME);
    let mut rows = offline::list(&path, &Clock::system(), filter).map_err(|error| {
        Error::Server(format!(
            "the stored counters cannot be read: {}",
            with_causes(&error)
        ))
    })?;
    rows.sort_by_key(|row| std::cmp::Reverse(row.count));
    Ok(rows)
}
