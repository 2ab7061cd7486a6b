//! From a project and what code or flags say about it to the settings of a server.
//!
//! Must never change a value that was set: it only fills in what follows from others.

use zonai_server::settings::{AppSettings, Listen, Settings};

use super::secrets::{self, Situation};
use super::{Environment, Project};
use crate::config::Draft;
use crate::config::listen::{addresses, is_loopback};
use crate::{Error, Result};

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
    /// When a secret is missing or weak, or two settings contradict each other.
    pub(crate) fn resolve(self) -> Result<Resolved> {
        let Self { draft, environment } = self;
        let listen = listeners(&draft);
        let exposed = exposed(&draft, &listen);
        let situation = Situation {
            project: &draft.paths.project,
            data: &draft.paths.data,
            exposed: exposed.as_deref(),
        };
        let (secrets, mut warnings) = secrets::find(&environment, situation)?;
        warnings.extend(proxy_warnings(&draft, &listen));
        warnings.extend(environment.warnings().iter().cloned());
        let app = app_settings(&draft, &listen, &environment)?;
        let settings = Settings {
            paths: draft.paths,
            listen,
            rate_limit: draft.rate_limit,
            app,
            bounds: draft.bounds,
            secrets,
        };
        Ok(Resolved { settings, warnings })
    }

    /// What is wrong with the secrets, without making any.
    pub(crate) fn check_secrets(&self) -> Option<zonai_policy::Diagnostic> {
        let listen = listeners(&self.draft);
        let exposed = exposed(&self.draft, &listen);
        let paths = &self.draft.paths;
        secrets::check(
            &self.environment,
            Situation {
                project: &paths.project,
                data: &paths.data,
                exposed: exposed.as_deref(),
            },
        )
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

fn proxy_warnings(draft: &Draft, listen: &[Listen]) -> Vec<String> {
    let tcp: Vec<_> = listen
        .iter()
        .filter_map(|listen| {
            if let Listen::Tcp(at) = listen {
                Some(*at)
            } else {
                None
            }
        })
        .collect();
    let unix = listen
        .iter()
        .find(|listen| matches!(listen, Listen::Unix(_)));
    match (&draft.app.trusted_proxy, unix) {
        (Some(proxy), unix) => {
            let unix = unix.and_then(|_| proxy.unix_socket_warning());
            proxy
                .warnings(&tcp)
                .into_iter()
                .chain(unix)
                .map(|warning| warning.to_string())
                .collect()
        }
        (None, Some(unix)) => vec![format!(
            "{} has no client addresses and no `app.trustedProxy` is set: all its requests count as one client",
            show(unix)
        )],
        (None, None) => Vec::new(),
    }
}

fn app_settings(
    draft: &Draft,
    listen: &[Listen],
    environment: &Environment,
) -> Result<AppSettings> {
    let app = draft.app.clone();
    if listen.is_empty() {
        return Err(Error::Setting("there is no address to listen on".into()));
    }
    Ok(AppSettings {
        name: app.name,
        base_url: app.base_url.unwrap_or_else(|| default_base_url(listen)),
        jwt_expires_in: app.jwt_expires_in,
        trusted_proxy: app.trusted_proxy,
        mail: app
            .email
            .map(|email| email.with_password(environment.get("SMTP_PASSWORD"))),
        dev_mail: app.dev_mail,
        cors_origins: app.cors_origins,
        tables: app.tables,
    })
}

/// Links in mails lead to this machine unless the application says where it can be reached.
fn default_base_url(listen: &[Listen]) -> String {
    let port = listen.iter().find_map(|listen| {
        if let Listen::Tcp(at) = listen {
            Some(at.port())
        } else {
            None
        }
    });
    format!(
        "http://localhost:{}",
        port.unwrap_or(crate::config::listen::DEFAULT_PORT)
    )
}

/// An address as it is written in `listen:`.
pub(crate) fn show(listen: &Listen) -> String {
    match listen {
        Listen::Tcp(address) => address.to_string(),
        Listen::Unix(path) => format!("unix:{}", path.display()),
        Listen::Inherited(index) => format!("inherited:{index}"),
    }
}
