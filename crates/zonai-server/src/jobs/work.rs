//! What a job does.

use zonai_data::error::with_causes;
use zonai_data::history::History;

use crate::state::State;

/// How long runs are remembered.
const HISTORY_MS: i64 = 30 * 24 * 60 * 60 * 1_000;

/// The work of one job.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Counters whose window has closed.
    DeleteOldRateLimits,
    /// Codes and links whose time is over.
    CleanupAuthChallenges,
    /// Old runs of jobs.
    CleanupCronEntries,
    /// Tokens that are over.
    DeleteExpiredJwts,
    /// Statements of the project.
    Sql(String),
}

impl Work {
    /// Name, schedule and work of the built-in jobs.
    pub(crate) const BUILT_IN: [(&'static str, &'static str, Work); 4] = [
        (
            "_delete_old_rate_limits",
            "*/15 * * * *",
            Work::DeleteOldRateLimits,
        ),
        (
            "_cleanup_auth_challenges",
            "15 3 * * *",
            Work::CleanupAuthChallenges,
        ),
        (
            "_cleanup_cron_entries",
            "30 3 * * *",
            Work::CleanupCronEntries,
        ),
        ("_delete_expired_jwts", "0 4 * * *", Work::DeleteExpiredJwts),
    ];

    /// Does it. What was done, or why not, in words for the history.
    pub(super) async fn run(&self, state: &State, history: &History) -> Result<String, String> {
        let pass = &*state.internal;
        match self {
            Self::DeleteOldRateLimits => {
                let deleted = state.store.delete_closed(state.clock.now()).await;
                deleted
                    .map(|rows| format!("{rows} counters deleted"))
                    .map_err(|error| with_causes(&error))
            }
            Self::CleanupAuthChallenges => {
                let deleted = state.auth.cleanup_auth_challenges(pass).await;
                deleted
                    .map(|rows| format!("{rows} challenges deleted"))
                    .map_err(|error| error.to_string())
            }
            Self::CleanupCronEntries => {
                let before = state.clock.wall_ms() - HISTORY_MS;
                let deleted = history.delete_before(pass, before).await;
                deleted
                    .map(|rows| format!("{rows} runs deleted"))
                    .map_err(|error| error.to_string())
            }
            Self::DeleteExpiredJwts => {
                let deleted = state.auth.delete_expired_jwts(pass).await;
                deleted
                    .map(|rows| format!("{rows} tokens deleted"))
                    .map_err(|error| error.to_string())
            }
            Self::Sql(sql) => {
                let changed = history.run_sql(pass, sql).await;
                changed.map(|rows| format!("{rows} rows changed"))
            }
        }
    }
}
