//! Live queries: who watches what, and what must be asked again when something changes.
//!
//! Streams with the same query and the same rights share one [`Group`], which asks once and tells all of them. Must
//! never keep a backlog: a reader that was slow gets the newest result.

mod group;
mod places;
mod question;
mod stream;

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use zonai_data::{Change, ChangeReceiver, DataError};
use zonai_limit::Client;

use group::{Group, Latest};
pub(crate) use places::{Place, Places};
pub(crate) use question::Question;
pub(crate) use stream::{Framing, Watcher, open};

use crate::state::State;

/// Every live query of the server.
pub(crate) struct Live {
    groups: Mutex<HashMap<String, Weak<Group>>>,
    pub(crate) places: Arc<Places>,
    /// Moves on when sessions or accounts may have changed.
    identities: watch::Sender<u64>,
    hasher: RandomState,
    /// Ends every stream.
    pub(crate) stop: CancellationToken,
}

/// A place in a group: the results of one question as they come.
pub(crate) struct Subscription {
    /// Kept for as long as somebody listens: the group ends with its last subscription.
    _group: Arc<Group>,
    pub(crate) results: watch::Receiver<Option<Latest>>,
}

impl Live {
    pub(crate) fn new(streams_per_client: usize, stop: CancellationToken) -> Self {
        Self {
            groups: Mutex::default(),
            places: Places::new(streams_per_client),
            identities: watch::Sender::new(0),
            hasher: RandomState::new(),
            stop,
        }
    }

    /// Joins the group of a question, or starts it. Who starts it is the one on whose behalf its result is held.
    pub(crate) fn subscribe(
        &self,
        state: &Arc<State>,
        question: &Question,
        client: Client,
    ) -> Subscription {
        let mut groups = self.groups.lock();
        if let Some(group) = groups.get(question.key()).and_then(Weak::upgrade) {
            let results = group.results();
            return Subscription {
                _group: group,
                results,
            };
        }
        let group = Arc::new(Group::new(question.clone(), state.answers.hold(client)));
        groups.retain(|_, group| group.strong_count() > 0);
        groups.insert(question.key().to_owned(), Arc::downgrade(&group));
        drop(groups);
        let results = group.results();
        state.spawn(group::run(
            Arc::downgrade(state),
            Arc::downgrade(&group),
            self.stop.clone(),
        ));
        Subscription {
            _group: group,
            results,
        }
    }

    /// Ends a group that nobody listens to. `false` where somebody does; else nobody can join it any more.
    ///
    /// Asked under the lock that [`Live::subscribe`] holds from finding a group to listening to it.
    fn end(&self, group: &Group) -> bool {
        let mut groups = self.groups.lock();
        if group.is_listened_to() {
            return false;
        }
        groups.remove(group.key());
        true
    }

    /// Lets nobody join a group any more.
    fn forget(&self, group: &Group) {
        let mut groups = self.groups.lock();
        let is_it = |listed: &Weak<Group>| std::ptr::eq(listed.as_ptr(), group);
        if groups.get(group.key()).is_some_and(is_it) {
            groups.remove(group.key());
        }
    }

    /// The first result of a question, from its group.
    ///
    /// # Errors
    /// What the question fails with.
    pub(crate) async fn first(subscription: &mut Subscription) -> Result<Arc<str>, DataError> {
        match subscription.results.wait_for(Option::is_some).await {
            Ok(latest) => latest
                .clone()
                .unwrap_or_else(|| Err(DataError::internal("opening a live query", &"no answer"))),
            Err(ended) => Err(DataError::internal("opening a live query", &ended)),
        }
    }

    /// What two results are told apart by. Of two that differ it is the same once in 2^64 times; whoever makes results cannot aim
    /// at that, because the hash is keyed.
    fn fingerprint(&self, result: &str) -> u64 {
        self.hasher.hash_one(result)
    }

    /// Whether sessions or accounts may have changed.
    pub(crate) fn identities(&self) -> watch::Receiver<u64> {
        self.identities.subscribe()
    }

    /// How many different questions are being watched.
    pub(crate) fn questions(&self) -> usize {
        self.groups
            .lock()
            .values()
            .filter(|group| group.strong_count() > 0)
            .count()
    }

    fn changed(&self, state: &State, change: &Change) {
        let accounts = state.auth_tables.iter().any(|table| change.touches(table));
        if accounts || change.touches("_jwt") {
            self.identities.send_modify(|version| *version += 1);
        }
        for group in self.groups.lock().values().filter_map(Weak::upgrade) {
            group.note(change);
        }
    }
}

/// Hands every change to the groups that it touches, until the server stops.
///
/// `changes` was subscribed to before anything was served, so that no change is missed.
pub(crate) async fn dispatch(
    state: Arc<State>,
    mut changes: ChangeReceiver,
    stop: CancellationToken,
) {
    loop {
        let change = tokio::select! {
            change = changes.next() => change,
            () = stop.cancelled() => return,
        };
        let Some(change) = change else { return };
        state.live.changed(&state, &change);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::expect_used, reason = "tests")]
    use std::time::Duration;

    use serde_json::json;
    use zonai_data::{Caller, Payload};
    use zonai_test::Project;

    use super::*;
    use crate::route::Data;
    use crate::testing;

    fn payload(value: serde_json::Value) -> Payload {
        Payload::from_value(value).expect("a payload")
    }

    /// A stream that cannot be asked for now is a 503, not a silence; and the next one asks anew.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_stream_that_finds_no_place_to_read_is_told_so() {
        let project = Project::tasks();
        let (state, _hand) = testing::state(&project).await;
        let (release, held) = std::sync::mpsc::sync_channel::<()>(1);
        let held = Arc::new(Mutex::new(held));
        let mut reads = Vec::new();
        for _ in 0..256 {
            let (state, held) = (Arc::clone(&state), Arc::clone(&held));
            reads.push(tokio::spawn(async move {
                let wait = move |_: &rusqlite::Connection| -> Result<(), DataError> {
                    let _released = held.lock().recv();
                    Ok(())
                };
                state.data.engine().read(&*state.internal, wait).await
            }));
        }
        while state.data.engine().reads_in_flight() < 256 {
            tokio::task::yield_now().await;
        }
        let payload = payload(json!({"table": "notes"}));
        let question = Question::new(&state, Data::Count, &payload, &Caller::Anonymous);
        let question = question.expect("a question");
        let mut early = state.live.subscribe(&state, &question, Client::Local);
        let told = tokio::time::timeout(Duration::from_secs(10), Live::first(&mut early)).await;
        assert_eq!(told.expect("an answer"), Err(DataError::BusyReading));
        drop(release);
        for read in reads {
            read.await.expect("a task").expect("a read");
        }
        let mut later = state.live.subscribe(&state, &question, Client::Local);
        Live::first(&mut later).await.expect("an answer");
        drop(early);
    }

    /// Who joins while the last listener leaves has a group that is driven: it hears of changes.
    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn a_group_that_is_being_joined_does_not_end() {
        let project = Project::tasks();
        let (state, _hand) = testing::state(&project).await;
        let question = Question::new(
            &state,
            Data::Count,
            &payload(json!({"table": "notes"})),
            &Caller::Anonymous,
        )
        .expect("a question");
        let mut left = state.live.subscribe(&state, &question, Client::Local);
        Live::first(&mut left).await.expect("an answer");

        // As `subscribe` does it, with all the time in the world between its steps.
        let mut joined = {
            let groups = state.live.groups.lock();
            let group = groups.get(question.key()).and_then(Weak::upgrade);
            let group = group.expect("the group of the question");
            drop(left);
            // Its task sees that nobody listens, as soon as its pause is over.
            let (_held, a_while) = std::sync::mpsc::sync_channel::<()>(0);
            for _ in 0..300 {
                if state.tasks.is_empty() {
                    break;
                }
                let _ = a_while.recv_timeout(Duration::from_millis(1));
            }
            let results = group.results();
            Subscription {
                _group: group,
                results,
            }
        };
        Live::first(&mut joined).await.expect("an answer");

        joined.results.mark_unchanged();
        let mut changes = state.data.engine().changes().subscribe();
        let object = payload(json!({"table": "notes", "object": {"text": "new"}}));
        state
            .data
            .create(&*state.internal, &Caller::Anonymous, &object)
            .await
            .expect("a row");
        let change = changes.next().await.expect("the change");
        state.live.changed(&state, &change);
        let update = tokio::time::timeout(Duration::from_secs(10), joined.results.changed());
        update.await.expect("an update").expect("a living group");
        let latest = joined.results.borrow().clone();
        assert_eq!(latest, Some(Ok("{\"data\":1}".into())));
    }
}
