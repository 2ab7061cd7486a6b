//! From settings to a running server, and to its end.
//!
//! Must never leave a task or a thread behind: everything that starts here is joined by [`Running::stop`].

mod background;
pub(crate) mod start;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use zonai_clock::Clock;
use zonai_code::{CustomOperations, Hooks};
use zonai_connection::{ListenError, Listener};
use zonai_limit::Registration;
use zonai_limit_sqlite::CloseReport;
use zonai_policy::Diagnostic;
use zonai_project::InCode;
use zonai_project::policies::Reload;

use crate::admin::AdminSocket;
use crate::explain::{self, Beyond, Explain, ExplainError};
use crate::state::State;
use zonai_project::settings::Settings;

/// What an embedding program adds to the files of a project.
#[derive(Default)]
#[non_exhaustive]
pub struct Additions {
    /// Limits in code.
    pub rate_limits: Vec<Registration>,
    /// Hooks around operations and sign-ins.
    pub hooks: Hooks,
    /// Custom operations in code.
    pub operations: CustomOperations,
}

impl Additions {
    /// What of it the files of the project are held against.
    #[must_use]
    pub fn in_code(&self) -> InCode {
        InCode {
            rate_limits: self.rate_limits.clone(),
            operations: self.operations.in_code().collect(),
            hooked: self.hooks.table_names().map(str::to_owned).collect(),
        }
    }
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// Something is wrong with the project's files; one line a fault.
    #[error("{}", lines(.0))]
    Faults(Vec<Diagnostic>),
    /// An address cannot be listened on.
    #[error(transparent)]
    Listen(#[from] ListenError),
    /// The database cannot be opened or brought up to date.
    #[error("{0}")]
    Data(String),
}

/// A running server. Dropping it without [`Running::stop`] leaves requests unanswered.
pub struct Running {
    state: Arc<State>,
    addresses: Vec<SocketAddr>,
    stop: CancellationToken,
    accepting: Vec<JoinHandle<()>>,
    background: background::Background,
}

impl Running {
    /// Starts to serve. To be called on a multi-threaded tokio runtime.
    ///
    /// # Errors
    /// When a file of the project does not pass, the database cannot be opened, or an address is taken.
    pub async fn start(
        settings: Settings,
        additions: Additions,
        clock: Clock,
    ) -> Result<Self, StartError> {
        let stop = CancellationToken::new();
        let state = Arc::new(start::state(settings.clone(), additions, clock, stop.clone()).await?);
        // Only now: a client that connects is served, and not cut off by a file that does not pass.
        let listeners = zonai_connection::bind_all(&settings.listen)?;
        let addresses = listeners.iter().filter_map(Listener::address).collect();
        let admin = AdminSocket::bind(&settings.paths.data);
        for warning in start::warnings(&settings, &listeners) {
            tracing::warn!("{warning}");
        }
        let background = background::Background::start(&state, &stop);
        let mut accepting: Vec<_> = listeners
            .into_iter()
            .map(|listener| {
                tokio::spawn(zonai_connection::accept(
                    Arc::clone(&state),
                    listener,
                    stop.clone(),
                ))
            })
            .collect();
        match admin {
            Ok(admin) => accepting.push(tokio::spawn(admin.run(Arc::clone(&state), stop.clone()))),
            Err(error) => {
                tracing::warn!(%error, "no admin socket: `zonai limits` cannot speak to this server")
            }
        }
        Ok(Self {
            state,
            addresses,
            stop,
            accepting,
            background,
        })
    }

    /// The TCP addresses that are listened on, with the ports that the system chose.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// What would happen to a request, and why; nothing is counted.
    ///
    /// # Errors
    /// When it is no request.
    pub async fn explain(&self, request: &Explain) -> Result<Value, ExplainError> {
        let beyond = Beyond {
            auth: &self.state.auth,
            places: &self.state.live.places,
        };
        explain::explain(&self.state.gate, &self.state.clock, request, Some(beyond)).await
    }

    /// Requests that an observed limit would have refused, or that an exempt network was spared.
    #[must_use]
    pub fn would_refuse(&self) -> u64 {
        self.state.telemetry.would_refuse.get()
    }

    /// How often rules were asked, and how many reads and writes there were, since the start: as `/metrics` shows it.
    #[must_use]
    pub fn work_done(&self) -> (u64, u64) {
        (
            self.state.data.rules_asked(),
            self.state.data.engine().jobs(),
        )
    }

    /// Reads the policy folder again, as the watcher does by itself.
    pub fn reload(&self) -> bool {
        self.state
            .policies
            .reload(&self.state.gate.limiter, &self.state.store)
            != Reload::Kept
    }

    /// Stops: no new connection, what runs is finished (at most `stop_grace`), counters are written. `true` where
    /// nothing was cut off.
    pub async fn stop(self) -> bool {
        self.stop.cancel();
        self.state.watch.stop();
        for task in self.accepting {
            let _ = task.await;
        }
        close(&self.state, Some(self.background)).await
    }
}

/// How long what was cut off may take to end, and what is closed after the requests may take at least.
const AT_LAST: Duration = Duration::from_secs(5);

/// Ends what a state holds: what runs is finished or cut off, counters are written.
pub(crate) async fn close(state: &State, background: Option<background::Background>) -> bool {
    state.tasks.close();
    let grace = state.bounds.stop_grace;
    let finished = tokio::time::timeout(grace, state.tasks.wait())
        .await
        .is_ok();
    if !finished {
        tracing::warn!(
            seconds = grace.as_secs(),
            left = state.tasks.len(),
            "some requests, streams or jobs did not finish in time and are cut off"
        );
        state.cut_off();
        if tokio::time::timeout(AT_LAST, state.tasks.wait())
            .await
            .is_err()
        {
            tracing::error!(
                left = state.tasks.len(),
                "some tasks do not end; stopping without them"
            );
        }
    }
    if let Some(background) = background {
        background.stop().await;
    }
    state.auth.close(grace).await;
    let (store, data) = (Arc::clone(&state.store), state.data.clone());
    let closed = tokio::task::spawn_blocking(move || {
        // First what must not be lost; the data file only breaks off what still runs.
        let report = store.close();
        data.engine().close();
        report
    });
    let patience = grace.max(AT_LAST);
    match tokio::time::timeout(patience, closed).await {
        Ok(Ok(report)) => finished & all_written(&report),
        Ok(Err(error)) => {
            tracing::error!(%error, "closing the data file and the counter file failed");
            false
        }
        Err(_elapsed) => {
            tracing::error!(
                seconds = patience.as_secs(),
                "the data file and the counter file take too long to close; stopping without them"
            );
            false
        }
    }
}

fn all_written(report: &CloseReport) -> bool {
    if report.unwritten > 0 {
        let reason = report.fault.as_ref().map(ToString::to_string);
        tracing::error!(
            unwritten = report.unwritten,
            reason = reason.as_deref(),
            "some rate limit counters could not be written; the next start counts from what the file shows"
        );
    }
    report.unwritten == 0
}

fn lines(faults: &[Diagnostic]) -> String {
    faults
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join("\n")
}
