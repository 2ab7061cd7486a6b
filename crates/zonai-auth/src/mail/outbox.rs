//! Mails on their way: at most [`PLACES`], handed to the mail server by one worker that a stop joins.
//!
//! A mail that the server refuses for good is dropped; one that it cannot take now is tried again.
//! Neither an address nor what a mail says goes to the log, except where the project asked for it.
//! Must never hold up who hands a mail over: where all places are taken, it is dropped.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::{JoinHandle, JoinSet};
use zonai_clock::Clock;

use super::kind::MailKind;
use super::settings::{MailSettingError, MailSettings};
use super::smtp::{Sent, Smtp};
use super::template::Rendered;
use crate::Address;

/// How many mails may be on their way, those that wait for a further try among them.
pub(crate) const PLACES: usize = 256;
/// How many are handed over at the same time.
const AT_ONCE: usize = 4;

/// How mails leave.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one of it in a server")]
pub enum MailTransport {
    /// Through a mail server (`app.email`).
    Smtp(MailSettings),
    /// Into the log, for development (`app.devMail: true` without `app.email`).
    Log,
}

/// One mail to one address.
pub(crate) struct Mail {
    pub(crate) kind: MailKind,
    pub(crate) to: Address,
    pub(crate) content: Rendered,
}

/// A place in the outbox.
pub(crate) struct Place(OwnedSemaphorePermit);

/// The mails on their way.
pub(crate) struct Outbox {
    places: Arc<Semaphore>,
    sender: Mutex<Option<mpsc::Sender<(Mail, Place)>>>,
    stopping: watch::Sender<bool>,
    worker: Mutex<Option<JoinHandle<()>>>,
}

impl Outbox {
    /// Starts the worker on the current tokio runtime.
    ///
    /// # Errors
    /// When TLS for the mail server cannot be set up.
    pub(crate) fn start(transport: MailTransport, clock: Clock) -> Result<Self, MailSettingError> {
        let carrier = match transport {
            MailTransport::Smtp(settings) => Carrier {
                retry_after: settings.retry_after.clone(),
                smtp: Some(Smtp::new(settings, clock)?),
                at_once: Semaphore::new(AT_ONCE),
            },
            MailTransport::Log => Carrier {
                retry_after: Vec::new(),
                smtp: None,
                at_once: Semaphore::new(AT_ONCE),
            },
        };
        let (sender, receiver) = mpsc::channel(PLACES);
        let (stopping, stop) = watch::channel(false);
        let worker = tokio::spawn(run(receiver, Arc::new(carrier), stop));
        Ok(Self {
            places: Arc::new(Semaphore::new(PLACES)),
            sender: Mutex::new(Some(sender)),
            stopping,
            worker: Mutex::new(Some(worker)),
        })
    }

    /// A place for one more mail, if there is one.
    pub(crate) fn place(&self) -> Option<Place> {
        Arc::clone(&self.places).try_acquire_owned().ok().map(Place)
    }

    /// Puts a mail into its place.
    pub(crate) fn put(&self, place: Place, mail: Mail) {
        let lost = match &*self.sender.lock() {
            Some(sender) => sender.try_send((mail, place)).is_err(),
            None => true,
        };
        if lost {
            tracing::warn!("a mail was lost: the server is stopping");
        }
    }

    /// Hands over what is there, each mail once more at most, and ends the worker; what is not gone
    /// within `grace` is lost, and the log says so.
    pub(crate) async fn close(&self, grace: Duration) {
        self.sender.lock().take();
        let _nobody_listens = self.stopping.send(true);
        let worker = self.worker.lock().take();
        let Some(mut worker) = worker else { return };
        if tokio::time::timeout(grace, &mut worker).await.is_err() {
            worker.abort();
            let _aborted = worker.await;
            let lost = PLACES - self.places.available_permits();
            tracing::warn!(
                lost,
                "the mail server did not take all mails before the stop"
            );
        }
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        if let Some(worker) = self.worker.lock().take() {
            worker.abort();
        }
    }
}

struct Carrier {
    smtp: Option<Smtp>,
    retry_after: Vec<Duration>,
    at_once: Semaphore,
}

async fn run(
    mut receiver: mpsc::Receiver<(Mail, Place)>,
    carrier: Arc<Carrier>,
    stop: watch::Receiver<bool>,
) {
    // Bounded by the places: each delivery holds one.
    let mut deliveries = JoinSet::new();
    loop {
        tokio::select! {
            next = receiver.recv() => {
                let Some((mail, place)) = next else { break };
                let (carrier, stop) = (Arc::clone(&carrier), stop.clone());
                deliveries.spawn(async move {
                    carrier.deliver(&mail, stop).await;
                    drop(place.0);
                });
            }
            Some(_) = deliveries.join_next() => {}
        }
    }
    while deliveries.join_next().await.is_some() {}
}

impl Carrier {
    async fn deliver(&self, mail: &Mail, mut stop: watch::Receiver<bool>) {
        let kind = mail.kind.name();
        let Some(smtp) = &self.smtp else {
            let to = mail.to.as_str();
            tracing::info!(
                kind,
                to,
                "devMail, not sent: {}\n{}",
                mail.content.subject,
                mail.content.text
            );
            return;
        };
        let mut waits = self.retry_after.iter();
        loop {
            let sent = {
                let _turn = self.at_once.acquire().await;
                smtp.send(mail).await
            };
            match sent {
                Sent::Yes => return tracing::debug!(kind, "mail sent"),
                Sent::Never(reason) => {
                    return tracing::error!(kind, reason, "the mail server refuses a mail");
                }
                Sent::NotNow(reason) => {
                    let Some(wait) = waits.next() else {
                        return tracing::error!(
                            kind,
                            reason,
                            "a mail was given up after all tries"
                        );
                    };
                    let retry_in_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                    tracing::warn!(kind, reason, retry_in_ms, "a mail could not be sent");
                    tokio::select! {
                        () = tokio::time::sleep(*wait) => {}
                        _ = stop.wait_for(|stopping| *stopping) => {
                            return tracing::warn!(kind, "a mail was lost: the server is stopping");
                        }
                    }
                }
            }
        }
    }
}
