//! From settings to the state of a running server.
//!
//! Must never leave a half-started server: what fails here is undone by being dropped.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use zonai_auth::{Auth, AuthParts, Hasher};
use zonai_clock::Clock;
use zonai_data::history::History;
use zonai_data::{Database, DatabaseOptions, EngineOptions};
use zonai_policy::Diagnostic;
use zonai_limit::{Client, Counters, Internal, Limiter};
use zonai_limit_sqlite::SqliteStore;

use super::{Additions, StartError};
use crate::accounts::{self, AskRules, PasswordColumns};
use crate::body::Held;
use crate::connection::activity::Watch;
use crate::cors::Origins;
use crate::gate::Gate;
use crate::jobs::Jobs;
use crate::listen::Listener;
use crate::live::Live;
use crate::names::Names;
use crate::policies::{self, Policies};
use crate::project;
use crate::self_check::SelfCheck;
use crate::settings::{Bounds, Settings};
use crate::state::State;
use crate::telemetry::Telemetry;

/// Makes the state: schema, rules, policies, counters.
pub(super) async fn state(
    settings: Settings,
    additions: Additions,
    clock: Clock,
    stop: CancellationToken,
) -> Result<State, StartError> {
    let hasher = Hasher::start(&settings.secrets, None)
        .map_err(|error| StartError::Data(format!("cannot start the threads that hash passwords: {error}")))?;
    let hasher = Arc::new(hasher);
    let passwords = Arc::new(PasswordColumns(Arc::clone(&hasher)));
    let (settings, data, clock) = tokio::task::spawn_blocking(move || {
        open_data(&settings, &clock, passwords).map(|data| (settings, data, clock))
    })
    .await
    .map_err(|error| StartError::Data(error.to_string()))??;
    let paths = &settings.paths;
    let tables: Vec<&str> = data.schema().tables().map(|table| table.name.as_str()).collect();
    let mut faults = Vec::new();
    let (operations, found) = project::operations::read(&paths.operations, &paths.project, data.schema());
    faults.extend(found);
    match project::rules::read(&paths.rules, &paths.project, data.schema(), &operations) {
        Ok(rules) => data.set_rights(Box::new(rules)),
        Err(found) => faults.extend(found),
    }
    let crons = project::crons::read(&paths.crons, &paths.project).unwrap_or_else(|found| {
        faults.extend(found);
        Vec::new()
    });
    for name in additions.hooks.table_names().filter(|name| !tables.contains(name)) {
        let fault = Diagnostic::whole_file("hooks", format!("there is no table `{name}`"));
        faults.push(fault.with_nearest(name, tables.iter().copied()));
    }
    let known = project::known(tables.into_iter(), &settings.app.tables, &operations.names());
    data.set_operations(operations);
    let policies = Policies::new(
        paths.rate_limit.clone(),
        &paths.project,
        project::policy_tables(&known),
        additions.rate_limits,
        settings.rate_limit.shared.clone(),
        clock.clone(),
    );
    let counters = Arc::new(Counters::with_prefix(
        settings.rate_limit.max_counters,
        settings.rate_limit.ipv6_prefix,
    ));
    let limiter = match policies.read() {
        Ok(read) => {
            policies.started(read.fingerprint());
            match Limiter::new(Arc::clone(&counters), known, read.registrations, policies.shared()) {
                Ok((limiter, internal)) => Some((limiter, internal)),
                Err(found) => {
                    faults.extend(found.iter().map(policies::diagnose));
                    None
                }
            }
        }
        Err(found) => {
            faults.extend(found);
            None
        }
    };
    let Some((limiter, internal)) = limiter.filter(|_| faults.is_empty()) else {
        return Err(StartError::Faults(faults));
    };
    let limiter = Arc::new(limiter);
    policies::say_misregistered(&limiter);
    let store = SqliteStore::open(
        &paths.data.join(zonai_limit_sqlite::FILE_NAME),
        Arc::clone(&counters),
        Arc::new(Names(Arc::clone(&limiter))),
        clock.clone(),
        zonai_limit_sqlite::Options::default(),
    );
    let gate = gate(&settings, limiter, counters);
    let internal = Arc::new(internal);
    let auth = accounts(&settings, &data, hasher, Arc::clone(&internal), &clock).await?;
    let history = History::open(data.engine().clone(), &*internal, clock.wall_ms())
        .await
        .map_err(|error| StartError::Data(error.to_string()))?;
    Ok(State {
        jobs: Jobs::new(history, crons),
        hooks: additions.hooks,
        bounds: settings.bounds,
        origins: Origins::new(settings.app.cors_origins.as_deref()),
        bodies: Held::new(&settings.bounds),
        watch: Watch::new(settings.bounds, clock.now()),
        self_check: SelfCheck::new(gate.trusted_proxy.is_some()),
        telemetry: Telemetry::new(),
        tasks: TaskTracker::new(),
        started_ms: clock.wall_ms(),
        live: Live::new(settings.bounds.streams_per_client, stop),
        auth_tables: settings
            .app
            .tables
            .iter()
            .filter(|(_, table)| table.has_accounts())
            .map(|(name, _)| name.clone())
            .collect(),
        draft_headers: settings.rate_limit.draft_headers,
        store: Arc::new(store),
        gate,
        policies,
        data,
        auth,
        internal,
        clock,
    })
}

async fn accounts(
    settings: &Settings,
    data: &Database,
    hasher: Arc<Hasher>,
    internal: Arc<Internal>,
    clock: &Clock,
) -> Result<Auth, StartError> {
    let parts = AuthParts {
        engine: data.engine().clone(),
        internal,
        clock: clock.clone(),
        hasher,
        gate: Arc::new(AskRules(data.clone())),
    };
    let told = accounts::settings(settings).map_err(|error| StartError::Data(error.to_string()))?;
    Auth::start(parts, data.schema(), &settings.secrets, told)
        .await
        .map_err(|error| StartError::Data(error.to_string()))
}

/// What decides before a request is admitted.
pub(crate) fn gate(settings: &Settings, limiter: Arc<Limiter>, counters: Arc<Counters>) -> Gate {
    let ids = |admin: bool| {
        settings
            .app
            .tables
            .iter()
            .filter(|(_, table)| if admin { table.admin } else { table.has_accounts() })
            .filter_map(|(name, _)| limiter.table(name))
            .collect()
    };
    Gate {
        auth_tables: ids(false),
        admin_tables: ids(true),
        trusted_proxy: settings.app.trusted_proxy.clone(),
        ipv6_prefix: settings.rate_limit.ipv6_prefix,
        exempt: settings.rate_limit.exempt.clone(),
        limiter,
        counters,
    }
}

fn open_data(settings: &Settings, clock: &Clock, passwords: Arc<PasswordColumns>) -> Result<Database, StartError> {
    std::fs::create_dir_all(&settings.paths.data).map_err(|error| {
        StartError::Data(format!("cannot make the data folder `{}`: {error}", settings.paths.data.display()))
    })?;
    Database::open(DatabaseOptions {
        path: settings.paths.data.join("zonai.sqlite"),
        schemas: settings.paths.schemas.clone(),
        tables: project::table_options(settings),
        engine: engine_options(&settings.bounds),
        clock: clock.clone(),
        hash_password: Some(passwords),
    })
    .map_err(|error| data_fault(&error, settings))
}

fn engine_options(bounds: &Bounds) -> EngineOptions {
    EngineOptions { write_queue: bounds.write_queue, reads: bounds.reads, ..EngineOptions::default() }
}

fn data_fault(error: &zonai_data::StartError, _settings: &Settings) -> StartError {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    StartError::Data(text)
}

/// What an operator should look at, though the server starts.
pub(super) fn warnings(settings: &Settings, listeners: &[Listener]) -> Vec<String> {
    let addresses: Vec<_> = listeners.iter().filter_map(Listener::address).collect();
    let mut warnings: Vec<String> = match &settings.app.trusted_proxy {
        Some(trusted) => trusted.warnings(&addresses).iter().map(ToString::to_string).collect(),
        None => Vec::new(),
    };
    if listeners.len() > addresses.len() {
        warnings.extend(unix_socket_warning(settings));
    }
    warnings
}

/// What to say where a Unix socket is listened on: its peers have no address that could tell them apart.
fn unix_socket_warning(settings: &Settings) -> Option<String> {
    match &settings.app.trusted_proxy {
        Some(trusted) => trusted.unix_socket_warning().map(|warning| warning.to_string()),
        None => Some(format!(
            "a Unix socket has no client addresses and no trusted header is configured: all its requests share one \
             counter per table and operation (client `{}`); set `app.trustedProxy`",
            Client::Local
        )),
    }
}
