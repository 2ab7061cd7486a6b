//! The accounts of a project without its server, for whoever holds the machine.
//!
//! Must never apply a schema file beside a running server, which knows the tables it started with.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;
use zonai_auth::{Auth, AuthAsk, AuthError, AuthGate, AuthParts, AuthSettings, Hasher, Templates};
use zonai_clock::Clock;
use zonai_data::error::with_causes;
use zonai_data::{Engine, EngineOptions, Migrations, Schema};
use zonai_limit::{Counters, Internal, Known, Limiter};
use zonai_project::settings::Settings;
use zonai_project::{accounts, schema as project_schema, table_options};

use crate::server::{StartError, start};

/// Whether a server runs on the same data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beside {
    /// None: schema files that are new are applied.
    Nobody,
    /// One does: the tables are those it started with.
    Server,
}

/// The accounts of a project, open until closed.
pub struct Accounts {
    auth: Auth,
    engine: Engine,
    hasher: Arc<Hasher>,
    internal: Arc<Internal>,
}

impl Accounts {
    /// Opens the database of a project and the accounts in it. The data folder must exist.
    ///
    /// # Errors
    /// When the schema or `app.tables` are at fault, or the database cannot be opened.
    pub async fn open(
        settings: &Settings,
        clock: &Clock,
        beside: Beside,
    ) -> Result<Self, StartError> {
        let internal = Arc::new(internal()?);
        let path = settings.paths.data.join(crate::DATA_FILE);
        if beside == Beside::Nobody {
            migrate(settings, clock)?;
        }
        let few = EngineOptions {
            readers: 2,
            ..EngineOptions::default()
        };
        let engine = Engine::open(&path, &few).map_err(failed)?;
        let options = table_options(settings);
        let schema = engine
            .read(&*internal, move |connection| {
                Ok(Schema::read(connection, &options))
            })
            .await;
        let schema = schema
            .map_err(failed)?
            .map_err(|error| start::data_fault(&error.into(), settings))?;
        let faults = project_schema::configured(settings, &schema);
        if !faults.is_empty() {
            return Err(StartError::Faults(faults));
        }
        let hasher = Arc::new(Hasher::start(&settings.secrets, None).map_err(failed)?);
        let parts = AuthParts {
            engine: engine.clone(),
            internal: Arc::clone(&internal),
            clock: clock.clone(),
            hasher: Arc::clone(&hasher),
            gate: Arc::new(NobodyAsks),
        };
        let told = auth_settings(settings)?;
        let auth = Auth::start(parts, &schema, &settings.secrets, told)
            .await
            .map_err(start::setup_fault)?;
        Ok(Self {
            auth,
            engine,
            hasher,
            internal,
        })
    }

    /// The accounts.
    #[must_use]
    pub fn auth(&self) -> &Auth {
        &self.auth
    }

    /// The token of work that has no request.
    #[must_use]
    pub fn pass(&self) -> &Internal {
        &self.internal
    }

    /// Ends everything that was started.
    pub async fn close(self) {
        self.auth.close(Duration::ZERO).await;
        self.hasher.close();
        self.engine.close();
    }
}

/// The token, of a limiter that nobody asks.
fn internal() -> Result<Internal, StartError> {
    let nothing = Known { tables: Vec::new() };
    match Limiter::new(Arc::new(Counters::new(16)), nothing, Vec::new(), Vec::new()) {
        Ok((_, internal)) => Ok(internal),
        Err(_) => Err(StartError::Data("the limiter cannot be made".to_owned())),
    }
}

fn migrate(settings: &Settings, clock: &Clock) -> Result<(), StartError> {
    let refused = |error: zonai_data::StartError| start::data_fault(&error, settings);
    let migrations =
        Migrations::read(&settings.paths.schemas).map_err(|error| refused(error.into()))?;
    let path = settings.paths.data.join(crate::DATA_FILE);
    migrations
        .apply_to(&path, &EngineOptions::default(), clock)
        .map_err(|error| refused(error.into()))?;
    Ok(())
}

/// Only the tables matter here: nobody signs in and nothing is mailed.
fn auth_settings(settings: &Settings) -> Result<AuthSettings, StartError> {
    Ok(AuthSettings {
        app_name: settings.app.name.clone(),
        base_url: settings.app.base_url.clone(),
        session: settings.app.jwt_expires_in,
        tables: accounts::tables(settings),
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

fn failed(error: impl std::error::Error) -> StartError {
    StartError::Data(with_causes(&error))
}
