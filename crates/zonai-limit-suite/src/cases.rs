//! The cases, by what they are about.

mod changes;
mod clock;
mod counting;
mod restart;

use crate::Home;

pub use changes::*;
pub use clock::*;
pub use counting::*;
pub use restart::*;

/// One case.
pub type Case<H> = fn(&H);

macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        /// The names of all cases.
        pub const NAMES: &[&str] = &[$(stringify!($case)),*];

        /// All cases with their names.
        #[must_use]
        pub fn all<H: Home>() -> Vec<(&'static str, Case<H>)> {
            vec![$((stringify!($case), $case::<H> as Case<H>)),*]
        }
    };
}

cases!(
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
    a_reboot_measures_by_the_wall_within_the_window,
);
