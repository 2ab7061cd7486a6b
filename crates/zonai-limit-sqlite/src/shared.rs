//! What the handle and the writer thread share.
//!
//! Must never hold the lock of the inbox while the file is used: requests take it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio::sync::oneshot;
use zonai_clock::Clock;
use zonai_limit::{CounterKey, Counters};

use crate::fault::Fault;
use crate::health::{Gauges, HealthCell};
use crate::inbox::{Inbox, Reply, Waiter};
use crate::naming::SlotNames;
use crate::options::Options;

pub(crate) struct Shared {
    pub(crate) path: PathBuf,
    pub(crate) counters: Arc<Counters>,
    pub(crate) names: Arc<dyn SlotNames>,
    pub(crate) clock: Clock,
    pub(crate) options: Options,
    pub(crate) inbox: Mutex<Inbox>,
    pub(crate) wake: Condvar,
    pub(crate) health: HealthCell,
    pub(crate) gauges: Gauges,
}

impl Shared {
    /// Puts a durable operation in line; the fault where it must not wait.
    pub(crate) fn enqueue(&self, keys: &[CounterKey]) -> Result<oneshot::Receiver<Reply>, Fault> {
        let (reply, receiver) = oneshot::channel();
        let mut inbox = self.inbox.lock();
        if let Some(fault) = &inbox.down {
            return Err(fault.clone());
        }
        if inbox.stop {
            return Err(Fault::Closed);
        }
        if inbox.waiters.len() >= self.options.max_waiting {
            return Err(Fault::Crowded);
        }
        inbox.waiters.push(Waiter {
            keys: keys.into(),
            reply,
        });
        drop(inbox);
        self.wake.notify_one();
        Ok(receiver)
    }

    /// The file does not follow: nobody waits for it any more until [`Self::up`].
    pub(crate) fn down(&self, fault: &Fault) {
        let waiters = {
            let mut inbox = self.inbox.lock();
            inbox.down = Some(fault.clone());
            std::mem::take(&mut inbox.waiters)
        };
        for waiter in waiters {
            let _ = waiter.reply.send(Err(fault.clone()));
        }
        self.degrade(fault);
    }

    /// A request waited too long: those that come do not wait, until a commit is fast again. Those in line stay.
    pub(crate) fn slow(&self) {
        let mut inbox = self.inbox.lock();
        if inbox.down.is_none() {
            inbox.down = Some(Fault::Slow);
            drop(inbox);
            self.degrade(&Fault::Slow);
        }
    }

    pub(crate) fn degrade(&self, fault: &Fault) {
        if self.health.degrade(fault, self.clock.now()) {
            self.gauges.faults.fetch_add(1, Relaxed);
        }
    }

    /// The file follows again.
    pub(crate) fn up(&self) {
        self.inbox.lock().down = None;
        self.health.recover(self.clock.now());
    }

    /// Waits for something to do, at most `poll`: an ordinary count does not wake anybody.
    pub(crate) fn wait_for_work(&self, poll: Duration) {
        let mut inbox = self.inbox.lock();
        if !inbox.has_work() && !inbox.stop {
            self.wake.wait_for(&mut inbox, poll);
        }
    }

    /// Waits before the next attempt; only a stop ends the pause early.
    pub(crate) fn wait_to_retry(&self, pause: Duration) {
        let mut inbox = self.inbox.lock();
        self.wake
            .wait_while_for(&mut inbox, |inbox| !inbox.stop, pause);
    }

    /// Counters that the file does not show. Never too low: what is taken is counted before it is taken, so the
    /// changed ones are read first.
    pub(crate) fn backlog(&self) -> usize {
        let changed = self.counters.changed();
        changed + self.gauges.in_flight.load(SeqCst)
    }
}
