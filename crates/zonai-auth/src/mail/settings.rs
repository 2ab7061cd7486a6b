//! How to reach the mail server (`app.email`).
//!
//! Must never hold the mail server's password other than as a [`Secret`], which no log shows.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use lettre::message::Mailbox;

use crate::Secret;

/// `app.email` of `zonai.yaml`; the password comes from the environment (`SMTP_PASSWORD`).
#[derive(Clone, Debug)]
pub struct MailSettings {
    /// `host`: the mail server.
    pub host: String,
    /// `port`; the default follows from `tls`: 465, 587 or 25.
    pub port: u16,
    /// `tls`.
    pub tls: MailTls,
    /// `user`; with a password, signs in at the mail server.
    pub user: Option<String>,
    /// `SMTP_PASSWORD`.
    pub password: Option<Secret>,
    /// `from`: who the mails come from.
    pub from: MailFrom,
    /// `replyTo`: where answers go, if not to `from`.
    pub reply_to: Option<MailFrom>,
    /// How long one exchange with the server may take (10 s).
    pub timeout: Duration,
    /// How long to wait before each further try (2 s, 10 s, 60 s, 300 s: no longer than a code lives).
    pub retry_after: Vec<Duration>,
}

impl MailSettings {
    /// Settings with the defaults of everything but the server and the sender.
    #[must_use]
    pub fn new(host: impl Into<String>, tls: MailTls, from: MailFrom) -> Self {
        Self {
            host: host.into(),
            port: tls.default_port(),
            tls,
            user: None,
            password: None,
            from,
            reply_to: None,
            timeout: Duration::from_secs(10),
            retry_after: [2, 10, 60, 300].map(Duration::from_secs).to_vec(),
        }
    }
}

/// How the way to the mail server is protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MailTls {
    /// `tls: always`: TLS from the first byte (port 465).
    Always,
    /// `tls: startTls`: plain, then TLS before anything is said; without it nothing is sent (port 587).
    #[default]
    StartTls,
    /// `tls: none`: plain text, for a server on the same machine (port 25).
    None,
}

impl MailTls {
    /// The port where servers of that kind listen.
    #[must_use]
    pub const fn default_port(self) -> u16 {
        match self {
            Self::Always => 465,
            Self::StartTls => 587,
            Self::None => 25,
        }
    }
}

impl FromStr for MailTls {
    type Err = MailSettingError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "always" => Ok(Self::Always),
            "startTls" => Ok(Self::StartTls),
            "none" => Ok(Self::None),
            _ => Err(MailSettingError::Tls(text.to_owned())),
        }
    }
}

/// A sender: `shop@example.com` or `The Shop <shop@example.com>`.
#[derive(Clone, PartialEq, Eq)]
pub struct MailFrom(Mailbox);

impl MailFrom {
    pub(crate) const fn mailbox(&self) -> &Mailbox {
        &self.0
    }
}

impl FromStr for MailFrom {
    type Err = MailSettingError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.chars().any(char::is_control) {
            return Err(MailSettingError::From(text.escape_debug().to_string()));
        }
        text.parse()
            .map(Self)
            .map_err(|_| MailSettingError::From(text.to_owned()))
    }
}

impl fmt::Display for MailFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for MailFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MailFrom({})", self.0)
    }
}

/// Why a value of `app.email` is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MailSettingError {
    /// Not an address.
    #[error("`{0}` is no sender; write `shop@example.com` or `The Shop <shop@example.com>`")]
    From(String),
    /// Not a way of protecting the connection.
    #[error("`{0}` is no way of TLS; write `startTls`, `always` or `none`")]
    Tls(String),
    /// The mail server's certificate could not be prepared for.
    #[error("TLS for the mail server `{host}` cannot be set up: {reason}")]
    Connection {
        /// The server.
        host: String,
        /// What the library says.
        reason: String,
    },
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

    #[test]
    fn a_sender_is_an_address_with_or_without_a_name() {
        let from: MailFrom = "The Shop <shop@example.com>".parse().unwrap();
        assert_eq!(from.to_string(), "The Shop <shop@example.com>");
        assert!("shop@example.com".parse::<MailFrom>().is_ok());
        for bad in ["", "shop", "a@b\r\nBcc: c@d", "<>"] {
            assert!(bad.parse::<MailFrom>().is_err(), "{bad:?}");
        }
    }

    #[test]
    fn the_port_follows_from_tls() {
        let from: MailFrom = "a@example.com".parse().unwrap();
        for (text, port) in [("always", 465), ("startTls", 587), ("none", 25)] {
            let settings =
                MailSettings::new("mail.example.com", text.parse().unwrap(), from.clone());
            assert_eq!(settings.port, port);
        }
        assert!("yes".parse::<MailTls>().is_err());
    }
}
