//! Which table names can be served, and which name was probably meant.

/// What a table name means to the server.
pub(crate) enum TableName {
    Served,
    /// Begins with `_`.
    Internal,
}

/// Names with `:` would clash with the counters of custom operations, names with `__` with the shared buckets.
pub(crate) fn check_table_name(name: &str) -> Result<TableName, &'static str> {
    if name.starts_with("__") {
        return Err("the name must not begin with `__`");
    }
    if name.contains(':') {
        return Err("the name must not contain `:`");
    }
    if name.is_empty() || name.contains('\0') {
        return Err("the name must not be empty");
    }
    if name.starts_with('_') || name.to_ascii_lowercase().starts_with("sqlite_") {
        return Ok(TableName::Internal);
    }
    Ok(TableName::Served)
}

/// The candidate most like `name` in any letter case, if one is alike enough to have been meant: a Jaro-Winkler likeness
/// over 0.8. For "did you mean" in messages only, never to choose.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .map(|candidate| {
            let likeness = strsim::jaro_winkler(&name.to_lowercase(), &candidate.to_lowercase());
            (likeness, candidate)
        })
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}
