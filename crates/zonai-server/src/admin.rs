//! The way in for operators: a Unix socket that only the server's own user can open.
//!
//! One JSON request a line, one JSON answer a line. `zonai limits` and `zonai cron` speak it. It does not pass the limiter,
//! so that whoever is locked out by a neighbour can still be freed. Must never be reachable over the network.

mod commands;
pub(crate) use commands::limits;
pub use commands::row;
mod path;

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use socket2::{Domain, SockAddr, Socket, Type};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

pub use path::socket_path;

use crate::state::State;

/// Operators that are served at once.
const PLACES: usize = 8;
/// The longest request.
const MAX_REQUEST: u64 = 2 << 20;
/// How long a request may take to come and to be taken.
const WITHIN: Duration = Duration::from_secs(10);

/// The socket; its file goes with it.
pub(crate) struct AdminSocket {
    listener: UnixListener,
    path: PathBuf,
}

impl AdminSocket {
    /// Binds the socket of a data folder: 0600 from its first moment, in a folder of 0700.
    pub(crate) fn bind(data: &Path) -> io::Result<Self> {
        let path = socket_path(data);
        let folder = path.parent().unwrap_or(Path::new("."));
        match std::fs::DirBuilder::new().mode(0o700).create(folder) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => path::check_folder(folder)?,
        }
        // The data folder's lock is held: whoever bound this before is gone.
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        // Before `bind`: the file is made with the mode that the socket has.
        rustix::fs::fchmod(&socket, rustix::fs::Mode::from_raw_mode(0o600))?;
        socket.bind(&SockAddr::unix(&path)?)?;
        socket.listen(16)?;
        socket.set_nonblocking(true)?;
        Ok(Self {
            listener: UnixListener::from_std(socket.into())?,
            path,
        })
    }

    /// Answers operators until the server stops.
    pub(crate) async fn run(self, state: Arc<State>, stop: CancellationToken) {
        let places = Arc::new(Semaphore::new(PLACES));
        loop {
            let accepted = tokio::select! {
                accepted = self.listener.accept() => accepted,
                () = stop.cancelled() => return,
            };
            let Ok((stream, _)) = accepted else {
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                continue;
            };
            let (state, stop) = (Arc::clone(&state), stop.clone());
            let tasks = state.tasks.clone();
            tasks.spawn(async move {
                let _place = place;
                tokio::select! {
                    _ = converse(&state, stream) => {}
                    () = stop.cancelled() => {}
                }
            });
        }
    }
}

impl Drop for AdminSocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

async fn converse(state: &Arc<State>, stream: UnixStream) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut lines = BufReader::new(read.take(MAX_REQUEST));
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = tokio::time::timeout(WITHIN, lines.read_until(b'\n', &mut line)).await??;
        if read == 0 {
            return Ok(());
        }
        lines.get_mut().set_limit(MAX_REQUEST);
        let answer = match serde_json::from_slice::<Value>(&line) {
            Ok(request) => commands::answer(state, &request).await,
            Err(error) => Err(format!("the request is no JSON: {error}")),
        };
        let mut text = match answer {
            Ok(data) => json!({"data": data}).to_string(),
            Err(error) => json!({"error": error}).to_string(),
        };
        text.push('\n');
        tokio::time::timeout(WITHIN, write.write_all(text.as_bytes())).await??;
    }
}
