//! One open stream: results in a framing, heartbeats between them, and an end that says why.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, stream};
use http::{HeaderMap, header};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Sleep, sleep};
use zonai_auth::AuthError;
use zonai_connection::Hold;
use zonai_data::{DataError, Payload};
use zonai_limit::Admitted;

use super::{Live, Place, Question, Subscription};
use crate::accounts;
use crate::route::Data;
use crate::state::State;

/// Between two signs of life.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Until a watcher who could not be looked up is looked up again.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// How messages are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// One JSON text a line.
    Lines,
    /// Server-sent events.
    Events,
}

impl Framing {
    /// What the client asked for.
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let events = headers
            .get_all(header::ACCEPT)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .any(|value| value.to_ascii_lowercase().contains("text/event-stream"));
        if events { Self::Events } else { Self::Lines }
    }

    /// For `Content-Type`.
    pub(crate) const fn content_type(self) -> &'static str {
        match self {
            Self::Lines => "application/x-ndjson",
            Self::Events => "text/event-stream",
        }
    }

    fn message(self, number: u64, text: &str) -> Bytes {
        match self {
            Self::Lines => format!("{text}\n").into(),
            Self::Events => format!("id: {number}\ndata: {text}\n\n").into(),
        }
    }

    fn error(self, text: &str) -> Bytes {
        let error = json!({"error": text});
        match self {
            Self::Lines => format!("{error}\n").into(),
            Self::Events => format!("event: error\ndata: {error}\n\n").into(),
        }
    }

    fn heartbeat(self) -> Bytes {
        match self {
            Self::Lines => Bytes::from_static(b"\n"),
            Self::Events => Bytes::from_static(b": still here\n\n"),
        }
    }
}

/// Who watches, and how they showed who they are.
pub(crate) struct Watcher {
    /// What is asked, to ask it again with other rights.
    pub(crate) data: Data,
    pub(crate) payload: Payload,
    /// The token, with its end in epoch milliseconds.
    pub(crate) token: Option<(String, i64)>,
    /// Of the request that opened the stream.
    pub(crate) admitted: Admitted,
}

struct Open {
    state: Arc<State>,
    framing: Framing,
    key: String,
    watcher: Watcher,
    subscription: Subscription,
    identities: watch::Receiver<u64>,
    place: Place,
    /// When the next sign of life is due. Only what was sent puts it off.
    heartbeat: Pin<Box<Sleep>>,
    /// When to look the watcher up again, where that could not be done.
    look_again: Option<Pin<Box<Sleep>>>,
    /// The fingerprint of what was told last: a slow reader must not hold on to an old result.
    told: Option<u64>,
    /// For the message that is being taken.
    room: Hold,
    number: u64,
    ended: bool,
}

/// Opens a stream. The first answer is known before anything is sent, so that what cannot be asked is a plain error.
///
/// # Errors
/// As the one-shot read.
pub(crate) async fn open(
    state: &Arc<State>,
    question: Question,
    watcher: Watcher,
    framing: Framing,
    place: Place,
) -> Result<Pin<Box<dyn Stream<Item = Bytes> + Send>>, DataError> {
    let identities = state.live.identities();
    let mut subscription = state.live.subscribe(state, &question, place.client());
    Live::first(&mut subscription).await?;
    subscription.results.mark_changed();
    let open = Open {
        state: Arc::clone(state),
        framing,
        key: question.key().to_owned(),
        watcher,
        subscription,
        identities,
        room: state.answers.hold(place.client()),
        place,
        heartbeat: Box::pin(sleep(HEARTBEAT)),
        look_again: None,
        told: None,
        number: 0,
        ended: false,
    };
    Ok(Box::pin(stream::unfold(open, |mut open| async move {
        let message = open.next().await?;
        Some((message, open))
    })))
}

/// Ends when it is due; without one, never.
async fn due(sleep: &mut Option<Pin<Box<Sleep>>>) {
    match sleep {
        Some(sleep) => sleep.as_mut().await,
        None => std::future::pending().await,
    }
}

/// What a stream wakes for.
enum Woken {
    Result,
    Identities,
    Expired,
    Heartbeat,
    Stop,
}

impl Open {
    async fn next(&mut self) -> Option<Bytes> {
        let message = self.message().await?;
        self.heartbeat.set(sleep(HEARTBEAT));
        Some(message)
    }

    async fn message(&mut self) -> Option<Bytes> {
        // Who comes for the next has taken the last.
        self.room.set(0);
        while !self.ended {
            match self.wait().await {
                Woken::Stop => return None,
                Woken::Heartbeat => {
                    // Also for changes of another process, which nobody told us of.
                    return Some(
                        self.look_up()
                            .err()
                            .unwrap_or_else(|| self.framing.heartbeat()),
                    );
                }
                Woken::Expired => return Some(self.end("Token expired")),
                Woken::Identities => {
                    if let Err(end) = self.look_up() {
                        return Some(end);
                    }
                }
                Woken::Result => {
                    if let Some(message) = self.result() {
                        return Some(message);
                    }
                }
            }
        }
        None
    }

    async fn wait(&mut self) -> Woken {
        let stop = self.state.live.stop.clone();
        let left = self.watcher.token.as_ref().map(|(_, expires)| {
            let left = expires.saturating_sub(self.state.clock.wall_ms()).max(0);
            Duration::from_millis(u64::try_from(left).unwrap_or(0))
        });
        let signed_in = left.is_some();
        if left == Some(Duration::ZERO) {
            return Woken::Expired;
        }
        // A slow reader finds a result ready each time it comes back: all that may end the stream, or is due, comes before it.
        tokio::select! {
            biased;
            () = stop.cancelled() => Woken::Stop,
            () = sleep(left.unwrap_or_default()), if signed_in && left <= Some(HEARTBEAT) => Woken::Expired,
            () = self.heartbeat.as_mut() => Woken::Heartbeat,
            () = due(&mut self.look_again) => Woken::Identities,
            changed = self.identities.changed(), if signed_in => if changed.is_ok() { Woken::Identities } else { Woken::Stop },
            changed = self.subscription.results.changed() => if changed.is_ok() { Woken::Result } else { Woken::Stop },
        }
    }

    fn result(&mut self) -> Option<Bytes> {
        let latest = self.subscription.results.borrow_and_update().clone();
        match latest {
            Some(Ok(text)) => {
                let told = Some(self.state.live.fingerprint(&text));
                if self.told == told {
                    return None;
                }
                if !self.room.set(text.len()) {
                    return Some(self.end(&DataError::NoRoom.to_string()));
                }
                self.told = told;
                self.number += 1;
                Some(self.framing.message(self.number, &text))
            }
            Some(Err(error)) => Some(self.end(&error.to_string())),
            None => None,
        }
    }

    /// Looks the watcher up again: a session may have been revoked, an account changed, and with it the rights.
    fn look_up(&mut self) -> Result<(), Bytes> {
        let Some((token, _)) = &self.watcher.token else {
            return Ok(());
        };
        self.look_again = None;
        match self.state.auth.authenticate(&self.watcher.admitted, token) {
            Err(AuthError::Unauthorized(why)) => Err(self.end(why)),
            // The engine is busy: that says nothing about the token.
            Err(_) => {
                self.look_again = Some(Box::pin(sleep(LOOK_AGAIN)));
                Ok(())
            }
            Ok(found) => {
                let caller = accounts::as_data(&found);
                let question = Question::new(
                    &self.state,
                    self.watcher.data,
                    &self.watcher.payload,
                    &caller,
                )
                .map_err(|error| self.end(&error.to_string()))?;
                if question.key() != self.key {
                    self.subscription =
                        self.state
                            .live
                            .subscribe(&self.state, &question, self.place.client());
                    self.subscription.results.mark_changed();
                    question.key().clone_into(&mut self.key);
                }
                Ok(())
            }
        }
    }

    fn end(&mut self, why: &str) -> Bytes {
        self.ended = true;
        self.framing.error(why)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests")]
    use zonai_data::Caller;
    use zonai_limit::{Ask, Bucket, Client, Operation, Shared, Verdict};
    use zonai_test::Project;

    use super::*;
    use crate::live::group::Latest;
    use crate::testing;

    /// A stream of the count of `notes`, and the results that it listens to.
    async fn opened(state: &Arc<State>) -> (Open, watch::Sender<Option<Latest>>) {
        let payload = Payload::from_value(json!({"table": "notes"})).expect("a payload");
        let question = Question::new(state, Data::Count, &payload, &Caller::Anonymous);
        let question = question.expect("a question");
        let ask = Ask::new(Bucket::Shared(Shared::Admin), &[Operation::Admin]);
        let verdict = state
            .gate
            .limiter
            .check(state.clock.now(), Client::Local, &ask);
        let Verdict::Admitted(admitted) = verdict.await else {
            unreachable!("the first request is admitted");
        };
        let mut subscription = state.live.subscribe(state, &question, Client::Local);
        let (sender, results) = watch::channel(None);
        subscription.results = results;
        let open = Open {
            state: Arc::clone(state),
            framing: Framing::Lines,
            key: question.key().to_owned(),
            watcher: Watcher {
                data: Data::Count,
                payload,
                token: None,
                admitted,
            },
            subscription,
            identities: state.live.identities(),
            place: state.live.places.take(Client::Local).expect("a place"),
            room: state.answers.hold(Client::Local),
            heartbeat: Box::pin(sleep(HEARTBEAT)),
            look_again: None,
            told: None,
            number: 0,
            ended: false,
        };
        (open, sender)
    }

    async fn within(seconds: f64, open: &mut Open) -> Option<Bytes> {
        let next = tokio::time::timeout(Duration::from_secs_f64(seconds), open.next());
        next.await.ok().flatten()
    }

    /// A reader so slow that a result is ready whenever it comes back still hears that its token is over.
    #[tokio::test]
    async fn a_token_that_is_over_ends_a_stream_that_always_has_more_to_send() {
        let project = Project::tasks();
        let (state, hand) = testing::state(&project).await;
        let (mut open, results) = opened(&state).await;
        let expires = state.clock.wall_ms() + 4_000;
        open.watcher.token = Some(("any".to_owned(), expires));
        let more = |number: u32| results.send_replace(Some(Ok(format!("{number}").into())));
        more(1);
        assert_eq!(within(1.0, &mut open).await, Some("1\n".into()));
        hand.advance_ms(4_000);
        more(2);
        let end = within(1.0, &mut open).await;
        assert_eq!(end, Some("{\"error\":\"Token expired\"}\n".into()));
    }

    /// One that was revoked, too.
    #[tokio::test]
    async fn a_revoked_token_ends_a_stream_that_always_has_more_to_send() {
        let project = Project::tasks();
        let (state, _hand) = testing::state(&project).await;
        let (mut open, results) = opened(&state).await;
        let expires = state.clock.wall_ms() + 3_600_000;
        open.watcher.token = Some(("of nobody".to_owned(), expires));
        results.send_replace(Some(Ok("1".into())));
        assert_eq!(within(1.0, &mut open).await, Some("1\n".into()));
        results.send_replace(Some(Ok("2".into())));
        state.live.identities.send_modify(|version| *version += 1);
        let end = within(1.0, &mut open).await;
        assert_eq!(
            end,
            Some("{\"error\":\"Invalid or expired token\"}\n".into())
        );
    }

    /// What wakes a stream without a message for its reader does not put off the sign of life; a message does.
    #[tokio::test]
    async fn a_heartbeat_comes_15_s_after_what_was_sent_last() {
        let project = Project::tasks();
        let (state, _hand) = testing::state(&project).await;
        let (mut open, results) = opened(&state).await;
        tokio::time::pause();
        let heartbeat = Some(Bytes::from_static(b"\n"));
        let same: Arc<str> = "{\"data\":0}".into();
        results.send_replace(Some(Ok(Arc::clone(&same))));
        assert_eq!(within(1.0, &mut open).await, Some("{\"data\":0}\n".into()));

        let wakes = async {
            loop {
                sleep(Duration::from_secs(4)).await;
                results.send_replace(Some(Ok(Arc::clone(&same))));
            }
        };
        let beats = async {
            for _ in 0..3 {
                assert_eq!(within(14.9, &mut open).await, None);
                assert_eq!(within(0.2, &mut open).await, heartbeat);
            }
        };
        tokio::select! {
            () = wakes => {}
            () = beats => {}
        }

        assert_eq!(within(10.0, &mut open).await, None);
        results.send_replace(Some(Ok("{\"data\":1}".into())));
        assert_eq!(within(0.1, &mut open).await, Some("{\"data\":1}\n".into()));
        assert_eq!(within(14.9, &mut open).await, None);
        assert_eq!(within(0.2, &mut open).await, heartbeat);
    }
}
