//! `app:`: the application's own settings.
//!
//! Must never hold a secret.

use std::collections::BTreeMap;
use std::time::Duration;

use http::HeaderName;
use zonai_http::{CidrList, TrustedProxy};
use zonai_policy::yaml::Map;
use zonai_policy::{Faults, Span};
use zonai_project::settings::{AuthMethod, TableSettings};

use super::email::EmailDraft;
use super::{flag, keys, section, server, text, texts};

/// `app:` as far as it is known without secrets.
#[derive(Clone, Debug)]
pub(crate) struct AppDraft {
    pub(crate) name: String,
    /// `None`: the address that is listened on.
    pub(crate) base_url: Option<String>,
    pub(crate) jwt_expires_in: Duration,
    pub(crate) trusted_proxy: Option<TrustedProxy>,
    pub(crate) email: Option<EmailDraft>,
    pub(crate) dev_mail: bool,
    pub(crate) cors_origins: Option<Vec<String>>,
    pub(crate) tables: BTreeMap<String, TableSettings>,
    /// Where each of `tables` stands, for the fault that there is no such table.
    pub(crate) table_spans: BTreeMap<String, Span>,
}

impl Default for AppDraft {
    fn default() -> Self {
        Self {
            name: "Zonai".into(),
            base_url: None,
            jwt_expires_in: Duration::from_secs(24 * 3_600),
            trusted_proxy: None,
            email: None,
            dev_mail: false,
            cors_origins: None,
            tables: BTreeMap::new(),
            table_spans: BTreeMap::new(),
        }
    }
}

impl AppDraft {
    /// Reads the section over the defaults.
    pub(super) fn fill(&mut self, map: &Map, faults: &mut Faults<'_>) {
        keys::APP.check(map, faults);
        if let Some((name, span)) = text(map, "appName", faults) {
            match name.trim() {
                "" => faults.at(span, "`appName` is empty"),
                name if name.chars().any(char::is_control) => {
                    faults.at(span, "`appName` must be one line")
                }
                name => self.name = name.to_owned(),
            }
        }
        if let Some((url, span)) = text(map, "baseUrl", faults) {
            match base_url(url) {
                Ok(url) => self.base_url = Some(url),
                Err(message) => faults.at(span, message),
            }
        }
        let year = Duration::from_secs(366 * 86_400);
        if let Some(value) =
            server::duration(map, "jwtExpiresIn", Duration::from_secs(1)..=year, faults)
        {
            self.jwt_expires_in = value;
        }
        flag(map, "devMail", &mut self.dev_mail, faults);
        self.fill_sections(map, faults);
    }

    fn fill_sections(&mut self, map: &Map, faults: &mut Faults<'_>) {
        if let Some(entry) = map.get("trustedProxy")
            && let Some(inner) = section(&entry.value, "`trustedProxy`", faults)
        {
            self.trusted_proxy = trusted_proxy(&inner, entry.key_span, faults);
        }
        if let Some(entry) = map.get("email")
            && let Some(inner) = section(&entry.value, "`email`", faults)
        {
            self.email = EmailDraft::read(&inner, entry.key_span, faults);
        }
        if let Some(entry) = map.get("cors")
            && let Some(inner) = section(&entry.value, "`cors`", faults)
        {
            keys::CORS.check(&inner, faults);
            if let Some(origins) = inner.get("origins") {
                self.cors_origins = Some(cors_origins(
                    &texts(&origins.value, "`origins`", faults),
                    faults,
                ));
            }
        }
        if let Some(entry) = map.get("tables")
            && let Some(tables) = section(&entry.value, "`tables`", faults)
        {
            for table in &tables.entries {
                self.table_spans.insert(table.key.clone(), table.key_span);
                if let Some(inner) = section(&table.value, "a table", faults) {
                    self.tables
                        .insert(table.key.clone(), table_settings(&inner, faults));
                }
            }
        }
    }
}

/// An absolute http or https address without a slash at its end.
pub(crate) fn base_url(text: &str) -> Result<String, String> {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    match rest {
        Some(rest)
            if !rest.is_empty()
                && !rest.contains(|c: char| {
                    c.is_whitespace() || c.is_control() || "?#".contains(c)
                }) =>
        {
            Ok(text.trim_end_matches('/').to_owned())
        }
        _ => Err(
            "`baseUrl` must be an address such as https://api.example.org, without `?` and `#`"
                .into(),
        ),
    }
}

fn trusted_proxy(map: &Map, span: Span, faults: &mut Faults<'_>) -> Option<TrustedProxy> {
    let before = faults.len();
    keys::TRUSTED_PROXY.check(map, faults);
    let mut headers = Vec::new();
    if let Some(entry) = map.get("headers") {
        for (name, span) in texts(&entry.value, "`headers`", faults) {
            match HeaderName::from_bytes(name.as_bytes()) {
                Ok(header) => headers.push(header),
                Err(_) => faults.at(span, format!("`{name}` is no name of a header")),
            }
        }
    }
    let (mut leftmost, mut proxy_protocol) = (false, false);
    flag(map, "useLeftmostIp", &mut leftmost, faults);
    flag(map, "proxyProtocol", &mut proxy_protocol, faults);
    let mut proxies = CidrList::default();
    if let Some(entry) = map.get("proxies") {
        let entries = texts(&entry.value, "`proxies`", faults);
        let single: Vec<_> = entries.iter().map(|(entry, _)| *entry).collect();
        match CidrList::parse_proxies(&single) {
            Ok(list) => proxies = list,
            Err(_) => each_network(&entries, CidrList::parse_proxies, faults),
        }
    }
    if faults.len() > before {
        return None;
    }
    TrustedProxy::new(headers, leftmost, proxies, proxy_protocol)
        .map_err(|error| faults.at(span, error.to_string()))
        .ok()
}

/// A fault for each entry that is no network, not for the first only.
pub(super) fn each_network<'e, E: std::fmt::Display>(
    entries: &[(&'e str, Span)],
    parse: impl Fn([&'e str; 1]) -> Result<CidrList, E>,
    faults: &mut Faults<'_>,
) {
    for (entry, span) in entries {
        if let Err(error) = parse([entry]) {
            faults.at(*span, error.to_string());
        }
    }
}

/// `*` or `scheme://host[:port]`, as a browser sends it.
pub(crate) fn origin(text: &str) -> Result<(), String> {
    if text == "*" {
        return Ok(());
    }
    let host = text.split_once("://").map(|(_, host)| host);
    match host {
        Some(host) if host.contains('/') => Err(format!(
            "an origin has no path and no `/` at its end: `{text}`"
        )),
        Some(host)
            if !host.is_empty()
                && !host.contains(|c: char| c.is_whitespace() || "*?#@".contains(c)) =>
        {
            Ok(())
        }
        Some(host) if host.contains('*') => {
            Err("a part of an origin cannot be `*`; list each origin, or `*` alone for all".into())
        }
        _ => Err("an origin is written as a browser sends it: https://app.example.org".into()),
    }
}

fn cors_origins(entries: &[(&str, Span)], faults: &mut Faults<'_>) -> Vec<String> {
    for (text, span) in entries {
        if let Err(message) = origin(text) {
            faults.at(*span, message);
        }
    }
    entries
        .iter()
        .map(|(text, _)| text.to_ascii_lowercase())
        .collect()
}

fn table_settings(map: &Map, faults: &mut Faults<'_>) -> TableSettings {
    keys::TABLE.check(map, faults);
    let mut table = TableSettings::default();
    if let Some(entry) = map.get("auth") {
        for (name, span) in texts(&entry.value, "`auth`", faults) {
            match auth_method(name) {
                Some(method) if table.auth.contains(&method) => {
                    faults.at(span, format!("`{name}` stands twice"))
                }
                Some(method) => table.auth.push(method),
                None => faults.unknown(
                    span,
                    "way to sign in",
                    name,
                    ["password", "otp", "magicLink"],
                ),
            }
        }
    }
    flag(map, "admin", &mut table.admin, faults);
    if let Some((suffix, span)) = text(map, "idSuffix", faults) {
        if is_suffix(suffix) {
            table.id_suffix = Some(suffix.to_owned());
        } else {
            faults.at(span, "`idSuffix` must be 1 to 16 small letters or digits");
        }
    }
    if table.admin && table.auth.is_empty() && map.get("auth").is_none() {
        table.auth.push(AuthMethod::Password);
    }
    table
}

fn auth_method(name: &str) -> Option<AuthMethod> {
    match name {
        "password" => Some(AuthMethod::Password),
        "otp" => Some(AuthMethod::Otp),
        "magicLink" => Some(AuthMethod::MagicLink),
        _ => None,
    }
}

fn is_suffix(text: &str) -> bool {
    (1..=16).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}
