//! What changed in the data, published after the commit that made it so.
//!
//! Must never say that something changed before it can be read, and must never wait for a slow subscriber: who falls
//! behind is told that anything may have changed.

mod hook;
mod pending;
mod recorder;

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::broadcast;

pub(crate) use recorder::{Recorder, data_version};

/// What one commit changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Rows of these tables, by table name; what triggers and cascades did is among them.
    Tables(Arc<BTreeMap<String, Rows>>),
    /// Anything may have changed: another process wrote, a change was too large to keep, or the subscriber fell behind.
    Everything,
}

/// Which rows of a table changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rows {
    /// The rowids, sorted, before and after. They mean nothing for a WITHOUT ROWID table: take those as [`Rows::Any`].
    Ids(Vec<i64>),
    /// More than are kept.
    Any,
}

impl Change {
    /// Whether rows of `table` may have changed.
    #[must_use]
    pub fn touches(&self, table: &str) -> bool {
        match self {
            Self::Everything => true,
            Self::Tables(tables) => tables.contains_key(table),
        }
    }
}

/// Where changes are published. Clones are the same feed.
#[derive(Clone, Debug)]
pub struct Changes {
    sender: broadcast::Sender<Change>,
}

impl Changes {
    pub(crate) fn new(backlog: usize) -> Self {
        Self {
            sender: broadcast::Sender::new(backlog.max(1)),
        }
    }

    /// Every change from now on.
    #[must_use]
    pub fn subscribe(&self) -> ChangeReceiver {
        ChangeReceiver {
            receiver: self.sender.subscribe(),
        }
    }

    /// How many subscribe now.
    #[must_use]
    pub fn subscribers(&self) -> usize {
        self.sender.receiver_count()
    }

    pub(crate) fn publish(&self, change: Change) {
        // Without a subscriber there is nobody to tell.
        let _ = self.sender.send(change);
    }
}

/// The subscriber's end.
#[derive(Debug)]
pub struct ChangeReceiver {
    receiver: broadcast::Receiver<Change>,
}

impl ChangeReceiver {
    /// Waits for the next change; `None` once the engine is gone. Can be cancelled without losing one.
    pub async fn next(&mut self) -> Option<Change> {
        match self.receiver.recv().await {
            Ok(change) => Some(change),
            Err(broadcast::error::RecvError::Lagged(_)) => Some(Change::Everything),
            Err(broadcast::error::RecvError::Closed) => None,
        }
    }
}
