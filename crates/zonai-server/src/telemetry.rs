//! What the operator can count: one metric series a fact, never one a client or a name that callers invent.
//!
//! Must never log per request: a refusal costs a counter, not a line.

mod figures;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use zonai_limit::{Client, Refusal};

use crate::state::State;
use crate::top::Top;
use figures::FIGURES;

/// The server's metrics.
#[derive(Debug)]
pub(crate) struct Telemetry {
    registry: Registry,
    by_class: [Counter<u64, AtomicU64>; 6],
    pub(crate) proxy_headers_refused: Counter,
    pub(crate) connections_refused: Counter,
    pub(crate) would_refuse: Counter,
    refused: Family<RefusedLabels, Counter>,
    /// Who is refused now, for `zonai limits top`.
    pub(crate) top: Top,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ClassLabels {
    class: &'static str,
}

/// Tables and operations of the schema: a bounded set.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RefusedLabels {
    collection: Arc<str>,
    operation: &'static str,
}

impl Telemetry {
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("zonai");
        let answers: Family<ClassLabels, Counter<u64, AtomicU64>> = Family::default();
        registry.register(
            "answers",
            "Answers, by class of their status",
            answers.clone(),
        );
        let by_class = ["other", "1xx", "2xx", "3xx", "4xx", "5xx"]
            .map(|class| answers.get_or_create(&ClassLabels { class }).clone());
        let refused = Family::default();
        registry.register(
            "refused",
            "Requests over their limit (429), by bucket and operation",
            refused.clone(),
        );
        let counter = |registry: &mut Registry, name: &str, help: &str| {
            let counter = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        };
        Self {
            by_class,
            proxy_headers_refused: counter(
                &mut registry,
                "proxy_headers_refused",
                "Connections closed because their PROXY header was none",
            ),
            connections_refused: counter(
                &mut registry,
                "connections_refused",
                "Connections closed because all places were taken",
            ),
            would_refuse: counter(
                &mut registry,
                "would_refuse",
                "Requests that an observed or exempt limit would have refused",
            ),
            refused,
            registry,
            top: Top::default(),
        }
    }

    pub(crate) fn answered(&self, status: StatusCode) {
        self.count(usize::from(status.as_u16() / 100));
    }

    fn count(&self, class: usize) {
        if let Some(counter) = self.by_class.get(class).or(self.by_class.first()) {
            counter.inc();
        }
    }

    /// A refusal that was answered as the one before.
    pub(crate) fn refused_again(&self, client: Client, refusal: &Refusal) {
        self.refused(client, refusal);
        self.count(4);
    }

    pub(crate) fn refused(&self, client: Client, refusal: &Refusal) {
        self.top.note(client, refusal, || {
            let labels = RefusedLabels {
                collection: Arc::clone(&refusal.collection),
                operation: refusal.operation.name(),
            };
            self.refused.get_or_create(&labels).clone()
        });
    }
}

/// Of [`text`].
pub(crate) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// The text of `/metrics`, in the format OpenMetrics: what is read now, and what was counted since the start.
pub(crate) fn text(state: &State) -> String {
    let mut text = String::with_capacity(4_096);
    for figure in &FIGURES {
        figure.write(&mut text, state);
    }
    // Ends the whole text. Writing to memory does not fail.
    let _ = encode(&mut text, &state.telemetry.registry);
    text
}
