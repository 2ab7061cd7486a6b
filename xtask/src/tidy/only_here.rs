//! What may exist in one place only, or nowhere.
//!
//! One function builds a 429; one file turns errors into answers; handlers hold no SQL; nothing is a mutable static.
//! Must never look at tests: they name statuses and SQL to check them.

use crate::report::Report;
use crate::source::Source;

/// The file with the one function that builds a 429.
const REFUSAL: &str = "crates/zonai-http/src/refusal.rs";
/// The file that turns errors into answers.
const ERRORS: &str = "crates/zonai-server/src/errors.rs";
/// The tower layer stands without the server, and has one error of its own: two limits for one table.
const LAYER: &str = "crates/zonai-http/src/guard/future.rs";
/// Where requests are handled; SQL is the business of the crates below.
const NO_SQL: [&str; 2] = ["crates/zonai-server/src/", "crates/zonai-http/src/"];
/// Statuses that are no error: everyone may answer them.
const FINE: [&str; 9] = [
    "CONTINUE",
    "SWITCHING_PROTOCOLS",
    "OK",
    "CREATED",
    "ACCEPTED",
    "NO_CONTENT",
    "NOT_MODIFIED",
    "SEE_OTHER",
    "FOUND",
];
const SQL: [&str; 8] = [
    "SELECT ",
    "INSERT INTO ",
    "INSERT OR ",
    "DELETE FROM ",
    "CREATE TABLE ",
    "PRAGMA ",
    "ALTER TABLE ",
    "DROP TABLE ",
];
const MUTABLE: [&str; 8] = [
    "Mutex", "RwLock", "Atomic", "OnceLock", "OnceCell", "RefCell", "Cell<", "ArcSwap",
];

pub(super) fn check(sources: &[Source], report: &mut Report) {
    let crates = || {
        sources
            .iter()
            .filter(|source| source.path.starts_with("crates/"))
    };
    refusals(crates(), report);
    for source in crates() {
        statuses(source, report);
        statics(source, report);
        sql(source, report);
    }
}

/// Exactly one function builds a 429.
fn refusals<'a>(sources: impl Iterator<Item = &'a Source>, report: &mut Report) {
    let mut places = Vec::new();
    for source in sources {
        for (number, line) in source
            .shipped()
            .filter(|(_, line)| builds(line, "TOO_MANY_REQUESTS") || makes_429(line))
        {
            places.push((
                format!("{}:{number}", source.path),
                source.path == REFUSAL,
                line.trim().to_owned(),
            ));
        }
    }
    for (place, _, line) in places.iter().filter(|(_, home, _)| !home) {
        report.fault(
            place,
            format_args!("builds a 429; only {REFUSAL} does: `{line}`"),
        );
    }
    let home = places.iter().filter(|(_, home, _)| *home).count();
    if home != 1 {
        report.fault(
            REFUSAL,
            format_args!("builds a 429 in {home} places; one function does"),
        );
    }
}

/// Only one file turns errors into answers.
fn statuses(source: &Source, report: &mut Report) {
    if [ERRORS, REFUSAL, LAYER].contains(&source.path.as_str()) {
        return;
    }
    for (number, line) in source.shipped() {
        let error = line.match_indices("StatusCode::").find_map(|(at, found)| {
            let name: String = line[at + found.len()..]
                .chars()
                .take_while(|c| c.is_ascii_uppercase() || *c == '_')
                .collect();
            let error = name.len() > 1 && !FINE.contains(&name.as_str()) && builds(line, &name);
            error.then_some(name)
        });
        if let Some(name) = error.filter(|name| name != "TOO_MANY_REQUESTS") {
            let place = format!("{}:{number}", source.path);
            report.fault(
                place,
                format_args!("answers {name}; only {ERRORS} turns an error into an answer"),
            );
        }
    }
}

fn statics(source: &Source, report: &mut Report) {
    for (number, line) in source.shipped() {
        let declared = line
            .trim_start()
            .trim_start_matches("pub ")
            .trim_start_matches("pub(crate) ");
        let Some(declared) = declared.strip_prefix("static ") else {
            continue;
        };
        if declared.starts_with("mut ") || MUTABLE.iter().any(|kind| declared.contains(kind)) {
            report.fault(
                format!("{}:{number}", source.path),
                "a static that changes; hand the value down instead",
            );
        }
    }
}

fn sql(source: &Source, report: &mut Report) {
    if !NO_SQL.iter().any(|start| source.path.starts_with(start)) {
        return;
    }
    for (number, text) in source
        .strings
        .iter()
        .filter(|(line, _)| !source.is_test_line(*line))
    {
        if SQL.iter().any(|word| text.trim_start().starts_with(word)) {
            report.fault(
                format!("{}:{number}", source.path),
                "SQL outside the data layer",
            );
        }
    }
}

/// Whether `line` uses the status `name` other than in a comparison or a pattern.
fn builds(line: &str, name: &str) -> bool {
    line.match_indices(name).any(|(at, _)| {
        let before = line[..at]
            .trim_end_matches(|c: char| c.is_alphanumeric() || matches!(c, ':' | '_'))
            .trim_end();
        let after = line[at + name.len()..].trim_start();
        let compared = ["==", "!="]
            .iter()
            .any(|sign| before.ends_with(sign) || after.starts_with(sign));
        !compared && !after.starts_with("=>") && !after.starts_with('|')
    })
}

fn makes_429(line: &str) -> bool {
    ["from_u16(429", ".status(429", "StatusCode::from(429"]
        .iter()
        .any(|text| line.contains(text))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::report::Report;
    use crate::source::Source;

    const ONE: &str = "fn a() { *r.status_mut() = StatusCode::TOO_MANY_REQUESTS; }";

    fn faults(more: &[(&str, &str)]) -> Vec<String> {
        let mut sources = vec![Source::new(super::REFUSAL, ONE)];
        sources.extend(more.iter().map(|(path, text)| Source::new(path, text)));
        let mut report = Report::default();
        check(&sources, &mut report);
        report.faults
    }

    #[test]
    fn a_second_place_that_builds_a_429_is_a_fault() {
        assert!(faults(&[]).is_empty());
        assert_eq!(
            faults(&[("crates/zonai-server/src/stream.rs", ONE)]).len(),
            1
        );
        assert_eq!(
            faults(&[(
                "crates/zonai-server/src/s.rs",
                "let a = StatusCode::from_u16(429);"
            )])
            .len(),
            1
        );
        assert_eq!(
            faults(&[(super::REFUSAL, "fn b() {}")]).len(),
            0,
            "the second file of one path adds nothing"
        );
        assert!(
            faults(&[(
                "crates/zonai-server/src/cors.rs",
                "if s != StatusCode::TOO_MANY_REQUESTS {}"
            )])
            .is_empty()
        );
        assert!(faults(&[("crates/zonai-server/tests/it/a.rs", ONE)]).is_empty());
    }

    #[test]
    fn no_place_that_builds_a_429_is_a_fault() {
        let mut report = Report::default();
        check(
            &[Source::new("crates/zonai-http/src/lib.rs", "")],
            &mut report,
        );
        assert_eq!(report.faults.len(), 1);
    }

    #[test]
    fn only_one_file_maps_errors() {
        let text = "fn a() -> Answer { json(StatusCode::NOT_FOUND, x) }";
        assert_eq!(
            faults(&[("crates/zonai-server/src/handlers/get.rs", text)]).len(),
            1
        );
        assert!(faults(&[(super::ERRORS, text)]).is_empty());
        let fine = "fn a() -> Answer { json(StatusCode::OK, x) }";
        assert!(faults(&[("crates/zonai-server/src/handlers/get.rs", fine)]).is_empty());
    }

    #[test]
    fn handlers_hold_no_sql() {
        let text = "fn a() { db.run(\"SELECT 1\"); }";
        assert_eq!(
            faults(&[("crates/zonai-server/src/handlers/get.rs", text)]).len(),
            1
        );
        assert!(faults(&[("crates/zonai-data/src/read.rs", text)]).is_empty());
    }

    #[test]
    fn a_static_does_not_change() {
        let path = "crates/zonai-server/src/a.rs";
        assert_eq!(faults(&[(path, "static mut N: u8 = 0;")]).len(), 1);
        assert_eq!(
            faults(&[(path, "pub(crate) static N: AtomicU64 = AtomicU64::new(0);")]).len(),
            1
        );
        assert!(faults(&[(path, "static N: &str = \"Mutex\";")]).is_empty());
    }
}
