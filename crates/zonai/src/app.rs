//! [`App`]: a project, what code adds to it, and the way to a running server.
//!
//! Must never read a flag, and never run a request: it hands settings and registrations to the server.

mod check;
mod run;
mod set;

use std::path::Path;

use zonai_auth::Secrets;
use zonai_code::{AccountHooks, CustomOperation, TableHooks};
use zonai_limit::{AuthTableRateLimits, Registration, TableRateLimits};
use zonai_project::settings::{Listen, Settings};
use zonai_server::Additions;

pub use run::Server;
pub(crate) use run::runtime;

use crate::config::Draft;
use crate::project::{Project, Resolved};
use crate::{Error, Result};

/// A project that is about to be served.
///
/// Settings come from `zonai.yaml`, from the environment (and the project's `.env`), and from the methods here,
/// each before the one that was named earlier: what code sets, nothing else changes.
///
/// ```no_run
/// # fn main() -> zonai::Result<()> {
/// zonai::App::open("shop")?.port(3000).cors_origins(["https://shop.example"]).serve()
/// # }
/// ```
///
/// Code adds limits, hooks and custom operations:
///
/// ```
/// use zonai::{App, CustomOperation, HookContext, HookError, OperationError, OperationRequest, Performed};
/// use zonai::{RateLimitPolicy, TableHooks, TableRateLimits};
/// use serde_json::{Map, Value};
///
/// struct Tasks;
///
/// impl TableRateLimits for Tasks {
///     const TABLE: &'static str = "tasks";
///
///     async fn create_policy(&self) -> Option<RateLimitPolicy> {
///         Some(RateLimitPolicy::per_minute(10))
///     }
/// }
///
/// impl TableHooks for Tasks {
///     const TABLE: &'static str = "tasks";
///
///     async fn before_create(&self, _: &HookContext, task: &mut Map<String, Value>) -> Result<(), HookError> {
///         match task.get("title").and_then(Value::as_str) {
///             Some("") => Err("a task needs a title".into()),
///             _ => Ok(()),
///         }
///     }
/// }
///
/// /// `PATCH /db/custom/shout`, for whom `custom: {shout: …}` of the rules allows it.
/// struct Shout;
///
/// impl CustomOperation for Shout {
///     const TABLE: &'static str = "tasks";
///     const NAME: &'static str = "shout";
///
///     async fn perform(&self, request: OperationRequest) -> Result<Performed, OperationError> {
///         let end = request.input("end").and_then(Value::as_str).unwrap_or("!").to_owned();
///         // In the transaction of the write: all rows or none.
///         request
///             .change(move |task, _tables| {
///                 let title = task["title"].as_str().ok_or("a task without a title")?;
///                 task["title"] = (title.to_uppercase() + &end).into();
///                 Ok(())
///             })
///             .await
///     }
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # std::fs::write(folder.path().join("zonai.yaml"), "")?;
/// # std::fs::create_dir_all(folder.path().join("lib/src/schemas"))?;
/// # let sql = "CREATE TABLE tasks (id TEXT PRIMARY KEY, title TEXT NOT NULL);";
/// # std::fs::write(folder.path().join("lib/src/schemas/001.sql"), sql)?;
/// # let project = folder.path();
/// let runtime = tokio::runtime::Runtime::new()?;
/// runtime.block_on(async {
///     let app = App::open(project)?.rate_limits(Tasks).hooks(Tasks).operation(Shout);
///     let server = app.listen_on_free_port().start().await?;
///     assert!(server.addresses()[0].port() > 0);
///     server.stop().await
/// })?;
/// # Ok(())
/// # }
/// ```
#[must_use = "an App does nothing before it is served"]
pub struct App {
    project: Project,
    /// The first setting in code that was wrong; told when the settings are needed, so that calls can be chained.
    wrong: Option<Error>,
    /// What code adds.
    additions: Additions,
}

impl App {
    /// Reads the project in `folder`: its `zonai.yaml`, its `.env` and the environment. Writes nothing.
    ///
    /// # Errors
    /// When the folder is no project, or with every fault of what was read.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self> {
        Ok(Self {
            project: Project::open(folder.as_ref())?,
            wrong: None,
            additions: Additions::default(),
        })
    }

    /// The limits of one table's `/db` traffic. A table has one registration: a second one, here or in a policy
    /// file, makes every check fail until one of the two is taken away.
    pub fn rate_limits(mut self, limits: impl TableRateLimits) -> Self {
        self.additions.rate_limits.push(Registration::table(limits));
        self
    }

    /// The limits of one auth table's auth routes; its `/db` traffic has [`App::rate_limits`].
    pub fn auth_rate_limits(mut self, limits: impl AuthTableRateLimits) -> Self {
        self.additions.rate_limits.push(Registration::auth(limits));
        self
    }

    /// Code that runs around the operations on one table, after the limiter and the rules. Several for one table run in
    /// the order in which they were added.
    pub fn hooks(mut self, hooks: impl TableHooks) -> Self {
        self.additions.hooks.add_table(hooks);
        self
    }

    /// A custom operation in code, beside those of the operations files: see [`CustomOperation`]. A name that the table has
    /// already stops the start.
    pub fn operation(mut self, operation: impl CustomOperation) -> Self {
        self.additions.operations.add(operation);
        self
    }

    /// Code that runs after sign-ups and sign-ins of one auth table.
    pub fn account_hooks(mut self, hooks: impl AccountHooks) -> Self {
        self.additions.hooks.add_accounts(hooks);
        self
    }

    /// The settings that the server would have. Makes the secrets of a developer's machine where they are missing.
    ///
    /// # Errors
    /// When secrets are missing or weak, or a setting that was made in code is wrong.
    pub fn settings(self) -> Result<Settings> {
        Ok(self.resolve()?.0.settings)
    }

    /// Settings to read the files with: without addresses, and with secrets of nobody.
    pub(crate) fn reading(&self) -> Result<Settings> {
        let secrets = Secrets::generate().map_err(|error| Error::Secrets(error.to_string()))?;
        Ok(self.project.settings(Vec::new(), secrets))
    }

    /// What the project says so far.
    pub(crate) fn draft(&self) -> &Draft {
        &self.project.draft
    }

    /// The settings and what to say about them, for commands that work beside a server.
    pub(crate) fn resolved(&self) -> Result<Resolved> {
        self.project.resolve()
    }

    /// The whole of it: the settings, and what code adds.
    pub(crate) fn resolve(self) -> Result<(Resolved, Additions)> {
        match self.wrong {
            Some(error) => Err(error),
            None => Ok((self.project.resolve()?, self.additions)),
        }
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App")
            .field("project", &self.project)
            .field("wrong", &self.wrong)
            .field("rate_limits", &self.additions.rate_limits)
            .field("operations", &self.additions.operations)
            .finish_non_exhaustive()
    }
}
