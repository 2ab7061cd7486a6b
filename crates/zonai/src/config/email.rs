//! `app.email`: the mail server, all but its password.
//!
//! Must never connect: whether the server answers is found out when a mail is sent.

use std::time::Duration;

use zonai_auth::{MailFrom, MailSettings, MailTls, Secret};
use zonai_policy::yaml::Map;
use zonai_policy::{Faults, Span};

use super::{keys, server, text};

/// The settings, and where they stand.
#[derive(Clone, Debug)]
pub(crate) struct EmailDraft {
    pub(crate) settings: MailSettings,
}

impl EmailDraft {
    /// Reads the section; `None` where something is wrong or missing.
    pub(super) fn read(map: &Map, span: Span, faults: &mut Faults<'_>) -> Option<Self> {
        let before = faults.len();
        keys::EMAIL.check(map, faults);
        for key in ["host", "from"] {
            if map.get(key).is_none() {
                faults.at(span, format!("`email` needs `{key}`"));
            }
        }
        let host = text(map, "host", faults);
        if let Some((host, span)) = host
            && (host.is_empty() || host.contains(|c: char| c.is_whitespace() || "/:@".contains(c)))
        {
            faults.at(
                span,
                "`host` must be the name or address of a mail server; the port has its own key",
            );
        }
        let tls: MailTls = parsed(map, "tls", faults).unwrap_or_default();
        let from: Option<MailFrom> = parsed(map, "from", faults);
        let mut settings = MailSettings::new(host?.0, tls, from?);
        settings.reply_to = parsed(map, "replyTo", faults);
        settings.user = text(map, "user", faults).map(|(user, _)| user.to_owned());
        if let Some(entry) = map.get("port") {
            settings.port = entry
                .value
                .expect_int("`port`", 1..=u16::MAX, faults)
                .unwrap_or(settings.port);
        }
        let range = Duration::from_secs(1)..=Duration::from_secs(120);
        settings.timeout =
            server::duration(map, "timeout", range, faults).unwrap_or(settings.timeout);
        (faults.len() == before).then_some(Self { settings })
    }

    /// The settings with the password that the environment has.
    pub(crate) fn with_password(mut self, password: Option<&str>) -> MailSettings {
        self.settings.password = self.settings.password.or_else(|| password.map(Secret::new));
        self.settings
    }
}

fn parsed<T>(map: &Map, key: &str, faults: &mut Faults<'_>) -> Option<T>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let (text, span) = text(map, key, faults)?;
    text.parse()
        .map_err(|error: T::Err| faults.at(span, format!("`{key}`: {error}")))
        .ok()
}
