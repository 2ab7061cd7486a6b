//! Sockets to listen on, and the loop that accepts.
//!
//! Must never read a byte of a connection, and never let one that fails end the loop.

use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;
use socket2::{Domain, Protocol, Socket as RawSocket, Type};
use tokio::net::{TcpListener, UnixListener};
use tokio_util::sync::CancellationToken;

use zonai_project::settings::Listen;

use crate::activity::Watched;
use crate::serve::serve;
use crate::socket::Stream;
use crate::{Serve, TurnedAway};

/// How many connections the kernel holds for us.
const BACKLOG: i32 = 1_024;
/// How long a newcomer waits for a place that is being vacated.
const PLACE_WAIT: Duration = Duration::from_millis(200);

/// How long a connection that was told to end may take to give its file back, ...
const VACATING: Duration = Duration::from_millis(10);
/// ... and how long something else that is missing is waited for.
const SCARCE: Duration = Duration::from_millis(100);

/// A socket that listens.
#[derive(Debug)]
pub enum Listener {
    /// TCP.
    Tcp(TcpListener),
    /// A Unix socket, and its path, which goes with it; empty where somebody else made it.
    Unix(UnixListener, std::path::PathBuf),
}

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen on {address}{hint}")]
pub struct ListenError {
    address: String,
    hint: &'static str,
    source: io::Error,
}

impl ListenError {
    fn new(address: &Listen, source: io::Error) -> Self {
        let hint = match (address, source.kind()) {
            (Listen::Tcp(_), io::ErrorKind::AddrInUse) => {
                ": another program listens there; choose another with --port"
            }
            (Listen::Tcp(_), io::ErrorKind::PermissionDenied) => {
                ": ports below 1024 need privileges; choose another with --port"
            }
            (Listen::Unix(_), io::ErrorKind::AddrInUse) => {
                ": another program listens there, or it is another file"
            }
            (Listen::Inherited(_), _) => {
                ": a socket unit of systemd hands them over, counted from 0"
            }
            _ => "",
        };
        Self {
            address: shown(address),
            hint,
            source,
        }
    }
}

/// Binds every address. `localhost` on a machine without IPv6 is IPv4 alone.
///
/// # Errors
/// When an address is taken, not ours, or not allowed.
pub fn bind_all(listen: &[Listen]) -> Result<Vec<Listener>, ListenError> {
    let mut inherited = listenfd::ListenFd::from_env();
    let mut listeners = Vec::with_capacity(listen.len());
    for address in listen {
        let bound = match address {
            Listen::Tcp(address) => bind_tcp(*address).map(Listener::Tcp),
            Listen::Unix(path) => {
                bind_unix(path).map(|listener| Listener::Unix(listener, path.clone()))
            }
            Listen::Inherited(index) => inherit(&mut inherited, *index),
        };
        match bound {
            Ok(listener) => listeners.push(listener),
            Err(error)
                if listeners.len() + 1 == listen.len()
                    && lacks_ipv6(address, &error)
                    && !listeners.is_empty() =>
            {
                tracing::info!("no IPv6 on this machine; listening on IPv4 only");
            }
            Err(error) => return Err(ListenError::new(address, error)),
        }
    }
    Ok(listeners)
}

fn lacks_ipv6(address: &Listen, error: &io::Error) -> bool {
    let loopback = matches!(address, Listen::Tcp(SocketAddr::V6(v6)) if v6.ip().is_loopback());
    let missing = matches!(
        error.kind(),
        io::ErrorKind::AddrNotAvailable | io::ErrorKind::Unsupported
    ) || error.raw_os_error() == Some(EAFNOSUPPORT);
    loopback && missing
}

/// On Linux: the kernel has no such address family.
const EAFNOSUPPORT: i32 = 97;

fn shown(address: &Listen) -> String {
    match address {
        Listen::Tcp(address) => address.to_string(),
        Listen::Unix(path) => format!("unix:{}", path.display()),
        Listen::Inherited(index) => format!("inherited socket {index}"),
    }
}

fn bind_tcp(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = RawSocket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_reuse_address(true)?;
    if address.is_ipv6() && address.ip().is_unspecified() {
        // `[::]` takes IPv4 as well; its clients come as IPv4-mapped addresses, which are the IPv4 addresses.
        socket.set_only_v6(false)?;
    }
    socket.set_nonblocking(true)?;
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    TcpListener::from_std(socket.into())
}

fn bind_unix(path: &Path) -> io::Result<UnixListener> {
    if let Ok(found) = std::fs::symlink_metadata(path)
        && found.file_type().is_socket()
        && let Err(error) = std::os::unix::net::UnixStream::connect(path)
        && error.kind() == io::ErrorKind::ConnectionRefused
    {
        // Left behind by a server that was killed: nobody listens on it. Any other error may be a living one's.
        std::fs::remove_file(path)?;
    }
    UnixListener::bind(path)
}

fn inherit(inherited: &mut listenfd::ListenFd, index: usize) -> io::Result<Listener> {
    if let Ok(Some(tcp)) = inherited.take_tcp_listener(index) {
        tcp.set_nonblocking(true)?;
        return TcpListener::from_std(tcp).map(Listener::Tcp);
    }
    if let Ok(Some(unix)) = inherited.take_unix_listener(index) {
        unix.set_nonblocking(true)?;
        return UnixListener::from_std(unix)
            .map(|listener| Listener::Unix(listener, Default::default()));
    }
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        "the service manager handed over no such socket",
    ))
}

impl Listener {
    /// The address, with the port that the system chose.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(listener) => listener.local_addr().ok(),
            Self::Unix(..) => None,
        }
    }

    async fn accept(&self) -> io::Result<(Stream, Option<SocketAddr>)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, peer) = listener.accept().await?;
                // Answers are written whole; waiting for more to send would only make them late.
                let _ = stream.set_nodelay(true);
                Ok((Stream::Tcp(stream), Some(peer)))
            }
            Self::Unix(listener, _) => {
                let (stream, _) = listener.accept().await?;
                Ok((Stream::Unix(stream), None))
            }
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self
            && !path.as_os_str().is_empty()
        {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Accepts until the server stops.
pub async fn accept<S: Serve>(server: Arc<S>, listener: Listener, stop: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, peer)) => {
                let Some(watched) = place(&*server).await else {
                    server.turned_away(TurnedAway::NoPlace);
                    continue;
                };
                let serve = serve(Arc::clone(&server), stream, peer, watched);
                server.tasks().spawn(serve);
            }
            // The client went away before it was accepted.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::ConnectionAborted
                        | io::ErrorKind::ConnectionReset
                        | io::ErrorKind::Interrupted
                ) => {}
            Err(error) => cannot_accept(&*server, &error).await,
        }
    }
}

/// Out of files or memory: that passes, and spinning would not help. Where files are what is missing, a connection that
/// is held without a request is vacated, as where all places are taken.
async fn cannot_accept(server: &impl Serve, error: &io::Error) {
    if server.watch().may_complain(server.clock().now()) {
        tracing::warn!(%error, "cannot accept connections; trying again, and saying so at most once a minute");
    }
    let of_files = [Errno::MFILE, Errno::NFILE].map(|errno| Some(errno.raw_os_error()));
    let pause = if of_files.contains(&error.raw_os_error()) {
        server.watch().vacate();
        VACATING
    } else {
        SCARCE
    };
    tokio::time::sleep(pause).await;
}

/// A place for a connection; where all are taken, one that is held without a request is vacated.
async fn place(server: &impl Serve) -> Option<Watched> {
    if let Some(watched) = server.watch().enter(server.clock().now()) {
        return Some(watched);
    }
    let vacated = async {
        loop {
            tokio::time::sleep(Duration::from_millis(2)).await;
            if let Some(watched) = server.watch().enter(server.clock().now()) {
                return watched;
            }
        }
    };
    tokio::time::timeout(PLACE_WAIT, vacated).await.ok()
}
