//! One question that is asked again when something changes, and everybody who listens to its answers.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;
use zonai_connection::Hold;
use zonai_data::{Change, DataError};

use super::question::Question;
use crate::state::State;

/// The least time between two askings of one question: what changes meanwhile is asked for together.
const PAUSE: Duration = Duration::from_millis(50);
/// When to ask again where the engine was busy, or the question took too long: twice as long each time.
const BUSY: Duration = Duration::from_millis(200);
/// How often in a row, before those who listen are told that there is no answer any more.
const BUSY_TIMES: u32 = 6;

/// The newest answer, or why there is none any more.
pub(super) type Latest = Result<Arc<str>, DataError>;

/// One question and its newest answer.
pub(crate) struct Group {
    question: Question,
    results: watch::Sender<Option<Latest>>,
    dirty: Notify,
    /// For the newest answer.
    room: Mutex<Hold>,
}

impl Group {
    pub(super) fn new(question: Question, room: Hold) -> Self {
        Self {
            question,
            results: watch::Sender::new(None),
            dirty: Notify::new(),
            room: Mutex::new(room),
        }
    }

    pub(super) fn results(&self) -> watch::Receiver<Option<Latest>> {
        self.results.subscribe()
    }

    pub(super) fn key(&self) -> &str {
        self.question.key()
    }

    /// Whether somebody listens. To be asked under the lock under which groups are joined.
    pub(super) fn is_listened_to(&self) -> bool {
        self.results.receiver_count() > 0
    }

    /// Notes that something changed.
    pub(super) fn note(&self, change: &Change) {
        if self.question.is_touched(change) {
            self.dirty.notify_one();
        }
    }

    fn has_answered(&self) -> bool {
        self.results.borrow().is_some()
    }

    /// Takes room for an answer, in the place of the one before.
    fn keep(&self, answer: Arc<str>) -> Latest {
        let has_room = self.room.lock().set(answer.len());
        has_room.then_some(answer).ok_or(DataError::NoRoom)
    }

    /// Tells an answer, unless it is the one that was told last.
    fn tell(&self, latest: Latest) {
        self.results.send_if_modified(|told| {
            let differs = told.as_ref() != Some(&latest);
            if differs {
                *told = Some(latest);
            }
            differs
        });
    }
}

/// Asks now, and again after each change, for as long as somebody listens.
pub(super) async fn run(state: Weak<State>, group: Weak<Group>, stop: CancellationToken) {
    let mut busy = 0;
    loop {
        let pause = {
            let (Some(state), Some(group)) = (state.upgrade(), group.upgrade()) else {
                return;
            };
            let asked = group.question.ask(&state).await;
            match asked.and_then(|answer| group.keep(answer)) {
                // The last answer stands until there is room to ask again. Who has none is not kept waiting.
                Err(DataError::BusyReading | DataError::BrokenOff)
                    if group.has_answered() && busy < BUSY_TIMES =>
                {
                    group.dirty.notify_one();
                    busy += 1;
                    BUSY * 2_u32.pow(busy)
                }
                Err(error) => {
                    // Who comes later asks anew.
                    state.live.forget(&group);
                    group.tell(Err(error));
                    return;
                }
                latest => {
                    busy = 0;
                    group.tell(latest);
                    PAUSE
                }
            }
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = stop.cancelled() => return,
        }
        let Some(waiting) = group.upgrade() else {
            return;
        };
        loop {
            tokio::select! {
                () = waiting.dirty.notified() => break,
                () = stop.cancelled() => return,
                () = waiting.results.closed() => {}
            }
            // Somebody may have joined since.
            let Some(state) = state.upgrade() else {
                return;
            };
            if state.live.end(&waiting) {
                return;
            }
        }
    }
}
