//! What the server says in its log while something is done to it.

use std::fmt;
use std::sync::Arc;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

/// Lines of the log, from whichever thread.
type Lines = Arc<parking_lot::Mutex<Vec<String>>>;

thread_local! {
    static GUARD: std::cell::RefCell<Option<DefaultGuard>> = const { std::cell::RefCell::new(None) };
}

/// The warnings that speak of `trustedProxy` while `work` runs, on a runtime of its own whose threads are listened to:
/// other tests of this process are not heard.
pub(super) fn of_trusted_proxy(work: impl Future<Output = ()>) -> Vec<String> {
    let lines = Lines::default();
    let dispatch = Dispatch::new(Collector(Arc::clone(&lines)));
    let of_thread = dispatch.clone();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .on_thread_start(move || {
            GUARD.set(Some(tracing::dispatcher::set_default(&of_thread)));
        })
        .on_thread_stop(|| GUARD.set(None))
        .build()
        .unwrap();
    tracing::dispatcher::with_default(&dispatch, || runtime.block_on(work));
    drop(runtime);
    let mut lines = std::mem::take(&mut *lines.lock());
    lines.retain(|line| line.contains("trustedProxy"));
    lines
}

struct Collector(Lines);

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && metadata.target().starts_with("zonai")
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        self.0.lock().push(line.0);
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.push_str(&format!("{}={value:?} ", field.name()));
    }
}
