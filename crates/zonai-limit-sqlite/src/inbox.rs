//! What the rest of the server wants from the writer: bounded, and never waited for under a lock.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::oneshot;
use zonai_limit::{CounterKey, Moment, Slot};

use crate::fault::Fault;
use crate::naming::StoredName;
use crate::row::Filter;

/// At most this many clients may be waiting to be freed on the file.
pub(crate) const MAX_FREES: usize = 1_024;
/// At most this many passes over the whole file may be waiting.
pub(crate) const MAX_SCANS: usize = 64;

/// Whether a durable count reached the file.
pub(crate) type Reply = Result<(), Fault>;

/// A durable operation that waits for its commit.
pub(crate) struct Waiter {
    pub(crate) keys: Box<[CounterKey]>,
    pub(crate) reply: oneshot::Sender<Reply>,
}

/// Counters that were freed in memory and have to go from the file.
pub(crate) struct Free {
    pub(crate) filter: Filter,
    /// What was in memory, most of it usually the whole.
    pub(crate) keys: Vec<CounterKey>,
    pub(crate) reply: Option<oneshot::Sender<Reply>>,
}

/// Why the whole file is looked through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Delete what had closed at this moment.
    Sweep(Moment),
    /// Bring rows under the names that their counters have now, after a change of policies.
    Rename(Arc<Renames>),
    /// Make every row what the memory says, and delete what it does not have: the file was replaced.
    Mirror,
    /// Delete the rows of freed clients that the memory did not know.
    Free(Filter),
}

/// Names that a change of policies took away.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Renames {
    /// What goes on under another name.
    pub(crate) renamed: Vec<(StoredName, Slot)>,
    /// What is not counted any more.
    pub(crate) retired: Vec<StoredName>,
}

/// One pass over the file, a slice at a time.
pub(crate) struct Scan {
    pub(crate) why: Why,
    pub(crate) after: i64,
    pub(crate) deleted: u64,
    pub(crate) reply: Option<oneshot::Sender<Result<u64, Fault>>>,
}

#[derive(Default)]
pub(crate) struct Inbox {
    pub(crate) waiters: Vec<Waiter>,
    pub(crate) frees: VecDeque<Free>,
    pub(crate) scans: VecDeque<Scan>,
    /// Set while durable operations must not wait: why.
    pub(crate) down: Option<Fault>,
    pub(crate) stop: bool,
    /// Whether the stored counters are in memory. Until then a client is freed under the inbox's lock, so that
    /// loading cannot bring it back.
    pub(crate) loaded: bool,
}

impl Inbox {
    pub(crate) fn has_work(&self) -> bool {
        !(self.waiters.is_empty() && self.frees.is_empty() && self.scans.is_empty())
    }

    /// Puts a pass over the file in line, once for each reason that nobody waits for.
    pub(crate) fn scan(
        &mut self,
        why: Why,
        reply: Option<oneshot::Sender<Result<u64, Fault>>>,
    ) -> bool {
        let known = reply.is_none()
            && self
                .scans
                .iter()
                .any(|scan| scan.why == why && scan.after == 0);
        if known {
            return true;
        }
        if self.scans.len() >= MAX_SCANS {
            return false;
        }
        self.scans.push_back(Scan {
            why,
            after: 0,
            deleted: 0,
            reply,
        });
        true
    }
}
