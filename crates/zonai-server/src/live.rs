//! Live queries: who watches what, and what must be asked again when something changes.
//!
//! Streams with the same query and the same rights share one [`Group`], which asks once and tells all of them. Must
//! never keep a backlog: a reader that was slow gets the newest result.

mod group;
mod places;
mod question;
mod stream;

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use zonai_data::{Change, ChangeReceiver, DataError};

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
            stop,
        }
    }

    /// Joins the group of a question, or starts it.
    pub(crate) fn subscribe(&self, state: &Arc<State>, question: &Question) -> Subscription {
        let mut groups = self.groups.lock();
        if let Some(group) = groups.get(question.key()).and_then(Weak::upgrade) {
            let results = group.results();
            return Subscription {
                _group: group,
                results,
            };
        }
        let group = Arc::new(Group::new(question.clone()));
        groups.retain(|_, group| group.strong_count() > 0);
        groups.insert(question.key().to_owned(), Arc::downgrade(&group));
        drop(groups);
        let results = group.results();
        state.tasks.spawn(group::run(
            Arc::downgrade(state),
            Arc::downgrade(&group),
            self.stop.clone(),
        ));
        Subscription {
            _group: group,
            results,
        }
    }

    /// The first result of a question, from its group.
    ///
    /// # Errors
    /// What the question fails with.
    pub(crate) async fn first(subscription: &mut Subscription) -> Result<Arc<str>, DataError> {
        match subscription.results.wait_for(Option::is_some).await {
            Ok(latest) => latest.clone().unwrap_or(Err(DataError::Internal)),
            Err(_ended) => Err(DataError::Internal),
        }
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
