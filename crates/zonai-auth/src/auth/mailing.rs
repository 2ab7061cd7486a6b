//! Mails that are asked for: answered at once, looked up and written in the background.
//!
//! The answer comes before anything is known about the address, so neither it nor its time tells anything.
//! Must never let the answer wait for what is found, or differ by it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::{Auth, Core};
use crate::error::MAIL_BUSY;
use crate::gate::{AuthAction, AuthAsk};
use crate::mail::outbox::Mail;
use crate::mail::template::Values;
use crate::requests::MailTo;
use crate::rows::challenges::{self, For};
use crate::rows::minute;
use crate::{AuthError, MailKind, Secret, db};

/// How many asked-for mails may wait to be looked up.
const PLACES: usize = 256;
/// How often a look-up is tried again while the database is busy, and after which time.
const BUSY_TRIES: u32 = 5;
const BUSY_WAIT: Duration = Duration::from_millis(200);

impl Auth {
    /// Asks for a mail: a code or link to sign in, to set a new password, or to verify an address.
    ///
    /// # Errors
    /// 404 for a table without accounts, 400 where the table does not sign in that way or the server sends
    /// no mail, 503 when too many mails wait. None depends on whether the address has an account.
    pub fn send_mail(&self, kind: MailKind, to: MailTo) -> Result<(), AuthError> {
        let intake = self.check_mail(kind, &to)?;
        intake.put(Wanted { kind, to })
    }

    pub(super) fn check_mail(&self, kind: MailKind, to: &MailTo) -> Result<&Intake, AuthError> {
        let table = self.core.table(&to.table)?;
        let (fits, way) = match kind {
            MailKind::Otp => (table.setup.otp, "codes"),
            MailKind::MagicLink => (table.setup.magic_link, "magic links"),
            MailKind::ResetPassword => (table.setup.password, "passwords"),
            MailKind::VerifyEmail => (true, ""),
        };
        if !fits {
            let text = format!("Accounts of table {} have no {way}", table.name);
            return Err(AuthError::BadRequest(text));
        }
        self.intake
            .as_ref()
            .ok_or_else(|| AuthError::bad("This server sends no mail: `app.email` is not set"))
    }
}

struct Wanted {
    kind: MailKind,
    to: MailTo,
}

/// The queue of asked-for mails and the task that looks them up.
pub(super) struct Intake {
    sender: Mutex<Option<mpsc::Sender<Wanted>>>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Intake {
    pub(super) fn start(core: Arc<Core>) -> Self {
        let (sender, mut receiver) = mpsc::channel::<Wanted>(PLACES);
        let task = tokio::spawn(async move {
            while let Some(wanted) = receiver.recv().await {
                let kind = wanted.kind.name();
                if let Err(error) = core.write_mail(wanted).await {
                    tracing::error!(kind, %error, "a mail could not be written");
                }
            }
        });
        Self {
            sender: Mutex::new(Some(sender)),
            task: Mutex::new(Some(task)),
        }
    }

    fn put(&self, wanted: Wanted) -> Result<(), AuthError> {
        match &*self.sender.lock() {
            Some(sender) => sender.try_send(wanted).map_err(|_| MAIL_BUSY),
            None => Err(MAIL_BUSY),
        }
    }

    pub(super) async fn close(&self, grace: Duration) {
        self.sender.lock().take();
        let task = self.task.lock().take();
        let Some(mut task) = task else { return };
        if tokio::time::timeout(grace, &mut task).await.is_err() {
            task.abort();
            let _aborted = task.await;
            tracing::warn!("not all mails were written before the stop");
        }
    }
}

impl Drop for Intake {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().take() {
            task.abort();
        }
    }
}

impl Core {
    /// Writes the mail, if there is an account and it is not too soon.
    async fn write_mail(self: &Arc<Self>, wanted: Wanted) -> Result<(), AuthError> {
        let Some(outbox) = &self.outbox else {
            return Ok(());
        };
        let Wanted { kind, to } = wanted;
        let Some(place) = outbox.place() else {
            tracing::warn!(
                kind = kind.name(),
                "a mail was dropped: too many are on their way"
            );
            return Ok(());
        };
        let secret = match kind {
            MailKind::Otp => Secret::new(
                random_code().map_err(|error| AuthError::internal("no code for a mail", error))?,
            ),
            _ => Secret::random()
                .map_err(|error| AuthError::internal("no link for a mail", error))?,
        };
        if !self.note(kind, &to, &secret).await? {
            return Ok(());
        }
        let values = Values {
            app_name: &self.settings.app_name,
            base_url: &self.settings.base_url,
            email: to.address.as_str(),
            secret: secret.expose(),
        };
        if let Some(content) = self.settings.templates.render(kind, &values) {
            outbox.put(
                place,
                Mail {
                    kind,
                    to: to.address,
                    content,
                },
            );
        }
        Ok(())
    }

    /// Notes the challenge. `false`: there is no such account, a mail went there less than a minute ago, or
    /// a rule says no.
    async fn note(
        self: &Arc<Self>,
        kind: MailKind,
        to: &MailTo,
        secret: &Secret,
    ) -> Result<bool, AuthError> {
        let mut tries = BUSY_TRIES;
        loop {
            let (core, to, secret) = (Arc::clone(self), to.clone(), secret.clone());
            let note = move |connection: &Connection| core.note_in(connection, kind, &to, &secret);
            match db::write(&self.engine, &*self.internal, note).await {
                Err(AuthError::Busy(_)) if tries > 0 => tries -= 1,
                done => return done,
            }
            tokio::time::sleep(BUSY_WAIT).await;
        }
    }

    fn note_in(
        &self,
        connection: &Connection,
        kind: MailKind,
        to: &MailTo,
        secret: &Secret,
    ) -> Result<bool, AuthError> {
        let table = self.table(&to.table)?;
        let address = to.address.as_str();
        let now = self.clock.wall_ms();
        let Some(account) = table.by_address(connection, address)? else {
            return Ok(false);
        };
        if kind == MailKind::ResetPassword {
            let action = AuthAction::PasswordReset;
            let ask = AuthAsk {
                action,
                table: &table.name,
                row: &account.user,
                caller: None,
            };
            if !self.gate.allows(connection, &ask)? {
                return Ok(false);
            }
        }
        if !minute::take(connection, &self.keys.digest("mail to", &[address]), now)? {
            return Ok(false);
        }
        let whose = For {
            table: &table.name,
            user: &account.id,
            address,
        };
        challenges::insert(connection, &self.keys, kind, whose, secret.expose(), now)?;
        Ok(true)
    }
}

/// Six digits, each of the million alike likely.
fn random_code() -> Result<String, getrandom::Error> {
    const CODES: u32 = 1_000_000;
    loop {
        let number = getrandom::u32()?;
        // The last, incomplete million of the range would make low codes likelier.
        if number < u32::MAX - u32::MAX % CODES {
            return Ok(format!("{:06}", number % CODES));
        }
    }
}
