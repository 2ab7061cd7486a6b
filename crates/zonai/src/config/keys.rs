//! Every key that `zonai.yaml` may have, and what was probably meant by one that it may not.
//!
//! Must never be a second list: the readers ask for their keys here, and the documentation is tested against it.

use zonai_policy::yaml::{Entry, Map};
use zonai_policy::{Faults, nearest};

/// A map of the file whose keys are fixed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    /// The dotted path to it; empty for the file itself. `*` stands for a name.
    pub(crate) path: &'static str,
    /// Its keys.
    pub(crate) keys: &'static [&'static str],
}

pub(crate) const TOP: Section = Section {
    path: "",
    keys: &[
        "version",
        "host",
        "port",
        "listen",
        "schemasPath",
        "rateLimitPath",
        "rulesPath",
        "operationsPath",
        "cronsPath",
        "emailTemplatesPath",
        "dataPath",
        "rateLimit",
        "app",
        "server",
    ],
};
pub(crate) const RATE_LIMIT: Section = Section {
    path: "rateLimit",
    keys: &["maxCounters", "ipv6Prefix", "exempt", "headers", "shared"],
};
pub(crate) const APP: Section = Section {
    path: "app",
    keys: &[
        "appName",
        "baseUrl",
        "jwtExpiresIn",
        "trustedProxy",
        "email",
        "devMail",
        "cors",
        "tables",
    ],
};
pub(crate) const TRUSTED_PROXY: Section = Section {
    path: "app.trustedProxy",
    keys: &["headers", "useLeftmostIp", "proxies", "proxyProtocol"],
};
pub(crate) const EMAIL: Section = Section {
    path: "app.email",
    keys: &["host", "port", "tls", "user", "from", "replyTo", "timeout"],
};
pub(crate) const CORS: Section = Section {
    path: "app.cors",
    keys: &["origins"],
};
pub(crate) const TABLE: Section = Section {
    path: "app.tables.*",
    keys: &["auth", "admin", "idSuffix"],
};
pub(crate) const SERVER: Section = Section {
    path: "server",
    keys: &[
        "connections",
        "bodyBytes",
        "bodyBytesPerClient",
        "answerBytes",
        "answerBytesPerClient",
        "bodyTimeout",
        "headTimeout",
        "idleTimeout",
        "maxPayload",
        "streamsPerClient",
        "stopGrace",
    ],
};

/// All of them.
pub(crate) const ALL: [Section; 8] = [
    TOP,
    RATE_LIMIT,
    APP,
    TRUSTED_PROXY,
    EMAIL,
    CORS,
    TABLE,
    SERVER,
];

/// Names of secrets, as the environment has them.
pub(crate) const SECRETS: [&str; 5] = [
    "JWT_SECRET",
    "PASSWORD_SECRET",
    "PREVIOUS_JWT_SECRETS",
    "PREVIOUS_PASSWORD_SECRETS",
    "SMTP_PASSWORD",
];

impl Section {
    /// A fault for each key that this section does not have.
    pub(crate) fn check(self, map: &Map, faults: &mut Faults<'_>) {
        for entry in &map.entries {
            if !self.keys.contains(&entry.key.as_str()) {
                self.unknown(entry, faults);
            }
        }
    }

    fn unknown(self, entry: &Entry, faults: &mut Faults<'_>) {
        let key = entry.key.as_str();
        if let Some(secret) = secret_meant(self, key) {
            let message = format!("`{key}` is a secret, and secrets are never read from this file");
            let help = format!(
                "set {secret} in the environment or in the project's `.env`, and make a new one: this one has been in a file that is shared"
            );
            faults.at_with_help(entry.key_span, message, help);
        } else if let Some(elsewhere) = elsewhere(self, key) {
            let message = format!("unknown key `{key}` here");
            faults.at_with_help(
                entry.key_span,
                message,
                format!("did you mean {elsewhere}?"),
            );
        } else if nearest(key, self.keys.iter().copied()).is_none() {
            let place = if self.path.is_empty() {
                "this file"
            } else {
                self.path
            };
            let help = format!("the keys of {place} are {}", self.keys.join(", "));
            faults.at_with_help(
                entry.key_span,
                format!("unknown key `{}`", shown(key)),
                help,
            );
        } else {
            faults.unknown(entry.key_span, "key", key, self.keys.iter().copied());
        }
    }
}

/// The secret that a key names, in any spelling of it.
fn secret_meant(section: Section, key: &str) -> Option<&'static str> {
    if section.path == EMAIL.path && (same(key, "password") || same(key, "pass")) {
        return Some("SMTP_PASSWORD");
    }
    SECRETS.into_iter().find(|secret| same(key, secret))
}

/// Where a key belongs that stands in the wrong section: the key of that very name in another one. Names that
/// mean something in many places (`port`, `timeout`) count only where this section has nothing near.
fn elsewhere(section: Section, key: &str) -> Option<String> {
    let near = nearest(key, section.keys.iter().copied());
    if near.is_some_and(|near| same(near, key)) {
        return None;
    }
    ALL.into_iter()
        .filter(|other| other.path != section.path && !other.path.ends_with('*'))
        .filter(|other| near.is_none() || !matches!(other.path, "" | "app.email"))
        .find_map(|other| {
            other
                .keys
                .iter()
                .find(|known| same(known, key))
                .map(|known| (other, known))
        })
        .map(|(other, known)| match other.path {
            "" => format!("`{known}`, which stands at the top of the file"),
            path => format!("`{path}.{known}`"),
        })
}

fn same(one: &str, other: &str) -> bool {
    let plain = |text: &str| -> String {
        text.chars()
            .filter(|c| !matches!(c, '_' | '-'))
            .flat_map(char::to_lowercase)
            .collect()
    };
    plain(one) == plain(other)
}

fn shown(key: &str) -> String {
    key.chars().take(60).collect()
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        reason = "tests"
    )]

    use super::*;
    use crate::project::environment::VARIABLES;

    const PAGE: &str = include_str!("../../../../docs/configuration.md");
    const EVERY_KEY: &str = include_str!("../../tests/it/every_key.yaml");

    #[test]
    fn every_key_and_every_variable_is_documented() {
        let keys = ALL
            .iter()
            .flat_map(|section| section.keys)
            .copied()
            .chain(SECRETS)
            .chain(VARIABLES);
        for name in keys {
            let shown = PAGE.contains(&format!("`{name}`"))
                || PAGE.contains(&format!("`{name}."))
                || PAGE.contains(&format!(".{name}`"))
                || PAGE.contains(&format!(".{name}\n"));
            assert!(shown, "docs/configuration.md does not name `{name}`");
        }
    }

    #[test]
    fn the_file_with_every_key_has_every_key() {
        // `host` and `port` stand in the place of `listen`, and tables need a schema: they have tests of their own.
        for key in ALL
            .iter()
            .filter(|section| section.path != TABLE.path)
            .flat_map(|section| section.keys)
        {
            assert!(
                EVERY_KEY.contains(&format!("{key}:")),
                "every_key.yaml does not have `{key}`"
            );
        }
    }
}
