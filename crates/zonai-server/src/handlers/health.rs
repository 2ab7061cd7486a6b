//! `/health`: whether the server is well, and since when which policies are in force. Never limited.
//!
//! Anybody may read it. Must never show where on this machine the project is, an address, or more names of the project
//! than what is limited twice.

use std::path::Path;

use http::StatusCode;
use serde_json::{Value, json};
use zonai_limit::{Limiter, Origin};
use zonai_limit_sqlite::Health;

use crate::reply::{self, Answer};
use crate::state::State;

/// 200 also where something is wrong: the server decides and serves.
pub(crate) fn answer(state: &State) -> Answer {
    let policies = state.policies.status();
    let counters = match state.store.health() {
        Health::Ok => json!({"status": "ok"}),
        Health::Degraded { fault, since } => json!({
            "status": "degraded",
            "reason": fault.in_short(),
            "sinceMs": state.clock.steady_wall_ms(since),
        }),
        _ => json!({"status": "degraded"}),
    };
    let misregistered = misregistered(&state.gate.limiter, place);
    let well = counters["status"] == "ok" && policies.faults.is_empty() && misregistered.is_empty();
    let body = json!({
        "status": if well { "ok" } else { "degraded" },
        "counters": counters,
        "policies": {
            "version": policies.version,
            "sinceMs": policies.since_ms,
            "faults": policies.faults.len(),
            "misregistered": misregistered,
        },
    });
    reply::json(StatusCode::OK, body.to_string().into())
}

/// Every table that is limited twice, with both places as `place` shows them.
pub(crate) fn misregistered(limiter: &Limiter, place: fn(&Origin) -> String) -> Vec<Value> {
    let twice = limiter.misregistered();
    let shown = |one: &zonai_limit::Misregistered| {
        json!({
            "error": one.to_string(),
            "first": place(&one.first),
            "second": place(&one.second),
        })
    };
    twice.iter().map(shown).collect()
}

/// Files outside the project have absolute paths: their names alone are shown.
fn place(origin: &Origin) -> String {
    match origin {
        Origin::File { path, line, column } if Path::new(&**path).is_absolute() => {
            let name = Path::new(&**path).file_name().unwrap_or_default();
            format!("{}:{line}:{column}", name.display())
        }
        inside => inside.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_outside_the_project_is_shown_without_its_folder() {
        let at = |path: &str| Origin::File {
            path: path.into(),
            line: 2,
            column: 3,
        };
        assert_eq!(place(&at("/srv/shared/tasks.yaml")), "tasks.yaml:2:3");
        let inside = "lib/src/rate_limit/tasks.yaml";
        assert_eq!(place(&at(inside)), format!("{inside}:2:3"));
    }
}
