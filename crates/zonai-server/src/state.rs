//! What every request may reach: one value, made at start, shared by all connections.
//!
//! Must never hold anything that a caller can make grow.

use std::net::IpAddr;
use std::sync::Arc;

use http::Request;
use hyper::body::Incoming;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use zonai_clock::Clock;
use zonai_code::Code;
use zonai_connection::{Held, InFlight, Serve, TurnedAway, Watch};
use zonai_limit::{Admitted, Internal};
use zonai_limit_sqlite::SqliteStore;

use crate::cors::Origins;
use crate::gate::Gate;
use crate::jobs::Jobs;
use crate::live::Live;
use crate::reply::Reply;
use crate::self_check::SelfCheck;
use crate::telemetry::Telemetry;
use crate::way::{self, Answering};
use zonai_project::Policies;
use zonai_project::settings::Bounds;

/// The running server.
pub(crate) struct State {
    pub(crate) bounds: Bounds,
    pub(crate) clock: Clock,
    /// What decides before a request is admitted.
    pub(crate) gate: Gate,
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) policies: Policies,
    pub(crate) data: zonai_data::Database,
    pub(crate) auth: zonai_auth::Auth,
    pub(crate) jobs: Jobs,
    /// The tables, with the code around them.
    pub(crate) code: Arc<Code>,
    /// Of jobs and hooks, which no request made.
    pub(crate) internal: Arc<Internal>,
    pub(crate) live: Live,
    /// Tables with accounts, by name.
    pub(crate) auth_tables: Vec<String>,
    pub(crate) draft_headers: bool,
    pub(crate) origins: Origins,
    pub(crate) bodies: Arc<Held>,
    /// Answers that are not handed over yet.
    pub(crate) answers: Arc<Held>,
    pub(crate) watch: Arc<Watch>,
    pub(crate) self_check: SelfCheck,
    pub(crate) telemetry: Telemetry,
    /// Everything that runs beside the accept loops; joined at the end.
    pub(crate) tasks: TaskTracker,
    /// Ends what [`State::spawn`] started and what did not end in time by itself.
    pub(crate) cut: CancellationToken,
    pub(crate) started_ms: i64,
}

impl State {
    /// Runs work beside the requests, until it is done or is cut off.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let cut = self.cut.clone();
        self.tasks.spawn(cut.run_until_cancelled_owned(work));
    }

    /// Ends every connection, with the requests on it, and all work beside them.
    pub(crate) fn cut_off(&self) {
        self.watch.cut();
        self.cut.cancel();
    }

    /// Counts what an observed or exempt limit would have refused.
    pub(crate) fn note_admitted(&self, admitted: &Admitted) {
        if admitted.would_refuse().is_some() {
            self.telemetry.would_refuse.inc();
        }
    }
}

impl Serve for State {
    type Body = Reply;
    type Answering = Answering;

    #[inline]
    fn answer(
        self: &Arc<Self>,
        peer: Option<IpAddr>,
        request: Request<Incoming>,
        in_flight: InFlight,
    ) -> Answering {
        way::answer(self, peer, request, in_flight)
    }

    fn expects_proxy_header(&self, peer: Option<IpAddr>) -> bool {
        self.gate.expects_proxy_header(peer)
    }

    fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }

    fn clock(&self) -> &Clock {
        &self.clock
    }

    fn tasks(&self) -> &TaskTracker {
        &self.tasks
    }

    fn turned_away(&self, why: TurnedAway) {
        match why {
            TurnedAway::NoPlace => self.telemetry.connections_refused.inc(),
            TurnedAway::NoProxyHeader => self.telemetry.proxy_headers_refused.inc(),
        };
    }
}
