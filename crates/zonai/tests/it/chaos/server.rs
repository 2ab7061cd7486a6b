//! The program itself: started, asked by its operator, stopped well, killed.
//!
//! Must never share a port that another process could be given while the server is down: it listens on an address of the
//! loopback network that is its own.

use std::collections::VecDeque;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use zonai_clock::Clock;

use super::wire::{Time, Wire, request};
use crate::run::Folder;

/// Nothing that is waited for takes longer.
const PATIENCE: Duration = Duration::from_secs(30);
/// What the log says when counts are not written.
const IN_MEMORY: &str = "kept in memory only";

pub(super) struct Server {
    child: Child,
    socket: PathBuf,
    log: Arc<Log>,
    reader: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Log {
    last: Mutex<VecDeque<String>>,
    in_memory: AtomicBool,
}

/// An address that is the server's alone.
pub(super) fn own_address(seed: u64) -> SocketAddr {
    let process = std::process::id();
    let ip = Ipv4Addr::new(
        127,
        77,
        (process >> 8) as u8,
        (process as u8) ^ (seed as u8) | 1,
    );
    let found = TcpListener::bind((ip, 0)).unwrap();
    found.local_addr().unwrap()
}

/// Whether the clock that windows are measured on can be another for a process.
pub(super) fn clock_can_be_moved() -> bool {
    let tried = Command::new("unshare")
        .args(["--time", "--boottime", "60", "true"])
        .output();
    let can = tried.is_ok_and(|output| output.status.success());
    if !can {
        println!(
            "skipped: the clock of the process cannot be moved here (needs root and time namespaces)"
        );
    }
    can
}

impl Server {
    /// Starts it, with its clock so many seconds ahead of the machine's.
    pub(super) fn start(folder: &Folder, address: SocketAddr, ahead: u64) -> Result<Self, String> {
        let program = env!("CARGO_BIN_EXE_zonai");
        let mut command = Command::new(if ahead > 0 { "unshare" } else { program });
        command.env_clear();
        if ahead > 0 {
            command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
            command.args(["--time", "--boottime", &ahead.to_string(), program]);
        }
        let port = address.port().to_string();
        command.args([
            "serve",
            "--host",
            &address.ip().to_string(),
            "--port",
            &port,
        ]);
        let mut child = command
            .current_dir(folder.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Arc::new(Log::default());
        let (send, listens) = mpsc::sync_channel(1);
        let errors = BufReader::new(child.stderr.take().unwrap());
        let seen = Arc::clone(&log);
        let reader = std::thread::Builder::new()
            .name("log".into())
            .spawn(move || {
                for line in errors.lines().map_while(Result::ok) {
                    seen.note(&line);
                    if line.contains("listening on http://") {
                        let _ = send.try_send(());
                    }
                }
            });
        let server = Self {
            child,
            socket: zonai_server::admin::socket_path(&folder.path().join(".zonai/data")),
            log,
            reader: Some(reader.unwrap()),
        };
        match listens.recv_timeout(PATIENCE) {
            Ok(()) => Ok(server),
            Err(_) => Err(format!("the server does not start\n{}", server.tail())),
        }
    }

    /// Reads the policies again, as the operator does.
    pub(super) fn ask_reload(&self) -> Result<(), String> {
        self.ask(&json!({"command": "reload"})).map(drop)
    }

    /// Runs a job.
    pub(super) fn ask_job(&self, name: &str) -> Result<(), String> {
        let done = self.ask(&json!({"command": "cron.run", "name": name}))?;
        if done["ok"] == true {
            Ok(())
        } else {
            Err(format!("{name}: {done}"))
        }
    }

    /// Waits until `/health` has no complaint.
    pub(super) fn until_healthy(&self, address: SocketAddr) -> Result<(), String> {
        let time = Time {
            clock: Clock::system(),
            ahead_ms: 0,
        };
        let mut wire =
            Wire::connect(Ipv4Addr::LOCALHOST, address).map_err(|error| error.to_string())?;
        let mut last = String::new();
        for _ in 0..PATIENCE.as_millis() / 5 {
            let reply = wire
                .exchange(&request("GET", "/health", None, None), 1, &time)
                .remove(0)
                .reply;
            last = reply.ok_or("no health")?.body;
            if last.starts_with("{\"status\":\"ok\"") {
                return Ok(());
            }
            std::thread::park_timeout(Duration::from_millis(5));
        }
        Err(format!("it does not get well: {last}"))
    }

    /// What the operator's socket answers.
    fn ask(&self, question: &Value) -> Result<Value, String> {
        let told = |error: std::io::Error| format!("the operator's socket: {error}");
        let mut stream = UnixStream::connect(&self.socket).map_err(told)?;
        stream.set_read_timeout(Some(PATIENCE)).map_err(told)?;
        writeln!(stream, "{question}").map_err(told)?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line).map_err(told)?;
        let mut answer: Value = serde_json::from_str(&line).map_err(|error| error.to_string())?;
        Ok(answer["data"].take())
    }

    /// Waits until the server's state is as wanted.
    pub(super) fn until(
        &self,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Value, String> {
        let mut last = Value::Null;
        let step = Duration::from_millis(2);
        for _ in 0..PATIENCE.as_millis() / step.as_millis() {
            last = self.ask(&json!({"command": "status"}))?;
            if wanted(&last) {
                return Ok(last);
            }
            std::thread::park_timeout(step);
        }
        Err(format!("in vain waited for: {what}; {last}"))
    }

    pub(super) fn policy_version(&self) -> Result<u64, String> {
        self.ask(&json!({"command": "status"}))?["policies"]["version"]
            .as_u64()
            .ok_or_else(|| "no version".to_owned())
    }

    /// Whether counts were left to memory since this was asked last.
    pub(super) fn was_in_memory(&self) -> bool {
        self.log.in_memory.swap(false, Ordering::SeqCst)
    }

    pub(super) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// After [`Self::kill`]: whether counts were left to memory before.
    pub(super) fn ended(mut self) -> Result<bool, String> {
        let status = self.child.wait().unwrap();
        drop(self.reader.take().map(JoinHandle::join));
        if status.signal() == Some(9) {
            Ok(self.was_in_memory())
        } else {
            Err(format!("it ended by itself: {status}\n{}", self.tail()))
        }
    }

    /// SIGTERM, and a good end.
    pub(super) fn stop(mut self) -> Result<(), String> {
        let pid = self.child.id().to_string();
        let signalled = Command::new("kill").args(["-TERM", &pid]).status();
        assert!(signalled.is_ok_and(|status| status.success()));
        for _ in 0..PATIENCE.as_millis() / 5 {
            match self.child.try_wait().unwrap() {
                Some(status) if status.code() == Some(0) => return Ok(()),
                Some(status) => return Err(format!("it stopped with {status}\n{}", self.tail())),
                None => std::thread::park_timeout(Duration::from_millis(5)),
            }
        }
        Err(format!("it does not stop\n{}", self.tail()))
    }

    /// The end of its log.
    pub(super) fn tail(&self) -> String {
        let last = self.log.last.lock();
        last.iter().map(|line| format!("  log: {line}\n")).collect()
    }
}

impl Log {
    fn note(&self, line: &str) {
        if line.contains(IN_MEMORY) {
            self.in_memory.store(true, Ordering::SeqCst);
        }
        let mut last = self.last.lock();
        if last.len() >= 30 {
            last.pop_front();
        }
        last.push_back(line.to_owned());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        drop(self.reader.take().map(JoinHandle::join));
    }
}
