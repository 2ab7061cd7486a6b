//! `/health`: whether the server is well, and since when which policies are in force. Never limited.
//!
//! Anybody may read it. Must never show a path, an address or a name of the project.

use http::StatusCode;
use serde_json::json;
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
            "reason": fault.to_string(),
            "sinceMs": state.clock.steady_wall_ms(since),
        }),
        _ => json!({"status": "degraded"}),
    };
    let misregistered: Vec<String> = state
        .gate
        .limiter
        .misregistered()
        .iter()
        .map(ToString::to_string)
        .collect();
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
