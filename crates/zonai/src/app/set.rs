//! A method for everything that `zonai.yaml` sets, under the same name and with the same checks.
//!
//! Must never accept what the file would refuse.

use std::path::PathBuf;
use std::time::Duration;

use super::{App, Error, Listen};
use crate::config::listen::Host;
use crate::{
    CidrList, Ipv6Prefix, Limit, MailSettings, Operation, TableSettings, TrustedProxy, config,
};

impl App {
    /// `host`: `localhost` or an IP address. Takes the place of `listen`.
    pub fn host(self, host: impl AsRef<str>) -> Self {
        self.try_set(|app| {
            app.project.draft.host = config::listen::host(host.as_ref())?;
            app.project.draft.listen = None;
            Ok(())
        })
    }

    /// `port`: 0 takes a free one. Takes the place of `listen`.
    pub fn port(mut self, port: u16) -> Self {
        self.project.draft.port = port;
        self.project.draft.listen = None;
        self
    }

    /// `listen`: the addresses, in the place of `host` and `port`.
    pub fn listen(self, listen: impl IntoIterator<Item = Listen>) -> Self {
        let listen: Vec<Listen> = listen.into_iter().collect();
        self.try_set(|app| {
            if listen.is_empty() {
                return Err("listen: a server needs an address".into());
            }
            app.project.draft.listen = Some(listen);
            Ok(())
        })
    }

    /// Only this machine, on a free port: for tests of a program that embeds a server.
    pub fn listen_on_free_port(mut self) -> Self {
        self.project.draft.host = Host::Ip(std::net::Ipv4Addr::LOCALHOST.into());
        self.port(0)
    }

    /// `schemasPath`, from the project folder.
    pub fn schemas_path(mut self, path: impl Into<PathBuf>) -> Self {
        let path = self.project.draft.paths.project.join(path.into());
        self.project.draft.paths.schemas = path;
        self
    }

    /// `rateLimitPath`, from the project folder.
    pub fn rate_limit_path(mut self, path: impl Into<PathBuf>) -> Self {
        let path = self.project.draft.paths.project.join(path.into());
        self.project.draft.paths.rate_limit = path;
        self
    }

    /// `rulesPath`, from the project folder.
    pub fn rules_path(mut self, path: impl Into<PathBuf>) -> Self {
        let path = self.project.draft.paths.project.join(path.into());
        self.project.draft.paths.rules = path;
        self
    }

    /// `operationsPath`, from the project folder.
    pub fn operations_path(mut self, path: impl Into<PathBuf>) -> Self {
        let path = self.project.draft.paths.project.join(path.into());
        self.project.draft.paths.operations = path;
        self
    }

    /// `cronsPath`, from the project folder.
    pub fn crons_path(mut self, path: impl Into<PathBuf>) -> Self {
        let path = self.project.draft.paths.project.join(path.into());
        self.project.draft.paths.crons = path;
        self
    }

    /// `emailTemplatesPath`, from the project folder.
    pub fn email_templates_path(mut self, path: impl Into<PathBuf>) -> Self {
        let path = self.project.draft.paths.project.join(path.into());
        self.project.draft.paths.email_templates = path;
        self
    }

    /// `dataPath`, from the project folder.
    pub fn data_path(mut self, path: impl Into<PathBuf>) -> Self {
        let path = self.project.draft.paths.project.join(path.into());
        self.project.draft.paths.data = path;
        self
    }

    /// `rateLimit.maxCounters`: 16 or more.
    pub fn max_counters(self, most: usize) -> Self {
        self.try_set(|app| {
            if most < 16 {
                return Err("max_counters: at least 16".into());
            }
            app.project.draft.rate_limit.max_counters = most;
            Ok(())
        })
    }

    /// `rateLimit.ipv6Prefix`.
    pub fn ipv6_prefix(mut self, prefix: Ipv6Prefix) -> Self {
        self.project.draft.rate_limit.ipv6_prefix = prefix;
        self
    }

    /// `rateLimit.exempt`: networks that are never refused, still counted.
    pub fn exempt(mut self, networks: CidrList) -> Self {
        self.project.draft.rate_limit.exempt = networks;
        self
    }

    /// `rateLimit.headers: draft`.
    pub fn draft_headers(mut self, on: bool) -> Self {
        self.project.draft.rate_limit.draft_headers = on;
        self
    }

    /// `rateLimit.shared`: the limit of one operation of a bucket that carries no table.
    pub fn shared_limit(self, operation: Operation, limit: Limit) -> Self {
        self.try_set(|app| {
            if zonai_limit::Shared::of(operation).is_none() {
                return Err(format!(
                    "shared_limit: `{}` belongs to a table, not to a shared bucket",
                    operation.name()
                ));
            }
            let shared = &mut app.project.draft.rate_limit.shared;
            shared.retain(|(other, _)| *other != operation);
            shared.push((operation, limit));
            Ok(())
        })
    }

    /// `app.appName`.
    pub fn app_name(mut self, name: impl Into<String>) -> Self {
        self.project.draft.app.name = name.into();
        self
    }

    /// `app.baseUrl`.
    pub fn base_url(self, url: impl AsRef<str>) -> Self {
        self.try_set(|app| {
            app.project.draft.app.base_url = Some(config::base_url(url.as_ref())?);
            Ok(())
        })
    }

    /// `app.jwtExpiresIn`: from a second to 366 days.
    pub fn jwt_expires_in(self, time: Duration) -> Self {
        self.try_set(|app| {
            if time < Duration::from_secs(1) || time > Duration::from_secs(366 * 86_400) {
                return Err("jwt_expires_in: from a second to 366 days".into());
            }
            app.project.draft.app.jwt_expires_in = time;
            Ok(())
        })
    }

    /// `app.trustedProxy`.
    pub fn trusted_proxy(mut self, proxy: TrustedProxy) -> Self {
        self.project.draft.app.trusted_proxy = Some(proxy);
        self
    }

    /// `app.email`; the password of the settings counts before `SMTP_PASSWORD`.
    pub fn email(mut self, settings: MailSettings) -> Self {
        self.project.draft.app.email = Some(config::EmailDraft { settings });
        self
    }

    /// `app.devMail`.
    pub fn dev_mail(mut self, on: bool) -> Self {
        self.project.draft.app.dev_mail = on;
        self
    }

    /// `app.cors.origins`.
    pub fn cors_origins(self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let origins: Vec<String> = origins
            .into_iter()
            .map(|origin| origin.into().to_ascii_lowercase())
            .collect();
        self.try_set(|app| {
            origins
                .iter()
                .try_for_each(|origin| config::origin(origin))?;
            app.project.draft.app.cors_origins = Some(origins);
            Ok(())
        })
    }

    /// `app.tables.<name>`, in the place of what the file says about that table.
    pub fn table(mut self, name: impl Into<String>, settings: TableSettings) -> Self {
        self.project.draft.app.tables.insert(name.into(), settings);
        self
    }

    /// `server`: what is held before and while a request runs.
    pub fn bounds(mut self, bounds: crate::Bounds) -> Self {
        self.project.draft.bounds = bounds;
        self
    }

    fn try_set(mut self, set: impl FnOnce(&mut Self) -> Result<(), String>) -> Self {
        if let Err(message) = set(&mut self) {
            self.wrong.get_or_insert(Error::Setting(message));
        }
        self
    }
}
