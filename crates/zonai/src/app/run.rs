//! From an [`App`] to a server that runs, and to its end.
//!
//! Must never let two servers have one data folder, and never leave a thread behind.

use std::net::SocketAddr;
use std::process;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use sd_notify::NotifyState;
use tokio::signal::unix::{Signal, SignalKind, signal};
use zonai_clock::Clock;
use zonai_project::settings::Listen;
use zonai_server::Running;

use super::App;
use crate::lock::DataLock;
use crate::project::{Resolved, show};
use crate::{Error, Result, files};

/// A server that runs. It is to be stopped with [`Server::stop`], so that running requests are finished and counters
/// written.
#[must_use = "dropping a server cuts off what runs; call stop()"]
pub struct Server {
    running: Running,
    lock: DataLock,
}

impl App {
    /// Serves until SIGTERM or SIGINT, and returns when everything is finished and written. SIGHUP reads the policies
    /// again; a second SIGTERM or SIGINT ends the process at once with exit code 1. The process may then open as many
    /// files as its hard limit allows: a connection is one.
    ///
    /// # Errors
    /// When the project cannot be served, or the stop cut something off.
    pub fn serve(self) -> Result<()> {
        raise_file_limit();
        let runtime = runtime()?;
        runtime.block_on(self.serve_until_signal())
    }

    /// Starts to serve, on the tokio runtime of the caller (a multi-threaded one). Signals are the caller's business.
    ///
    /// # Errors
    /// When the project cannot be served: something is wrong with a file or a secret, another server has the data
    /// folder, or an address is taken.
    pub async fn start(self) -> Result<Server> {
        self.start_with(Clock::system()).await
    }

    /// The same with another clock, for tests.
    ///
    /// # Errors
    /// As [`App::start`].
    pub async fn start_with(self, clock: Clock) -> Result<Server> {
        // With the places that `check` gives.
        let draft = self.draft().clone();
        let (Resolved { settings, warnings }, additions) = self.resolve()?;
        for warning in &warnings {
            tracing::warn!("{warning}");
        }
        let lock = DataLock::acquire(&settings.paths.data)?;
        let sockets: Vec<String> = settings
            .listen
            .iter()
            .filter(|listen| !is_tcp(listen))
            .map(show)
            .collect();
        let running = Running::start(settings, additions, clock)
            .await
            .map_err(|error| files::refused(&draft, error))?;
        for address in running.addresses() {
            tracing::info!("listening on http://{address}");
        }
        for socket in sockets {
            tracing::info!("listening on {socket}");
        }
        Ok(Server { running, lock })
    }

    async fn serve_until_signal(self) -> Result<()> {
        // Before anything is served: a signal that comes during the start is not lost.
        let (mut terminate, mut interrupt) = (
            listen(SignalKind::terminate())?,
            listen(SignalKind::interrupt())?,
        );
        let mut hang_up = listen(SignalKind::hangup())?;
        let server = self.start().await?;
        // Without a service manager there is nobody to tell.
        let _ = sd_notify::notify(&[NotifyState::Ready]);
        loop {
            tokio::select! {
                _ = hang_up.recv() => server.reload(),
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
            }
        }
        let _ = sd_notify::notify(&[NotifyState::Stopping]);
        tracing::info!("stopping; a second signal stops at once");
        tokio::select! {
            finished = server.stop() => finished,
            _ = terminate.recv() => at_once(),
            _ = interrupt.recv() => at_once(),
        }
    }
}

impl Server {
    /// The TCP addresses that are listened on, with the ports that the system chose.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        self.running.addresses()
    }

    /// Reads the policies again. A folder that does not pass leaves those that were in force, and the log says why.
    pub fn reload(&self) {
        self.running.reload();
    }

    /// Stops: no new request, what runs is finished within `server.stopGrace`, the counters are written.
    ///
    /// # Errors
    /// When something was cut off or could not be written; the log says what.
    pub async fn stop(self) -> Result<()> {
        let finished = self.running.stop().await;
        drop(self.lock);
        if finished {
            Ok(())
        } else {
            Err(Error::Server(
                "stopped, but not everything could be finished".into(),
            ))
        }
    }
}

/// The soft limit of open files is often 1,024, a quarter of the connections that may be held.
fn raise_file_limit() {
    let now = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: now.maximum,
        maximum: now.maximum,
    };
    if now.current != now.maximum
        && let Err(error) = setrlimit(Resource::Nofile, raised)
    {
        tracing::warn!(%error, "cannot raise the limit of open files; it stays at {:?}", now.current);
    }
}

/// Threads for a server.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    let built = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .thread_name("zonai")
        .build();
    built.map_err(|error| Error::Server(format!("cannot start threads: {error}")))
}

fn listen(kind: SignalKind) -> Result<Signal> {
    signal(kind).map_err(|error| Error::Server(format!("cannot listen for signals: {error}")))
}

#[expect(
    clippy::disallowed_methods,
    reason = "whoever sends a second signal asks for exactly this: no destructors, now"
)]
fn at_once() -> ! {
    tracing::warn!("stopped at once; running requests are cut off");
    process::exit(1)
}

fn is_tcp(listen: &Listen) -> bool {
    matches!(listen, Listen::Tcp(_))
}
