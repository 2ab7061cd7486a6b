//! Limits and explanations where no server runs: the files, and the stored counters.
//!
//! Must never count. Failed sign-ins are not in it: their keys need the accounts open.

use serde_json::Value;
use zonai_clock::Clock;
use zonai_data::error::with_causes;
use zonai_limit::{Client, CounterKey, CounterState, Ipv6Prefix, Moment, Operation};
use zonai_limit_sqlite::{CounterRow, FILE_NAME, Filter, SlotNames};
use zonai_project::reading::{self, Limits};
use zonai_project::settings::Settings;
use zonai_project::{operations, schema};

use super::{Explain, ExplainError};
use crate::gate::Gate;
use crate::{Additions, StartError};

/// The effective limits of a project, as `limits.list` of a running server answers. `additions` are what a program registers.
///
/// # Errors
/// With every fault of the schema and the policies.
pub async fn limits(
    settings: &Settings,
    additions: &Additions,
    clock: &Clock,
) -> Result<Value, StartError> {
    let limits = read(settings, additions, clock)?;
    Ok(crate::admin::limits(&limits.limiter).await)
}

/// What would happen to a request, by the stored counters: as [`Running::explain`](crate::Running::explain) of a running server answers.
/// No server may run on the data folder meanwhile.
///
/// # Errors
/// When the schema, the policies or the counter file cannot be read, or the request is none.
pub async fn offline(
    settings: &Settings,
    additions: &Additions,
    clock: &Clock,
    request: &Explain,
) -> Result<Value, OfflineError> {
    let Limits {
        limiter, counters, ..
    } = read(settings, additions, clock)?;
    let path = settings.paths.data.join(FILE_NAME);
    let rows = zonai_limit_sqlite::offline::list(&path, clock, &Filter::default());
    let rows = rows.map_err(|error| {
        StartError::Data(format!(
            "the stored counters cannot be read: {}",
            with_causes(&error)
        ))
    })?;
    for row in &rows {
        if let Some((key, state)) = counter(&limiter, row, clock) {
            counters.restore(key, state);
        }
    }
    let gate = Gate::new(settings, limiter, counters);
    Ok(super::explain(&gate, clock, request, None).await?)
}

/// Why nothing can be said without a server.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OfflineError {
    /// The files or the stored counters are at fault.
    #[error(transparent)]
    Files(#[from] StartError),
    /// The request is none.
    #[error(transparent)]
    Request(#[from] ExplainError),
}

fn read(settings: &Settings, additions: &Additions, clock: &Clock) -> Result<Limits, StartError> {
    let code = additions.in_code();
    let schema = schema::in_memory(settings, clock).map_err(StartError::Faults)?;
    let tables: Vec<&str> = schema.tables().map(|table| table.name.as_str()).collect();
    let (operations, _told_by_check) = operations::read(
        &settings.paths.operations,
        &settings.paths.project,
        &schema,
        &code.operations,
    );
    reading::limits(settings, &code.rate_limits, &tables, &operations, clock)
        .map_err(StartError::Faults)
}

/// A stored counter as it is in memory; `None` for what is counted no more.
fn counter(
    limiter: &zonai_limit::Limiter,
    row: &CounterRow,
    clock: &Clock,
) -> Option<(CounterKey, CounterState)> {
    // Of failed sign-ins, which have the account behind the operation, none is meant.
    let operation = Operation::from_name(&row.operation)?;
    // An IPv6 address without a length is a /128.
    let client = Client::parse(&row.client_ip, Ipv6Prefix::new(128)?)?;
    let slot = limiter.slot_of(&row.table, operation, row.window_ms)?;
    let now = clock.now();
    let age = clock.steady_wall_ms(now).saturating_sub(row.window_start);
    let age = u64::try_from(age).unwrap_or(0);
    let window_start = Moment::from_millis(now.as_millis().saturating_sub(age));
    Some((
        CounterKey {
            client,
            slot,
            account: 0,
        },
        CounterState {
            window_start,
            count: row.count,
        },
    ))
}
