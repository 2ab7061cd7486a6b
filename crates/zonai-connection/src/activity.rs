//! What a connection is doing and since when: the base of its timeouts, and of who must go when all places are taken.
//!
//! A few atomics a connection and one pass a second over all of them, instead of a timer a request. Must never
//! decide on a request: it only ends connections that hold a place without using it.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::task::Context;

use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use zonai_limit::Moment;

use zonai_project::settings::Bounds;

use crate::repeat::{Handover, Refused};

/// Between two complaints that no connection can be accepted.
const COMPLAIN_MS: u64 = 60_000;

/// One connection's state, written by its task and read by the watch.
#[derive(Debug, Default)]
pub struct Activity {
    /// Requests that are being answered.
    in_flight: AtomicU32,
    /// Bytes of the next request have come, since the last answer or with what it answers.
    head_begun: AtomicBool,
    /// Where in memory the bytes end that came last, ...
    last_end: AtomicUsize,
    /// ... and whether they end with an empty line, as a head does and a body in chunks.
    last_is_blank: AtomicBool,
    /// Since when `in_flight` is 0, or the head has been coming.
    since_ms: AtomicU64,
    /// Since when the peer has not taken what we write; 0 where it does.
    stalled_ms: AtomicU64,
    /// The time of the last pass of the watch: precise enough for timeouts of seconds.
    now_ms: Arc<AtomicU64>,
    /// Something was left unread on purpose: linger before closing.
    linger: AtomicBool,
    /// HTTP/2: frames come at any time, so that bytes are no head.
    multiplexed: AtomicBool,
    /// A [`Told`], and whom it wakes.
    told: AtomicU8,
    waker: AtomicWaker,
    /// What the socket is told of refusals.
    pub(crate) handover: Handover,
}

/// What a connection was told from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Told {
    /// Nothing: go on.
    Nothing,
    /// The server stops: finish what is asked, take nothing more.
    Finish,
    /// End now: it is overdue, its place is needed, or the server has waited for it long enough.
    End,
}

/// Held while a request is being answered; dropped with the body of the answer.
#[derive(Debug)]
pub struct InFlight {
    activity: Arc<Activity>,
    end: End,
}

/// Where a request ends among the bytes that came with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// Nobody knows: its body was not read.
    Unknown,
    /// With the empty line after its head.
    Head,
    /// With its body: at this place in memory, or with the empty line after the last chunk.
    Body(usize),
}

impl Activity {
    fn now(&self) -> u64 {
        self.now_ms.load(Ordering::Relaxed)
    }

    /// Bytes came in.
    pub(crate) fn bytes_read(&self) {
        if self.in_flight.load(Ordering::Relaxed) == 0
            && !self.head_begun.load(Ordering::Relaxed)
            && !self.multiplexed.load(Ordering::Relaxed)
        {
            self.since_ms.store(self.now(), Ordering::Relaxed);
            self.head_begun.store(true, Ordering::Relaxed);
        }
    }

    /// What the bytes that came last end with. A head that begins behind a whole request comes with no later read.
    pub(crate) fn came(&self, end: usize, is_blank: bool) {
        self.last_end.store(end, Ordering::Relaxed);
        self.last_is_blank.store(is_blank, Ordering::Relaxed);
    }

    /// Whether the bytes that came last end with an empty line.
    pub(crate) fn is_ended(&self) -> bool {
        self.last_is_blank.load(Ordering::Relaxed)
    }

    /// The request that is being answered has no body and is refused.
    pub fn refused(&self, refused: impl FnOnce() -> Box<dyn Refused>) {
        // With HTTP/2 many are answered at a time, and no bytes are a request.
        if !self.multiplexed.load(Ordering::Relaxed) {
            self.handover.refuse(refused);
        }
    }

    /// Something of a body is left unread on purpose: before the connection closes, what still comes is listened to for a
    /// moment, so that the answer is not lost.
    pub fn linger(&self) {
        self.linger.store(true, Ordering::Relaxed);
    }

    pub(crate) fn lingers(&self) -> bool {
        self.linger.load(Ordering::Relaxed)
    }

    /// A request was answered that nobody else has seen.
    pub(crate) fn repeated(&self) {
        self.since_ms.store(self.now(), Ordering::Relaxed);
    }

    /// Whether something has come behind a request that ends there.
    fn has_more_than(&self, end: End) -> bool {
        let end = match end {
            End::Unknown => return false,
            End::Head => None,
            End::Body(end) => Some(end),
        };
        !self.last_is_blank.load(Ordering::Relaxed)
            && end != Some(self.last_end.load(Ordering::Relaxed))
            && !self.multiplexed.load(Ordering::Relaxed)
    }

    /// The peer takes what is written, or does not.
    pub(crate) fn write_stalled(&self, stalled: bool) {
        let since = self.stalled_ms.load(Ordering::Relaxed);
        if stalled && since == 0 {
            self.stalled_ms.store(self.now(), Ordering::Relaxed);
        } else if !stalled && since != 0 {
            self.stalled_ms.store(0, Ordering::Relaxed);
        }
    }

    /// From now on many requests share the connection.
    pub(crate) fn set_multiplexed(&self) {
        self.multiplexed.store(true, Ordering::Relaxed);
        self.head_begun.store(false, Ordering::Relaxed);
    }

    /// A request has its head and is being answered.
    pub(crate) fn request(self: &Arc<Self>) -> InFlight {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        self.head_begun.store(false, Ordering::Relaxed);
        self.handover.begin();
        InFlight {
            activity: Arc::clone(self),
            end: End::Unknown,
        }
    }

    /// What the connection was told; `cx` is woken when that changes. One atomic a poll: two notifiers in a `select!`
    /// cost a refusal more than the limiter does.
    pub(crate) fn told(&self, cx: &Context<'_>) -> Told {
        self.waker.register(cx.waker());
        match self.told.load(Ordering::Acquire) {
            0 => Told::Nothing,
            1 => Told::Finish,
            _ => Told::End,
        }
    }

    fn tell(&self, told: Told) {
        self.told.fetch_max(told as u8, Ordering::Release);
        self.waker.wake();
    }

    fn overdue(&self, now: u64, bounds: &Bounds) -> bool {
        let stalled = self.stalled_ms.load(Ordering::Relaxed);
        if stalled != 0 && now.saturating_sub(stalled) > millis(bounds.body_timeout) {
            return true;
        }
        if self.in_flight.load(Ordering::Relaxed) > 0 {
            return false;
        }
        let allowed = if self.head_begun.load(Ordering::Relaxed) {
            bounds.head_timeout
        } else {
            bounds.idle_timeout
        };
        now.saturating_sub(self.since_ms.load(Ordering::Relaxed)) > millis(allowed)
    }

    /// Smaller goes first: idle before half a head, the longest first. `None` while a request is answered.
    fn dispensable(&self) -> Option<(bool, u64)> {
        (self.in_flight.load(Ordering::Relaxed) == 0).then(|| {
            (
                self.head_begun.load(Ordering::Relaxed),
                self.since_ms.load(Ordering::Relaxed),
            )
        })
    }
}

impl InFlight {
    /// The connection it belongs to.
    #[must_use]
    pub fn activity(&self) -> &Activity {
        &self.activity
    }

    /// The request has no body.
    pub fn ends_with_head(&mut self) {
        self.end = End::Head;
    }

    /// The body was read to its end, which is at this place in memory.
    pub fn ends_with_body(&mut self, end: usize) {
        self.end = End::Body(end);
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let activity = &self.activity;
        activity.since_ms.store(activity.now(), Ordering::Relaxed);
        if activity.has_more_than(self.end) {
            activity.head_begun.store(true, Ordering::Relaxed);
        }
        activity.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Every open connection.
#[derive(Debug)]
pub struct Watch {
    bounds: Bounds,
    now_ms: Arc<AtomicU64>,
    /// When it was last said that no connection can be accepted; 0 where it was not.
    complained_ms: AtomicU64,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    stopping: bool,
    connections: HashMap<u64, Arc<Activity>>,
}

/// A connection's entry; dropped when it ends.
#[derive(Debug)]
pub(crate) struct Watched {
    watch: Arc<Watch>,
    id: u64,
    pub(crate) activity: Arc<Activity>,
}

impl Watch {
    /// No connection yet.
    #[must_use]
    pub fn new(bounds: Bounds, now: Moment) -> Arc<Self> {
        Arc::new(Self {
            bounds,
            // 0 stands for "not stalled".
            now_ms: Arc::new(AtomicU64::new(now.as_millis().max(1))),
            complained_ms: AtomicU64::new(0),
            open: Mutex::default(),
        })
    }

    /// Enters a connection, or `None` where all places are taken. One that holds a place without a request is
    /// then ended, so that the next call may find room.
    pub(crate) fn enter(self: &Arc<Self>, now: Moment) -> Option<Watched> {
        self.now_ms.fetch_max(now.as_millis(), Ordering::Relaxed);
        let mut open = self.open.lock();
        if open.connections.len() >= self.bounds.connections {
            open.vacate();
            return None;
        }
        let activity = Arc::new(Activity {
            since_ms: AtomicU64::new(self.now_ms.load(Ordering::Relaxed)),
            head_begun: AtomicBool::new(true),
            now_ms: Arc::clone(&self.now_ms),
            ..Activity::default()
        });
        if open.stopping {
            activity.tell(Told::Finish);
        }
        let id = open.next;
        open.next += 1;
        open.connections.insert(id, Arc::clone(&activity));
        Some(Watched {
            watch: Arc::clone(self),
            id,
            activity,
        })
    }

    /// Ends the connection that holds a place without a request for the longest time, if there is one.
    pub(crate) fn vacate(&self) {
        self.open.lock().vacate();
    }

    /// Whether it is to be said at `now` that no connection can be accepted: once a minute, however often it happens.
    pub(crate) fn may_complain(&self, now: Moment) -> bool {
        let now = now.as_millis().max(1);
        let last = self.complained_ms.load(Ordering::Relaxed);
        (last == 0 || now.saturating_sub(last) >= COMPLAIN_MS)
            && self
                .complained_ms
                .compare_exchange(last, now, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok()
    }

    /// One pass: ends what is overdue. To be called about once a second.
    pub fn pass(&self, now: Moment) {
        let now = now.as_millis().max(1);
        self.now_ms.store(now, Ordering::Relaxed);
        for activity in self.open.lock().connections.values() {
            if activity.overdue(now, &self.bounds) {
                activity.tell(Told::End);
            }
        }
    }

    /// Tells every connection to finish, also one that enters later.
    pub fn stop(&self) {
        let mut open = self.open.lock();
        open.stopping = true;
        for activity in open.connections.values() {
            activity.tell(Told::Finish);
        }
    }

    /// Ends every connection, whatever is being answered on it.
    pub fn cut(&self) {
        for activity in self.open.lock().connections.values() {
            activity.tell(Told::End);
        }
    }

    /// How many connections are open.
    #[must_use]
    pub fn count(&self) -> usize {
        self.open.lock().connections.len()
    }
}

impl Open {
    fn vacate(&self) {
        let longest = self
            .connections
            .values()
            .filter_map(|activity| Some((activity.dispensable()?, activity)))
            .min_by_key(|(rank, _)| *rank);
        if let Some((_, activity)) = longest {
            activity.tell(Told::End);
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.watch.open.lock().connections.remove(&self.id);
    }
}

fn millis(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Moment {
        Moment::from_millis(1_000_000 + seconds * 1_000)
    }

    fn ended(activity: &Activity) -> bool {
        use std::task::Waker;
        activity.told(&Context::from_waker(Waker::noop())) == Told::End
    }

    #[test]
    fn half_a_head_ends_after_ten_seconds_and_a_request_in_flight_never() {
        let watch = Watch::new(Bounds::default(), at(0));
        let (Some(slow), Some(busy)) = (watch.enter(at(0)), watch.enter(at(0))) else {
            unreachable!("there is room for two")
        };
        let in_flight = busy.activity.request();
        watch.pass(at(10));
        assert!(!ended(&slow.activity));
        watch.pass(at(11));
        assert!(ended(&slow.activity));
        watch.pass(at(1_000));
        assert!(!ended(&busy.activity));
        drop(in_flight);
        watch.pass(at(1_076));
        assert!(ended(&busy.activity));
    }

    #[test]
    fn half_a_head_that_came_with_a_request_ends_after_ten_seconds() {
        let watch = Watch::new(Bounds::default(), at(0));
        // Where the last bytes end, whether that is an empty line, and where the body did.
        let cases = [
            (64, true, None, false),
            (64, false, None, true),
            (64, false, Some(64), false),
            (64, false, Some(60), true),
            (64, true, Some(60), false),
        ];
        for (end, is_blank, body, is_half) in cases {
            let Some(watched) = watch.enter(at(0)) else {
                unreachable!("there is room")
            };
            watched.activity.bytes_read();
            watched.activity.came(end, is_blank);
            let mut in_flight = watched.activity.request();
            match body {
                Some(end) => in_flight.ends_with_body(end),
                None => in_flight.ends_with_head(),
            }
            drop(in_flight);
            let begun = watched.activity.head_begun.load(Ordering::Relaxed);
            assert_eq!(begun, is_half, "{end} {is_blank} {body:?}");
        }
    }

    #[test]
    fn when_all_places_are_taken_the_longest_idle_one_goes() {
        let bounds = Bounds {
            connections: 2,
            ..Bounds::default()
        };
        let watch = Watch::new(bounds, at(0));
        let (Some(idle), Some(busy)) = (watch.enter(at(0)), watch.enter(at(0))) else {
            unreachable!("there is room for two")
        };
        drop(idle.activity.request());
        let _in_flight = busy.activity.request();
        assert!(watch.enter(at(0)).is_none());
        assert!(ended(&idle.activity));
        assert!(!ended(&busy.activity));
        drop(idle);
        assert!(watch.enter(at(0)).is_some());
    }

    #[test]
    fn that_nothing_can_be_accepted_is_said_once_a_minute() {
        let watch = Watch::new(Bounds::default(), at(0));
        let said = (0..180).filter(|&second| watch.may_complain(at(second)));
        assert_eq!(said.collect::<Vec<_>>(), [0, 60, 120]);
    }

    #[test]
    fn where_files_run_out_the_longest_idle_one_goes() {
        let watch = Watch::new(Bounds::default(), at(0));
        let (Some(old), Some(busy)) = (watch.enter(at(0)), watch.enter(at(0))) else {
            unreachable!("there is room for two")
        };
        let _in_flight = busy.activity.request();
        let Some(new) = watch.enter(at(1)) else {
            unreachable!("there is room for three")
        };
        watch.vacate();
        let all = [&old, &busy, &new].map(|watched| ended(&watched.activity));
        assert_eq!(all, [true, false, false]);
        drop(old);
        watch.vacate();
        assert!(ended(&new.activity) && !ended(&busy.activity));
    }
}
