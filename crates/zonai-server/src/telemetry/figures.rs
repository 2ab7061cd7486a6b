//! Figures that others keep, read when somebody asks for the metrics.

use std::fmt::Write;

use zonai_limit_sqlite::Health;

use crate::state::State;

/// What a figure does over time.
#[derive(Clone, Copy)]
enum Kind {
    /// Only rises while the server runs.
    Counter,
    /// Rises and falls.
    Gauge,
}

use Kind::{Counter, Gauge};

/// One figure: its name without `zonai_`, what it is, its kind, and where it is read.
pub(super) struct Figure(&'static str, &'static str, Kind, fn(&State) -> u64);

pub(super) const FIGURES: [Figure; 16] = [
    Figure("connections", "Open connections", Gauge, |state| {
        number(state.watch.count())
    }),
    Figure(
        "counters",
        "Rate limit counters in memory",
        Gauge,
        |state| number(state.gate.counters.len()),
    ),
    Figure("counters_max", "At most so many counters", Gauge, |state| {
        number(state.gate.counters.max())
    }),
    Figure(
        "crowded",
        "Decisions in a wider counter because all places were taken",
        Counter,
        |state| state.gate.counters.crowded(),
    ),
    Figure(
        "counter_backlog",
        "Counters that the counter file does not show yet",
        Gauge,
        |state| number(state.store.metrics().backlog),
    ),
    Figure(
        "counter_commit_ms",
        "How long the last commit of the counter file took",
        Gauge,
        |state| state.store.metrics().last_commit_ms,
    ),
    Figure(
        "counter_commit_timeouts",
        "Durable counts that went on from memory",
        Counter,
        |state| state.store.metrics().commit_timeouts,
    ),
    Figure(
        "counter_faults",
        "How often the counter file had a fault",
        Counter,
        |state| state.store.metrics().faults,
    ),
    Figure(
        "counter_file_ok",
        "Whether the counter file follows",
        Gauge,
        |state| u64::from(state.store.health() == Health::Ok),
    ),
    Figure("streams", "Open live queries", Gauge, |state| {
        number(state.live.places.open())
    }),
    Figure(
        "stream_questions",
        "Different live queries",
        Gauge,
        |state| number(state.live.questions()),
    ),
    Figure("writes_waiting", "Writes that wait", Gauge, |state| {
        number(state.data.engine().writes_waiting())
    }),
    Figure("reads_in_flight", "Reads in flight", Gauge, |state| {
        number(state.data.engine().reads_in_flight())
    }),
    Figure(
        "sql_jobs",
        "Reads and writes that were asked for",
        Counter,
        |state| state.data.engine().jobs(),
    ),
    Figure(
        "rules_asked",
        "How often rules were asked",
        Counter,
        |state| state.data.rules_asked(),
    ),
    Figure(
        "policy_version",
        "Which policies are in force",
        Gauge,
        |state| state.policies.status().version,
    ),
];

impl Figure {
    /// Appends it with what says what it is.
    pub(super) fn write(&self, text: &mut String, state: &State) {
        let Self(name, help, kind, read) = self;
        let (kind, suffix) = match kind {
            Counter => ("counter", "_total"),
            Gauge => ("gauge", ""),
        };
        let value = read(state);
        // Writing to memory does not fail.
        let _ = writeln!(
            text,
            "# HELP zonai_{name} {help}.\n# TYPE zonai_{name} {kind}\nzonai_{name}{suffix} {value}"
        );
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
