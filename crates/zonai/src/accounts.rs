//! Accounts without a server: for `zonai admin`, beside a running server or without one.
//!
//! Must never apply a schema file while a server runs, which knows the tables it started with.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use zonai_auth::{
    Auth, AuthAsk, AuthError, AuthGate, AuthParts, AuthSettings, Hasher, TableSetup, Templates,
};
use zonai_clock::Clock;
use zonai_data::{Engine, EngineOptions, Migrations, Schema, StartError, TableOptions};
use zonai_limit::Internal;
use zonai_server::settings::{AuthMethod, Settings};

use crate::files::{DATA_FILE, chain, schema_faults};
use crate::lock::{DataLock, LockError};
use crate::{App, Error, Result};

/// The accounts of a project, open until closed.
pub(crate) struct Accounts {
    auth: Auth,
    engine: Engine,
    hasher: Arc<Hasher>,
    internal: Arc<Internal>,
    /// `None` where a server runs.
    _lock: Option<DataLock>,
}

impl Accounts {
    /// Opens the database of a project and the accounts in it.
    pub(crate) async fn open(app: &App) -> Result<Self> {
        let clock = Clock::system();
        let files = app.files(&clock);
        let Some(internal) = files.internal.filter(|_| files.faults.is_empty()) else {
            return Err(Error::Faults(files.faults));
        };
        let internal = Arc::new(internal);
        let settings = app.resolved()?.settings;
        let lock = match DataLock::acquire(&settings.paths.data) {
            Ok(lock) => {
                migrate(&settings, &clock)?;
                Some(lock)
            }
            Err(LockError::Held { .. }) => None,
            Err(other) => return Err(other.into()),
        };
        let path = settings.paths.data.join(DATA_FILE);
        let engine = Engine::open(
            &path,
            &EngineOptions {
                readers: 2,
                ..EngineOptions::default()
            },
        )
        .map_err(failed)?;
        let options = table_options(&settings);
        let schema = engine
            .read(&*internal, move |connection| {
                Ok(Schema::read(connection, &options))
            })
            .await;
        let schema = schema.map_err(failed)?.map_err(failed)?;
        let hasher = Arc::new(Hasher::start(&settings.secrets, None).map_err(failed)?);
        let parts = AuthParts {
            engine: engine.clone(),
            internal: Arc::clone(&internal),
            clock,
            hasher: Arc::clone(&hasher),
            gate: Arc::new(NobodyAsks),
        };
        let auth = Auth::start(parts, &schema, &settings.secrets, auth_settings(&settings)?)
            .await
            .map_err(failed)?;
        Ok(Self {
            auth,
            engine,
            hasher,
            internal,
            _lock: lock,
        })
    }

    pub(crate) fn auth(&self) -> &Auth {
        &self.auth
    }

    /// The token of work that has no request.
    pub(crate) fn pass(&self) -> &Internal {
        &self.internal
    }

    /// Ends everything that was started.
    pub(crate) async fn close(self) {
        self.auth.close(Duration::ZERO).await;
        self.hasher.close();
        self.engine.close();
    }
}

fn migrate(settings: &Settings, clock: &Clock) -> Result<()> {
    let refused = |error: StartError| Error::Faults(schema_faults(&error, &settings.paths.schemas));
    let migrations =
        Migrations::read(&settings.paths.schemas).map_err(|error| refused(error.into()))?;
    let path = settings.paths.data.join(DATA_FILE);
    migrations
        .apply_to(&path, &EngineOptions::default(), clock)
        .map_err(|error| refused(error.into()))?;
    Ok(())
}

fn table_options(settings: &Settings) -> BTreeMap<String, TableOptions> {
    let options = settings.app.tables.iter().map(|(name, table)| {
        let options = TableOptions {
            auth: table.has_accounts(),
            admin: table.admin,
            id_suffix: table.id_suffix.clone(),
            ..TableOptions::default()
        };
        (name.clone(), options)
    });
    options.collect()
}

/// Only the tables matter here: nobody signs in and nothing is mailed.
fn auth_settings(settings: &Settings) -> Result<AuthSettings> {
    let tables = settings
        .app
        .tables
        .iter()
        .filter(|(_, table)| table.has_accounts())
        .map(|(name, table)| {
            let has = |method| table.auth.contains(&method);
            TableSetup {
                name: name.clone(),
                password: has(AuthMethod::Password),
                otp: has(AuthMethod::Otp),
                magic_link: has(AuthMethod::MagicLink),
                admin: table.admin,
            }
        });
    Ok(AuthSettings {
        app_name: settings.app.name.clone(),
        base_url: settings.app.base_url.clone(),
        session: settings.app.jwt_expires_in,
        tables: tables.collect(),
        mail: None,
        templates: Templates::load(None).map_err(failed)?,
    })
}

/// No account acts here, so no rule is asked.
struct NobodyAsks;

impl AuthGate for NobodyAsks {
    fn allows(&self, _connection: &Connection, _ask: &AuthAsk<'_>) -> Result<bool, AuthError> {
        Ok(false)
    }
}

fn failed(error: impl std::error::Error) -> Error {
    Error::Server(chain(&error))
}
