//! From settings to the state of a running server.
//!
//! Must never leave a half-started server: what fails here is undone by being dropped.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use zonai_auth::{Auth, AuthParts, Hasher, SetupError};
use zonai_clock::Clock;
use zonai_code::Code;
use zonai_connection::{Held, Listener, Watch};
use zonai_data::error::with_causes;
use zonai_data::history::History;
use zonai_data::{Database, DatabaseOptions, EngineOptions, Operations, Rules};
use zonai_limit::Client;
use zonai_limit_sqlite::SqliteStore;
use zonai_policy::Diagnostic;
use zonai_project::crons::CronFile;
use zonai_project::reading::{self, Limits, Reading};
use zonai_project::settings::{Bounds, Settings};
use zonai_project::{InCode, accounts as account_settings, policies, schema};

use super::{Additions, StartError};
use crate::accounts::{AskRules, PasswordColumns};
use crate::cors::Origins;
use crate::gate::Gate;
use crate::jobs::Jobs;
use crate::live::Live;
use crate::self_check::SelfCheck;
use crate::state::State;
use crate::telemetry::Telemetry;

/// What was opened and read, before anything runs.
struct Opened {
    data: Database,
    operations: Operations,
    rules: Rules,
    crons: Vec<CronFile>,
    limits: Limits,
}

/// Makes the state: schema, rules, policies, counters, accounts.
pub(crate) async fn state(
    settings: Settings,
    additions: Additions,
    clock: Clock,
    stop: CancellationToken,
) -> Result<State, StartError> {
    let hasher = Hasher::start(&settings.secrets, None).map_err(|error| {
        StartError::Data(format!(
            "cannot start the threads that hash passwords: {error}"
        ))
    })?;
    let hasher = Arc::new(hasher);
    let passwords = Arc::new(PasswordColumns(Arc::clone(&hasher)));
    let code = additions.in_code();
    let (settings, clock, opened) = tokio::task::spawn_blocking(move || {
        open(&settings, &code, &clock, passwords).map(|opened| (settings, clock, opened))
    })
    .await
    .map_err(|error| StartError::Data(error.to_string()))??;
    let Opened {
        data,
        operations,
        rules,
        crons,
        limits,
    } = opened;
    let Limits {
        policies,
        counters,
        limiter,
        internal,
    } = limits;
    data.set_operations(operations);
    data.set_rights(Box::new(rules));
    policies::say_misregistered(&limiter);
    let store = SqliteStore::open(
        &settings.paths.data.join(zonai_limit_sqlite::FILE_NAME),
        Arc::clone(&counters),
        Arc::<zonai_limit::Limiter>::clone(&limiter),
        clock.clone(),
        zonai_limit_sqlite::Options::default(),
    );
    let gate = Gate::new(&settings, limiter, counters);
    let internal = Arc::new(internal);
    let hooks = Arc::new(additions.hooks);
    let gate_of_accounts = AskRules {
        data: data.clone(),
        hooks: Arc::clone(&hooks),
    };
    let parts = AuthParts {
        engine: data.engine().clone(),
        internal: Arc::clone(&internal),
        clock: clock.clone(),
        hasher,
        gate: Arc::new(gate_of_accounts),
    };
    let auth = accounts(&settings, &data, parts).await?;
    let history = History::open(data.engine().clone(), &*internal, clock.wall_ms())
        .await
        .map_err(|error| StartError::Data(error.to_string()))?;
    let auth_tables = account_settings::tables(&settings)
        .into_iter()
        .map(|table| table.name)
        .collect();
    let bounds = settings.bounds;
    Ok(State {
        jobs: Jobs::new(history, crons),
        code: Code::new(
            data.clone(),
            hooks,
            additions.operations,
            Arc::clone(&internal),
        ),
        bounds: settings.bounds,
        origins: Origins::new(settings.app.cors_origins.as_deref()),
        bodies: Held::new(bounds.body_bytes, bounds.body_bytes_per_client),
        answers: Held::new(bounds.answer_bytes, bounds.answer_bytes_per_client),
        watch: Watch::new(settings.bounds, clock.now()),
        self_check: SelfCheck::new(gate.trusted_proxy.is_some()),
        telemetry: Telemetry::new(),
        tasks: TaskTracker::new(),
        cut: CancellationToken::new(),
        started_ms: clock.wall_ms(),
        live: Live::new(settings.bounds.streams_per_client, stop),
        auth_tables,
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

/// Opens the data and reads the files. Blocks on the disk.
fn open(
    settings: &Settings,
    code: &InCode,
    clock: &Clock,
    passwords: Arc<PasswordColumns>,
) -> Result<Opened, StartError> {
    // Before anything is written.
    let faults = zonai_project::stopping(settings, code, clock);
    if !faults.is_empty() {
        return Err(StartError::Faults(faults));
    }
    let data = open_data(settings, clock, passwords)?;
    let Reading {
        operations,
        rules,
        crons,
        limits,
        mut faults,
    } = reading::read(settings, code, data.schema(), clock);
    faults.extend(schema::configured(settings, data.schema()));
    match (rules, limits) {
        (Some(rules), Some(limits)) if faults.is_empty() => Ok(Opened {
            data,
            operations,
            rules,
            crons,
            limits,
        }),
        _ => Err(StartError::Faults(faults)),
    }
}

async fn accounts(
    settings: &Settings,
    data: &Database,
    parts: AuthParts,
) -> Result<Auth, StartError> {
    let told = account_settings::settings(settings).map_err(|error| {
        StartError::Faults(vec![zonai_project::template_fault(
            &error,
            &settings.paths.project,
        )])
    })?;
    Auth::start(parts, data.schema(), &settings.secrets, told)
        .await
        .map_err(setup_fault)
}

/// What accounts lack is the project's fault; the rest is the machine's.
pub(crate) fn setup_fault(error: SetupError) -> StartError {
    match error {
        SetupError::Engine(_) | SetupError::Keys => StartError::Data(with_causes(&error)),
        other => {
            let text = with_causes(&other);
            // The text begins with the key that is at fault.
            let (key, message) = text.split_once(": ").unwrap_or(("app.tables", &text));
            StartError::Faults(vec![Diagnostic::whole_file(key, message)])
        }
    }
}

fn open_data(
    settings: &Settings,
    clock: &Clock,
    passwords: Arc<PasswordColumns>,
) -> Result<Database, StartError> {
    std::fs::create_dir_all(&settings.paths.data).map_err(|error| {
        StartError::Data(format!(
            "cannot make the data folder `{}`: {error}",
            settings.paths.data.display()
        ))
    })?;
    Database::open(DatabaseOptions {
        path: settings.paths.data.join(crate::DATA_FILE),
        schemas: settings.paths.schemas.clone(),
        tables: zonai_project::table_options(settings),
        engine: engine_options(&settings.bounds),
        clock: clock.clone(),
        hash_password: Some(passwords),
    })
    .map_err(|error| data_fault(&error, settings))
}

fn engine_options(bounds: &Bounds) -> EngineOptions {
    EngineOptions {
        write_queue: bounds.write_queue,
        reads: bounds.reads,
        ..EngineOptions::default()
    }
}

/// What the schema files are at fault for has its place; the rest is the data's.
pub(crate) fn data_fault(error: &zonai_data::StartError, settings: &Settings) -> StartError {
    match error {
        zonai_data::StartError::Open(_) => StartError::Data(with_causes(error)),
        _ => StartError::Faults(schema::faults(error, &settings.paths)),
    }
}

/// What an operator should look at, though the server starts.
pub(super) fn warnings(settings: &Settings, listeners: &[Listener]) -> Vec<String> {
    let addresses: Vec<_> = listeners.iter().filter_map(Listener::address).collect();
    let mut warnings: Vec<String> = match &settings.app.trusted_proxy {
        Some(trusted) => trusted
            .warnings(&addresses)
            .iter()
            .map(ToString::to_string)
            .collect(),
        None => Vec::new(),
    };
    if listeners.len() > addresses.len() {
        warnings.extend(unix_socket_warning(settings));
    }
    if settings.app.mail.is_none() && settings.app.dev_mail {
        warnings.push(
            "mails are printed here, in the log, with the links and codes that sign in (`app.devMail` without \
             `app.email`): not for a server that others reach"
                .to_owned(),
        );
    }
    warnings
}

/// What to say where a Unix socket is listened on: its peers have no address that could tell them apart.
fn unix_socket_warning(settings: &Settings) -> Option<String> {
    match &settings.app.trusted_proxy {
        Some(trusted) => trusted
            .unix_socket_warning()
            .map(|warning| warning.to_string()),
        None => Some(format!(
            "a Unix socket has no client addresses and no trusted header is configured: all its requests share one \
             counter per table and operation (client `{}`); set `app.trustedProxy`",
            Client::Local
        )),
    }
}

#[cfg(test)]
mod tests {
    use zonai_test::Project;

    use super::*;

    #[test]
    fn mails_in_the_log_are_warned_of() {
        let warned = |app: &str| {
            let project = Project::new();
            project.file("zonai.yaml", &format!("app:\n{app}"));
            let warnings = warnings(&project.settings(), &[]);
            warnings.iter().any(|text| text.contains("app.devMail"))
        };
        assert!(warned("  devMail: true\n"));
        assert!(!warned("  devMail: false\n"));
        let mail = "  email: {host: 127.0.0.1, port: 25, tls: none, from: a@example.com}\n";
        assert!(
            !warned(&format!("  devMail: true\n{mail}")),
            "they are sent, and not printed"
        );
    }
}
