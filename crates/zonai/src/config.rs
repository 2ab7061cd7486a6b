//! `zonai.yaml`: from its text to settings, and every fault of it at once.
//!
//! Each key has one reader; what a key is called stands in [`keys`]. Must never read a secret, and never
//! go on with a value that was not understood: a file with one fault gives no settings.

mod app;
mod email;
pub(crate) mod keys;
pub(crate) mod listen;
mod rate_limit;
mod server;
pub(crate) mod units;

use std::path::{Path, PathBuf};

use zonai_policy::yaml::{self, Map, Node};
use zonai_policy::{Diagnostic, Faults, Source, Span};
use zonai_project::settings::{Bounds, Listen, Paths, RateLimitSettings};

pub(crate) use app::{AppDraft, base_url, origin};
pub(crate) use email::EmailDraft;
use listen::Host;

/// Settings before secrets are known and before `localhost` has become addresses.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    pub(crate) paths: Paths,
    pub(crate) host: Host,
    pub(crate) port: u16,
    /// `listen:`; stands in the place of `host` and `port`.
    pub(crate) listen: Option<Vec<Listen>>,
    pub(crate) rate_limit: RateLimitSettings,
    pub(crate) app: AppDraft,
    pub(crate) bounds: Bounds,
    /// The file, for faults that show only later.
    pub(crate) source: Option<Source>,
}

impl Draft {
    /// What applies to a project whose file says nothing.
    pub(crate) fn new(project: &Path) -> Self {
        Self {
            paths: Paths {
                project: project.to_path_buf(),
                config: None,
                schemas: project.join("lib/src/schemas"),
                rate_limit: project.join("lib/src/rate_limit"),
                rules: project.join("lib/src/rules"),
                operations: project.join("lib/src/operations"),
                crons: project.join("lib/src/crons"),
                email_templates: project.join("lib/src/email_templates"),
                data: project.join(".zonai/data"),
            },
            host: Host::Localhost,
            port: listen::DEFAULT_PORT,
            listen: None,
            rate_limit: rate_limit::defaults(),
            app: AppDraft::default(),
            bounds: Bounds::default(),
            source: None,
        }
    }

    /// Reads the file of a project over the defaults.
    ///
    /// # Errors
    /// All faults of the file.
    pub(crate) fn read(project: &Path, file: &Path) -> Result<Self, Vec<Diagnostic>> {
        let source = Source::read(file, &shown(file)).map_err(|fault| vec![fault])?;
        let mut draft = Self::new(project);
        draft.paths.config = Some(file.to_path_buf());
        let mut faults = Faults::new(&source);
        if let Some(root) = yaml::parse(&mut faults)
            && let Some(map) = section(&root, "this file", &mut faults)
        {
            draft.fill(&map, &mut faults);
        }
        draft.source = Some(source.clone());
        if faults.is_empty() {
            Ok(draft)
        } else {
            Err(faults.into_list())
        }
    }

    fn fill(&mut self, map: &Map, faults: &mut Faults<'_>) {
        keys::TOP.check(map, faults);
        self.fill_paths(map, faults);
        self.fill_addresses(map, faults);
        if let Some(entry) = map.get("version")
            && entry.value.as_scalar().is_none()
        {
            faults.at(
                entry.value.span,
                format!(
                    "`version` must be a number or a text, not {}",
                    entry.value.describe()
                ),
            );
        }
        let mut each = |key: &str, read: &mut dyn FnMut(&Map, &mut Faults<'_>)| {
            if let Some(entry) = map.get(key)
                && let Some(map) = section(&entry.value, &format!("`{key}`"), faults)
            {
                read(&map, faults);
            }
        };
        each("rateLimit", &mut |map, faults| {
            rate_limit::fill(&mut self.rate_limit, map, faults)
        });
        each("app", &mut |map, faults| self.app.fill(map, faults));
        each("server", &mut |map, faults| {
            server::fill(&mut self.bounds, map, faults)
        });
    }

    fn fill_paths(&mut self, map: &Map, faults: &mut Faults<'_>) {
        let project = self.paths.project.clone();
        let paths = &mut self.paths;
        for (key, path) in [
            ("schemasPath", &mut paths.schemas),
            ("rateLimitPath", &mut paths.rate_limit),
            ("rulesPath", &mut paths.rules),
            ("operationsPath", &mut paths.operations),
            ("cronsPath", &mut paths.crons),
            ("emailTemplatesPath", &mut paths.email_templates),
            ("dataPath", &mut paths.data),
        ] {
            if let Some((text, span)) = text(map, key, faults) {
                match folder(&project, text) {
                    Ok(folder) => *path = folder,
                    Err(message) => faults.at(span, format!("`{key}` {message}")),
                }
            }
        }
    }

    fn fill_addresses(&mut self, map: &Map, faults: &mut Faults<'_>) {
        if let Some((text, span)) = text(map, "host", faults) {
            match listen::host(text) {
                Ok(host) => self.host = host,
                Err(message) => faults.at(span, message),
            }
        }
        if let Some(entry) = map.get("port") {
            self.port = entry
                .value
                .expect_int("`port`", 0..=u16::MAX, faults)
                .unwrap_or(self.port);
        }
        let Some(entry) = map.get("listen") else {
            return;
        };
        if let Some(other) = map.get("host").or_else(|| map.get("port")) {
            let message = format!(
                "`{}` and `listen` both say where to listen; keep one of them",
                other.key
            );
            faults.at(other.key_span, message);
        }
        let Some(items) = entry.value.expect_seq("`listen`", faults) else {
            return;
        };
        if items.is_empty() {
            faults.at(
                entry.value.span,
                "`listen` is empty: a server needs an address; leave the key out for localhost",
            );
        }
        let mut all = Vec::new();
        for item in items {
            let Some(text) = item.expect_str("an entry of `listen`", faults) else {
                continue;
            };
            match listen::listen(text) {
                Ok(addresses) => all.extend(addresses.into_iter().map(|address| match address {
                    // Like every path in the file; an absolute one stays as it is.
                    Listen::Unix(path) => Listen::Unix(self.paths.project.join(path)),
                    other => other,
                })),
                Err(message) => faults.at(item.span, message),
            }
        }
        self.listen = Some(all);
    }
}

/// The path of a file as it is shown: relative to the current folder where it lies below it.
pub(crate) fn shown(path: &Path) -> String {
    let below = std::env::current_dir()
        .ok()
        .and_then(|here| path.strip_prefix(here).ok().map(Path::to_path_buf));
    below
        .filter(|short| !short.as_os_str().is_empty())
        .unwrap_or_else(|| path.to_path_buf())
        .display()
        .to_string()
}

/// A folder as it is written, from the folder of the file.
pub(crate) fn folder(project: &Path, text: &str) -> Result<PathBuf, &'static str> {
    match text {
        "" => Err("is empty; leave the key out for the default"),
        text if text.contains('\0') => Err("holds a character that no path can have"),
        text if text.starts_with("~/") => {
            Err("begins with `~`, which only a shell understands; write the whole path")
        }
        text => Ok(project.join(text.strip_prefix("./").unwrap_or(text))),
    }
}

/// A map, or an empty one where nothing stands.
fn section(node: &Node, what: &str, faults: &mut Faults<'_>) -> Option<Map> {
    if node.is_null() {
        return Some(Map::default());
    }
    node.expect_map(what, faults).cloned()
}

/// The text of a key, with its place.
fn text<'m>(map: &'m Map, key: &str, faults: &mut Faults<'_>) -> Option<(&'m str, Span)> {
    let node = &map.get(key)?.value;
    Some((node.expect_str(&format!("`{key}`"), faults)?, node.span))
}

/// `true` or `false` of a key, put where it belongs.
fn flag(map: &Map, key: &str, target: &mut bool, faults: &mut Faults<'_>) {
    if let Some(entry) = map.get(key)
        && let Some(value) = entry.value.expect_bool(&format!("`{key}`"), faults)
    {
        *target = value;
    }
}

/// The texts of a list, each with its place; entries that are no text are left out and told.
fn texts<'n>(node: &'n Node, what: &str, faults: &mut Faults<'_>) -> Vec<(&'n str, Span)> {
    let items = node.expect_seq(what, faults).unwrap_or_default();
    let entry = format!("an entry of {what}");
    items
        .iter()
        .filter_map(|item| Some((item.expect_str(&entry, faults)?, item.span)))
        .collect()
}
