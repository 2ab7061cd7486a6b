//! From a project and what code or flags say about it to the settings of a server.
//!
//! Must never change a value that was set: it only fills in what follows from others.

use std::path::Path;

use zonai_auth::Secrets;
use zonai_limit::Origin;
use zonai_project::settings::{AppSettings, Listen, Settings};

use super::Project;
use super::secrets::{self, Situation};
use crate::Result;
use crate::config::Draft;
use crate::config::listen::{DEFAULT_PORT, addresses, is_loopback};

/// Settings, and what the operator should hear at start.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) settings: Settings,
    pub(crate) warnings: Vec<String>,
}

impl Project {
    /// The settings of the server. Makes the secrets of a developer's machine where they are missing.
    ///
    /// # Errors
    /// When a secret is missing or weak.
    pub(crate) fn resolve(&self) -> Result<Resolved> {
        let listen = listeners(&self.draft);
        let exposed = exposed(&self.draft, &listen);
        let (secrets, mut warnings) =
            secrets::find(&self.environment, self.situation(exposed.as_deref()))?;
        warnings.extend(self.environment.warnings().iter().cloned());
        Ok(Resolved {
            settings: self.settings(listen, secrets),
            warnings,
        })
    }

    /// The settings with these addresses and secrets.
    pub(crate) fn settings(&self, listen: Vec<Listen>, secrets: Secrets) -> Settings {
        let Draft {
            paths,
            mut rate_limit,
            app,
            bounds,
            ..
        } = self.draft.clone();
        let app = AppSettings {
            name: app.name,
            base_url: app.base_url.unwrap_or_else(|| default_base_url(&listen)),
            jwt_expires_in: app.jwt_expires_in,
            trusted_proxy: app.trusted_proxy,
            mail: app
                .email
                .map(|email| email.with_password(self.environment.get("SMTP_PASSWORD"))),
            dev_mail: app.dev_mail,
            cors_origins: app.cors_origins,
            tables: app.tables,
        };
        // The server names its files from the project folder, wherever it was started.
        let name = paths.config.as_deref().and_then(Path::file_name);
        for (_, limit) in &mut rate_limit.shared {
            if let (Origin::File { path, .. }, Some(name)) = (&mut limit.origin, name) {
                *path = name.to_string_lossy().into();
            }
        }
        Settings {
            paths,
            listen,
            rate_limit,
            app,
            bounds,
            secrets,
        }
    }

    /// What is wrong with the secrets, without making any.
    pub(crate) fn check_secrets(&self) -> Option<zonai_policy::Diagnostic> {
        let exposed = exposed(&self.draft, &listeners(&self.draft));
        secrets::check(&self.environment, self.situation(exposed.as_deref()))
    }

    fn situation<'a>(&'a self, exposed: Option<&'a str>) -> Situation<'a> {
        let paths = &self.draft.paths;
        Situation {
            project: &paths.project,
            data: &paths.data,
            exposed,
        }
    }
}

fn listeners(draft: &Draft) -> Vec<Listen> {
    draft
        .listen
        .clone()
        .unwrap_or_else(|| addresses(draft.host, draft.port))
}

/// Why others than this machine's users may reach the server.
fn exposed(draft: &Draft, listen: &[Listen]) -> Option<String> {
    if draft.app.trusted_proxy.is_some() {
        return Some(
            "`app.trustedProxy` is set, so others reach this server through a proxy".into(),
        );
    }
    let open = listen.iter().find(|listen| !is_loopback(listen))?;
    Some(format!("{} is not a loopback address", show(open)))
}

/// Links in mails lead to this machine unless the application says where it can be reached.
fn default_base_url(listen: &[Listen]) -> String {
    let port = listen.iter().find_map(|listen| match listen {
        Listen::Tcp(at) => Some(at.port()),
        _ => None,
    });
    format!("http://localhost:{}", port.unwrap_or(DEFAULT_PORT))
}

/// An address as it is written in `listen:`.
pub(crate) fn show(listen: &Listen) -> String {
    match listen {
        Listen::Tcp(address) => address.to_string(),
        Listen::Unix(path) => format!("unix:{}", path.display()),
        Listen::Inherited(index) => format!("inherited:{index}"),
    }
}
