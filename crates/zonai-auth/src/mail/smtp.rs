//! One mail over SMTP.
//!
//! Addresses and headers are built by typed parts only, so that no text can add a header or a recipient.
//! Must never put a header or a recipient together from texts.

use std::time::{Duration, SystemTime};

use lettre::message::header::{HeaderName, HeaderValue};
use lettre::message::{Mailbox, MultiPart, SinglePart};
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use lettre::{AsyncSmtpTransport, AsyncTransport, Message, Tokio1Executor};
use zonai_clock::Clock;

use super::outbox::Mail;
use super::settings::{MailSettingError, MailSettings, MailTls};

/// What became of a mail.
pub(super) enum Sent {
    /// The server has it.
    Yes,
    /// The server does not take it now.
    NotNow(String),
    /// It will never take it.
    Never(String),
}

/// A mail server.
pub(super) struct Smtp {
    transport: AsyncSmtpTransport<Tokio1Executor>,
    settings: MailSettings,
    clock: Clock,
}

impl Smtp {
    pub(super) fn new(settings: MailSettings, clock: Clock) -> Result<Self, MailSettingError> {
        let tls = |host: &str| {
            TlsParameters::new(host.to_owned()).map_err(|error| MailSettingError::Connection {
                host: host.to_owned(),
                reason: error.to_string(),
            })
        };
        let tls = match settings.tls {
            MailTls::Always => Tls::Wrapper(tls(&settings.host)?),
            MailTls::StartTls => Tls::Required(tls(&settings.host)?),
            MailTls::None => Tls::None,
        };
        let hello = ClientId::Domain(settings.from.mailbox().email.domain().to_owned());
        let mut builder = AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(&settings.host)
            .port(settings.port)
            .hello_name(hello)
            .timeout(Some(settings.timeout))
            .tls(tls);
        if let (Some(user), Some(password)) = (&settings.user, &settings.password) {
            let credentials = Credentials::new(user.clone(), password.expose().to_owned());
            builder = builder.credentials(credentials);
        }
        Ok(Self {
            transport: builder.build(),
            settings,
            clock,
        })
    }

    /// One try.
    pub(super) async fn send(&self, mail: &Mail) -> Sent {
        let message = match self.message(mail) {
            Ok(message) => message,
            Err(reason) => return Sent::Never(reason),
        };
        // The time-out of the transport is per command; a server that answers each one slowly must
        // not hold a turn for ever.
        let whole = self.settings.timeout.saturating_mul(3);
        match tokio::time::timeout(whole, self.transport.send(message)).await {
            Ok(Ok(_)) => Sent::Yes,
            Ok(Err(error)) if error.is_permanent() => Sent::Never(status(&error)),
            Ok(Err(error)) => Sent::NotNow(status(&error)),
            Err(_) => Sent::NotNow("the exchange took too long".to_owned()),
        }
    }

    fn message(&self, mail: &Mail) -> Result<Message, String> {
        let from = self.settings.from.mailbox();
        let to = mail
            .to
            .as_str()
            .parse()
            .map_err(|_| "no address for a mail".to_owned())?;
        let random = crate::Secret::random().map_err(|error| error.to_string())?;
        let id = format!("<{}@{}>", random.expose(), from.email.domain());
        let ms = u64::try_from(self.clock.wall_ms()).unwrap_or(0);
        let mut builder = Message::builder()
            .from(from.clone())
            .to(Mailbox::new(None, to))
            .subject(mail.content.subject.as_str())
            .date(SystemTime::UNIX_EPOCH + Duration::from_millis(ms))
            .message_id(Some(id))
            .raw_header(HeaderValue::new(
                HeaderName::new_from_ascii_str("Auto-Submitted"),
                "auto-generated".to_owned(),
            ));
        if let Some(reply_to) = &self.settings.reply_to {
            builder = builder.reply_to(reply_to.mailbox().clone());
        }
        let text = mail.content.text.clone();
        let message = match &mail.content.html {
            Some(html) => builder.multipart(MultiPart::alternative_plain_html(text, html.clone())),
            None => builder.singlepart(SinglePart::plain(text)),
        };
        message.map_err(|error| error.to_string())
    }
}

/// What went wrong, without the text of the server, which may repeat the address.
fn status(error: &lettre::transport::smtp::Error) -> String {
    match error.status() {
        Some(code) => format!("the server answered {code}"),
        None if error.is_timeout() => "no answer in time".to_owned(),
        None if error.is_tls() => format!("no TLS: {error}"),
        None => error.to_string(),
    }
}
