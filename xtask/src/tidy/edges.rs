//! Who may depend on whom: arrows point down only.
//!
//! Reads what cargo says, never the manifests themselves. A new arrow is a line here, and so a decision that shows
//! in a review.

use serde_json::Value;

use crate::report::Report;
use crate::tree;

/// Each crate of the workspace with the crates of the workspace that it may ship with.
const ARROWS: [(&str, &[&str]); 17] = [
    ("zonai-limit", &[]),
    ("zonai-limit-suite", &["zonai-limit", "zonai-clock"]),
    ("zonai-clock", &["zonai-limit"]),
    ("zonai-limit-sqlite", &["zonai-limit", "zonai-clock"]),
    ("zonai-http", &["zonai-limit", "zonai-clock"]),
    ("zonai-policy", &["zonai-limit"]),
    ("zonai-engine", &["zonai-limit", "zonai-clock"]),
    ("zonai-rules", &["zonai-engine"]),
    (
        "zonai-data",
        &["zonai-limit", "zonai-clock", "zonai-engine", "zonai-rules"],
    ),
    ("zonai-auth", &["zonai-limit", "zonai-clock", "zonai-data"]),
    (
        "zonai-project",
        &[
            "zonai-limit",
            "zonai-clock",
            "zonai-limit-sqlite",
            "zonai-http",
            "zonai-policy",
            "zonai-data",
            "zonai-auth",
        ],
    ),
    (
        "zonai-code",
        &["zonai-limit", "zonai-data", "zonai-project"],
    ),
    (
        "zonai-connection",
        &["zonai-limit", "zonai-clock", "zonai-http", "zonai-project"],
    ),
    (
        "zonai-server",
        &[
            "zonai-limit",
            "zonai-clock",
            "zonai-limit-sqlite",
            "zonai-http",
            "zonai-policy",
            "zonai-data",
            "zonai-auth",
            "zonai-project",
            "zonai-code",
            "zonai-connection",
        ],
    ),
    (
        "zonai",
        &[
            "zonai-limit",
            "zonai-clock",
            "zonai-limit-sqlite",
            "zonai-http",
            "zonai-policy",
            "zonai-data",
            "zonai-auth",
            "zonai-project",
            "zonai-code",
            "zonai-server",
        ],
    ),
    (
        "zonai-test",
        &[
            "zonai",
            "zonai-clock",
            "zonai-limit",
            "zonai-project",
            "zonai-server",
        ],
    ),
    ("xtask", &[]),
];
/// What every crate's tests may use beside their own arrows.
const FOR_TESTS: [&str; 3] = ["zonai-test", "zonai-limit-suite", "zonai-clock"];
/// Crates from outside that a crate must not name.
const NEVER: [(&str, &[&str]); 9] = [
    (
        "zonai-limit",
        &[
            "tokio",
            "http",
            "hyper",
            "serde",
            "serde_json",
            "rusqlite",
            "rustix",
            "tracing",
        ],
    ),
    ("zonai-limit-sqlite", HTTP),
    ("zonai-policy", HTTP),
    ("zonai-engine", HTTP),
    ("zonai-rules", HTTP),
    ("zonai-data", HTTP),
    ("zonai-auth", HTTP),
    ("zonai-code", HTTP),
    ("zonai-http", &["hyper", "hyper-util", "rusqlite", "axum"]),
];
const HTTP: &[&str] = &[
    "http",
    "http-body",
    "http-body-util",
    "hyper",
    "hyper-util",
    "tower",
    "axum",
];
/// Lists everything that ships with the heart. On a fresh machine this is the first command that needs other crates, and
/// so it fetches what is missing.
const HEART: [&str; 8] = [
    "tree",
    "--locked",
    "--package",
    "zonai-limit",
    "--edges",
    "normal",
    "--prefix",
    "none",
];
/// Crates that must not be anywhere below the heart.
const NOT_BELOW_THE_HEART: [&str; 5] = ["tokio", "http", "serde_json", "hyper", "rusqlite"];

pub(super) fn check(report: &mut Report) -> Result<(), tree::Error> {
    let printed = tree::output(tree::cargo().args([
        "metadata",
        "--no-deps",
        "--offline",
        "--format-version",
        "1",
    ]))?;
    for package in serde_json::from_str::<Value>(&printed)?["packages"]
        .as_array()
        .into_iter()
        .flatten()
    {
        arrows(package, report);
    }
    let below = tree::output(tree::cargo().args(HEART))?;
    for line in below.lines() {
        let name = line.split(' ').next().unwrap_or("");
        if NOT_BELOW_THE_HEART.contains(&name) {
            report.fault("zonai-limit", format_args!("has `{name}` below it"));
        }
    }
    Ok(())
}

fn arrows(package: &Value, report: &mut Report) {
    let name = package["name"].as_str().unwrap_or("");
    let Some((_, allowed)) = ARROWS.iter().find(|(from, _)| *from == name) else {
        report.fault(name, "is in no arrow: add it to xtask/src/tidy/edges.rs");
        return;
    };
    let never = NEVER
        .iter()
        .find(|(from, _)| *from == name)
        .map_or(&[][..], |(_, never)| never);
    for dependency in package["dependencies"].as_array().into_iter().flatten() {
        let to = dependency["name"].as_str().unwrap_or("");
        let ours = ARROWS.iter().any(|(from, _)| *from == to);
        let test = dependency["kind"].as_str() == Some("dev");
        if ours && !allowed.contains(&to) && !(test && FOR_TESTS.contains(&to)) {
            report.fault(
                name,
                format_args!("depends on `{to}`, which no arrow allows"),
            );
        }
        if never.contains(&to) && !test {
            report.fault(
                name,
                format_args!("depends on `{to}`, which it must not know"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::arrows;
    use crate::report::Report;

    fn faults(name: &str, to: &str, kind: Option<&str>) -> usize {
        let mut report = Report::default();
        arrows(
            &json!({"name": name, "dependencies": [{"name": to, "kind": kind}]}),
            &mut report,
        );
        report.faults.len()
    }

    #[test]
    fn arrows_point_down_only() {
        assert_eq!(faults("zonai-server", "zonai-limit", None), 0);
        assert_eq!(faults("zonai-limit", "zonai-server", None), 1);
        assert_eq!(faults("zonai-http", "zonai-data", Some("dev")), 1);
        assert_eq!(faults("zonai-http", "zonai-test", Some("dev")), 0);
        assert_eq!(faults("zonai-new", "zonai-limit", None), 1);
    }

    #[test]
    fn the_data_layer_knows_no_http() {
        assert_eq!(faults("zonai-data", "http", None), 1);
        assert_eq!(faults("zonai-engine", "http", None), 1);
        assert_eq!(faults("zonai-engine", "zonai-data", None), 1);
        assert_eq!(faults("zonai-rules", "zonai-data", None), 1);
        assert_eq!(faults("zonai-auth", "hyper", None), 1);
        assert_eq!(faults("zonai-data", "rusqlite", None), 0);
        assert_eq!(faults("zonai-limit", "tokio", None), 1);
    }
}
