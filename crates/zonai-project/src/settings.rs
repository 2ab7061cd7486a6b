//! Everything a server is told before it starts: one struct per concern, read-only afterwards.
//!
//! Where the values come from (flags, environment, `zonai.yaml`, code) is the business of the crate `zonai`.
//! Must never read a file or a variable.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use zonai_auth::{MailSettings, Secrets};
use zonai_http::{CidrList, TrustedProxy};
use zonai_limit::{Ipv6Prefix, Limit, Operation};

/// The whole of it.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the files of the project lie.
    pub paths: Paths,
    /// Addresses to listen on.
    pub listen: Vec<Listen>,
    /// `rateLimit:` of `zonai.yaml`.
    pub rate_limit: RateLimitSettings,
    /// `app:` of `zonai.yaml`.
    pub app: AppSettings,
    /// What is held before and while a request runs.
    pub bounds: Bounds,
    /// What signs tokens and peppers passwords.
    pub secrets: Secrets,
}

/// Where the files of the project lie; all absolute.
#[derive(Clone, Debug)]
pub struct Paths {
    /// The project folder.
    pub project: PathBuf,
    /// `zonai.yaml` or `zonai.yml`, where there is one.
    pub config: Option<PathBuf>,
    /// `schemasPath`.
    pub schemas: PathBuf,
    /// `rateLimitPath`.
    pub rate_limit: PathBuf,
    /// `rulesPath`.
    pub rules: PathBuf,
    /// `operationsPath`.
    pub operations: PathBuf,
    /// `cronsPath`.
    pub crons: PathBuf,
    /// `emailTemplatesPath`.
    pub email_templates: PathBuf,
    /// `dataPath`.
    pub data: PathBuf,
}

/// One address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// `127.0.0.1:8080`, `[::]:8080`.
    Tcp(SocketAddr),
    /// `unix:/run/zonai.sock`.
    Unix(PathBuf),
    /// A socket handed over by the service manager (systemd socket activation), by its index.
    Inherited(usize),
}

/// The limiter's own settings.
#[derive(Clone, Debug)]
pub struct RateLimitSettings {
    /// `maxCounters`: at most so many counters in memory (default 1,000,000).
    pub max_counters: usize,
    /// `ipv6Prefix`: how many leading bits make one IPv6 client (32 to 128, default 64).
    pub ipv6_prefix: Ipv6Prefix,
    /// `exempt`: networks that are never refused, still counted.
    pub exempt: CidrList,
    /// `headers: draft` adds the IETF `RateLimit` fields to limited responses.
    pub draft_headers: bool,
    /// `shared`: limits of the buckets that carry no table.
    pub shared: Vec<(Operation, Limit)>,
}

/// Settings of the application.
#[derive(Clone, Debug)]
pub struct AppSettings {
    /// `appName`, for mails.
    pub name: String,
    /// `baseUrl`, for links in mails.
    pub base_url: String,
    /// `jwtExpiresIn`.
    pub jwt_expires_in: Duration,
    /// `trustedProxy`.
    pub trusted_proxy: Option<TrustedProxy>,
    /// `email`.
    pub mail: Option<MailSettings>,
    /// `devMail`: print mails in the log where `email` is not set.
    pub dev_mail: bool,
    /// `cors.origins`; `None` for the default, loopback origins.
    pub cors_origins: Option<Vec<String>>,
    /// `tables`.
    pub tables: BTreeMap<String, TableSettings>,
}

/// `app.tables.<name>`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableSettings {
    /// `auth`: how accounts of this table sign in; empty for a table without accounts.
    pub auth: Vec<AuthMethod>,
    /// `admin`: rows of this table are admins.
    pub admin: bool,
    /// `idSuffix`.
    pub id_suffix: Option<String>,
}

/// A way to sign in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMethod {
    /// `password`.
    Password,
    /// `otp`.
    Otp,
    /// `magicLink`.
    MagicLink,
}

/// What is held before and while a request runs (promise 7.7).
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Open connections (4,096).
    pub connections: usize,
    /// Bytes of bodies in memory, of all clients (64 MiB).
    pub body_bytes: usize,
    /// Bytes of bodies in memory of one client (4 MiB).
    pub body_bytes_per_client: usize,
    /// Bytes of results of reads and live queries that are not handed over yet, of all clients (256 MiB). Those of up to
    /// 64 KiB are not counted.
    pub answer_bytes: usize,
    /// The same of one client (64 MiB).
    pub answer_bytes_per_client: usize,
    /// How long a body may take (30 s).
    pub body_timeout: Duration,
    /// How long a head may take (10 s).
    pub head_timeout: Duration,
    /// How long a connection may stay idle between requests (75 s).
    pub idle_timeout: Duration,
    /// The largest payload (1 MiB).
    pub payload: usize,
    /// Open streams of one client (500).
    pub streams_per_client: usize,
    /// Writes that may wait (64).
    pub write_queue: usize,
    /// Reads in flight (256).
    pub reads: usize,
    /// How long a stop waits for what runs (10 s).
    pub stop_grace: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections: 4_096,
            body_bytes: 64 << 20,
            body_bytes_per_client: 4 << 20,
            answer_bytes: 256 << 20,
            answer_bytes_per_client: 64 << 20,
            body_timeout: Duration::from_secs(30),
            head_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(75),
            payload: 1 << 20,
            streams_per_client: 500,
            write_queue: 64,
            reads: 256,
            stop_grace: Duration::from_secs(10),
        }
    }
}

impl TableSettings {
    /// Whether rows of this table are accounts.
    #[must_use]
    pub fn has_accounts(&self) -> bool {
        self.admin || !self.auth.is_empty()
    }
}
