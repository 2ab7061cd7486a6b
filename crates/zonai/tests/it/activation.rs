//! Sockets that a service manager hands over (`listen: [inherited:0]`), as systemd's socket units do.

use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::run::Folder;

/// A project that listens on two sockets of the manager.
fn project() -> Folder {
    let folder = Folder::empty();
    assert_eq!(folder.zonai(&["init"]).code, 0);
    folder.write("zonai.yaml", "listen: [\"inherited:0\", \"inherited:1\"]\n");
    folder
}

/// A server that is killed with the test.
struct Activated(Child);

impl Activated {
    /// Starts the program with these sockets as its descriptors 3 and 4: the shell moves them there, and keeps its
    /// process number.
    fn start(folder: &Folder, tcp: &TcpListener, unix: &UnixListener) -> Self {
        let script =
            "exec 3<&0 4<&1 </dev/null >/dev/null; export LISTEN_FDS=2 LISTEN_PID=$$; exec \"$@\"";
        let tcp = OwnedFd::from(tcp.try_clone().unwrap());
        let unix = OwnedFd::from(unix.try_clone().unwrap());
        let child = Command::new("sh")
            .args(["-c", script, "sh", env!("CARGO_BIN_EXE_zonai"), "serve"])
            .env_clear()
            .current_dir(folder.path())
            .stdin(Stdio::from(tcp))
            .stdout(Stdio::from(unix))
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Self(child)
    }

    fn stop(mut self) {
        let id = self.0.id().to_string();
        let killed = Command::new("kill").args(["-TERM", &id]).status().unwrap();
        assert!(killed.success());
        assert_eq!(self.0.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Activated {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The first line of the answer of `/health`. The manager's socket takes the connection before the server runs.
fn health(mut stream: impl std::io::Read + std::io::Write) -> String {
    let request = "GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn inherited_sockets_are_served_and_outlive_the_server() {
    let folder = project();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = tcp.local_addr().unwrap();
    let path = folder.path().join("manager.sock");
    let unix = UnixListener::bind(&path).unwrap();
    let patience = Some(Duration::from_secs(30));
    let over_tcp = || {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(patience).unwrap();
        stream
    };
    let over_unix = || {
        let stream = UnixStream::connect(&path).unwrap();
        stream.set_read_timeout(patience).unwrap();
        stream
    };
    let server = Activated::start(&folder, &tcp, &unix);
    assert_eq!(health(over_tcp()), "HTTP/1.1 200 OK");
    assert_eq!(health(over_unix()), "HTTP/1.1 200 OK");
    server.stop();
    // The manager holds the sockets: who comes between two servers waits and is served by the next.
    let (waiting_tcp, waiting_unix) = (over_tcp(), over_unix());
    let server = Activated::start(&folder, &tcp, &unix);
    assert_eq!(health(waiting_tcp), "HTTP/1.1 200 OK");
    assert_eq!(health(waiting_unix), "HTTP/1.1 200 OK");
    server.stop();
}

#[test]
fn a_socket_that_nobody_handed_over_stops_the_start() {
    let folder = project();
    let outcome = folder.zonai(&["serve"]);
    assert_eq!(outcome.code, 1, "{}", outcome.err);
    assert!(
        outcome.err.contains("inherited socket 0"),
        "{}",
        outcome.err
    );
}
