//! What every store of counters must do, as cases that a store's tests run: see [`conformance!`].
//!
//! A case fails by panicking with what it saw. Must never know how a store works, only what it promises.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a suite of tests: a case fails by panicking"
)]

pub mod cases;
mod scene;

use std::sync::Arc;

use zonai_clock::Clock;
use zonai_limit::{Client, CounterKey, Limiter, Moment};

/// A store that follows the counters of a limiter.
pub trait Store: Send + Sync {
    /// Waits until these counters, as they are now, survive a `kill -9`.
    fn commit(&self, keys: &[CounterKey]);

    /// Waits until everything counted so far survives a `kill -9`.
    fn commit_all(&self);

    /// Frees a client: its counters go, in memory and in the store, and do not come back.
    fn free(&self, client: Client);

    /// Deletes what is stored of windows that had closed at `now`, and nothing else.
    fn sweep(&self, now: Moment);

    /// How many counters are stored; `None` where nothing outlives the process.
    fn stored(&self) -> Option<usize>;

    /// Follows a change of policies, after [`Limiter::replace`].
    fn policies_changed(&self);

    /// A clean stop.
    fn stop(self);

    /// A `kill -9`: nothing more is written.
    fn kill(self);
}

/// Where stores live: what one leaves, the next one opened finds.
pub trait Home: Sync {
    /// The store.
    type Store: Store;

    /// Whether anything outlives the process. Cases about restarts are left out where not.
    const SURVIVES: bool;

    /// Opens a store over the counters of `limiter`, and puts back what the last one left.
    fn open(&self, limiter: Arc<Limiter>, clock: Clock) -> Self::Store;
}

/// Runs every case, each with a fresh home. [`conformance!`] makes a test of each instead.
pub fn run<H: Home>(home: impl Fn() -> H) {
    for (name, case) in cases::all::<H>() {
        println_case(name);
        case(&home());
    }
}

#[expect(clippy::print_stdout, reason = "says which case failed")]
fn println_case(name: &str) {
    println!("case {name}");
}

/// A store that keeps nothing: what the counters do by themselves.
#[derive(Clone, Copy, Debug, Default)]
pub struct InMemory;

/// The store of [`InMemory`].
pub struct MemoryStore(Arc<Limiter>);

impl Home for InMemory {
    type Store = MemoryStore;
    const SURVIVES: bool = false;

    fn open(&self, limiter: Arc<Limiter>, _clock: Clock) -> MemoryStore {
        MemoryStore(limiter)
    }
}

impl Store for MemoryStore {
    fn commit(&self, keys: &[CounterKey]) {
        for key in keys {
            let _ = self.0.counters().take(*key);
        }
    }

    fn commit_all(&self) {
        self.0.counters().take_changed(usize::MAX, &mut Vec::new());
    }

    fn free(&self, client: Client) {
        self.0.counters().free(&mut |key| key.client == client);
    }

    fn sweep(&self, now: Moment) {
        self.0.counters().reclaim(now, 1_000_000);
    }

    fn stored(&self) -> Option<usize> {
        None
    }

    fn policies_changed(&self) {}

    fn stop(self) {}

    fn kill(self) {}
}

/// Makes one test of each case: `zonai_limit_suite::conformance!(MyHome::new());`
#[macro_export]
macro_rules! conformance {
    ($home:expr) => {
        $crate::conformance! { @each $home;
            window_opens_at_the_first_request,
            a_refusal_counts_nothing_and_names_one_reset,
            all_of_a_request_or_none,
            exact_under_threads,
            exact_while_it_is_stored,
            the_cap_holds_and_blocked_stays_blocked,
            freed_is_served_and_does_not_come_back,
            freeing_one_leaves_the_others,
            a_change_of_policy_keeps_counts,
            from_none_to_a_limit_counting_starts,
            a_change_of_window_is_followed_over_a_restart,
            a_clean_stop_loses_nothing,
            a_kill_loses_nothing_that_was_committed,
            a_closed_window_is_not_put_back,
            a_sweep_deletes_closed_windows_only,
            failed_sign_ins_survive_and_places_are_given_back,
            the_wall_clock_neither_locks_out_nor_refills,
            the_wall_clock_may_step_between_two_starts,
            a_reboot_measures_by_the_wall_within_the_window
        }
    };
    (@each $home:expr; $($case:ident),*) => {
        $(
            #[test]
            fn $case() {
                $crate::cases::$case(&$home);
            }
        )*

        #[test]
        fn every_case_is_run() {
            let run = [$(stringify!($case)),*];
            assert_eq!(run.as_slice(), $crate::cases::NAMES);
        }
    };
}
