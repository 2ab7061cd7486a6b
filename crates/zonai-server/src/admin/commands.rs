//! What operators can ask of a running server.
//!
//! Texts of errors are for operators. Must never be called for a request of the network.

use std::sync::Arc;

use serde_json::{Value, json};
use zonai_limit::{Client, Ipv6Prefix, Operation};
use zonai_limit_sqlite::{CounterRow, Filter, Order};

use crate::explain::{self, Beyond, Explain};
use crate::handlers::health;
use crate::jobs::{JobError, Jobs};
use crate::state::State;
use zonai_project::policies::Reload;

/// Answers one request: `{"command": "limits.free", …}`.
pub(super) async fn answer(state: &Arc<State>, request: &Value) -> Result<Value, String> {
    match text(request, "command").unwrap_or_default() {
        "status" => Ok(status(state)),
        "reload" => Ok(json!({
            "taken": state.policies.reload(&state.gate.limiter, &state.store) != Reload::Kept,
            "faults": state.policies.status().faults,
        })),
        "limits.list" => Ok(limits(&state.gate.limiter).await),
        "limits.explain" => explain_request(state, request).await,
        "limits.top" => Ok(top(state)),
        "limits.counters" => counters(state, request),
        "limits.free" => free(state, request).await,
        "cron.list" => state.jobs.list(state).map_err(|error| error.to_string()),
        "cron.run" => run_job(state, request).await,
        other => Err(format!("unknown command `{other}`")),
    }
}

fn text<'a>(request: &'a Value, key: &str) -> Option<&'a str> {
    request.get(key).and_then(Value::as_str)
}

/// A job that ran and failed is an answer; that there is none of that name is the question's fault.
async fn run_job(state: &Arc<State>, request: &Value) -> Result<Value, String> {
    let name = text(request, "name").ok_or("`name` is missing")?;
    match Jobs::run_by_hand(state, name).await {
        Ok(done) => Ok(json!({"name": name, "ok": true, "message": done})),
        Err(error @ JobError::Unknown { .. }) => Err(error.to_string()),
        Err(error) => Ok(json!({"name": name, "ok": false, "message": error.to_string()})),
    }
}

fn status(state: &State) -> Value {
    let policies = state.policies.status();
    let store = state.store.metrics();
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "pid": std::process::id(),
        "startedMs": state.started_ms,
        "connections": state.watch.count(),
        "counters": state.gate.counters.len(),
        "backlog": store.backlog,
        "policies": {
            "version": policies.version,
            "sinceMs": policies.since_ms,
            "faults": policies.faults,
            "misregistered": health::misregistered(&state.gate.limiter, ToString::to_string),
        },
    })
}

/// The effective limits, for `limits list`.
pub(crate) async fn limits(limiter: &zonai_limit::Limiter) -> Value {
    let listed: Vec<Value> = limiter
        .effective()
        .await
        .iter()
        .map(|limit| {
            let windows: Vec<Value> = limit
                .windows
                .iter()
                .map(|policy| json!({"maxRequests": policy.max_requests(), "windowMs": policy.window_ms()}))
                .collect();
            json!({
                "collection": &*limit.collection,
                "operation": limit.operation.name(),
                "customOperation": limit.custom.as_deref(),
                "windows": windows,
                "mode": if limit.mode == zonai_limit::Mode::Observe { "observe" } else { "enforce" },
                "origin": limit.origin.to_string(),
            })
        })
        .collect();
    json!({"limits": listed})
}

async fn explain_request(state: &State, request: &Value) -> Result<Value, String> {
    let asked = Explain::from_question(request).map_err(|error| error.to_string())?;
    let beyond = Beyond {
        auth: &state.auth,
        places: &state.live.places,
    };
    explain::explain(&state.gate, &state.clock, &asked, Some(beyond))
        .await
        .map_err(|error| error.to_string())
}

fn top(state: &State) -> Value {
    let places: Vec<Value> = state
        .telemetry
        .top
        .list()
        .iter()
        .map(|place| {
            json!({
                "client": place.client.to_string(),
                "collection": &*place.collection,
                "operation": place.operation.name(),
                "refused": place.refused,
                "error": place.error,
            })
        })
        .collect();
    json!({"refused": places})
}

fn counters(state: &State, request: &Value) -> Result<Value, String> {
    let filter = filter(request, state.gate.ipv6_prefix)?;
    let limit = request.get("limit").and_then(Value::as_u64).unwrap_or(100);
    let listing = state.store.list(
        &filter,
        Order::Count,
        0,
        usize::try_from(limit).unwrap_or(100).min(10_000),
    );
    Ok(json!({
        "total": listing.total,
        "counters": listing.rows.iter().map(row).collect::<Vec<_>>(),
    }))
}

async fn free(state: &State, request: &Value) -> Result<Value, String> {
    if text(request, "ip").is_none() {
        return Err("`ip` is missing".to_owned());
    }
    let filter = filter(request, state.gate.ipv6_prefix)?;
    let freed = state
        .store
        .free(filter)
        .await
        .map_err(|error| error.to_string())?;
    Ok(json!({
        "freed": freed.counters,
        "onFile": freed.on_file,
        "wider": freed.wider.iter().map(row).collect::<Vec<_>>(),
    }))
}

/// Which counters `ip`, `table` and `operation` mean.
pub(crate) fn filter(request: &Value, prefix: Ipv6Prefix) -> Result<Filter, String> {
    let client = text(request, "ip")
        .map(|ip| {
            Client::parse(ip, prefix).ok_or_else(|| format!("`{ip}` is no address and no network"))
        })
        .transpose()?;
    let operation = text(request, "operation")
        .map(|name| Operation::from_name(name).ok_or_else(|| format!("`{name}` is no operation")))
        .transpose()?;
    Ok(Filter {
        client,
        table: text(request, "table").map(str::to_owned),
        operation,
    })
}

/// One counter, as `_rate_limit` shows it.
#[must_use]
pub fn row(row: &CounterRow) -> Value {
    json!({
        "id": row.id,
        "client_ip": row.client_ip,
        "table": row.table,
        "operation": row.operation,
        "window_start": row.window_start,
        "count": row.count,
        "window_ms": row.window_ms,
    })
}
