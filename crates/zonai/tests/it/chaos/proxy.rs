//! A real nginx in front, killed and started again. Without the program all requests go directly, and it says so; not in CI.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::run::Folder;

pub(super) struct Proxy {
    folder: Folder,
    child: Child,
    pub(super) address: SocketAddr,
}

impl Proxy {
    pub(super) fn start(address: SocketAddr, upstream: SocketAddr) -> Option<Self> {
        let folder = Folder::empty();
        folder.write(
            "nginx.conf",
            &config(folder.path().to_str().unwrap(), address, upstream),
        );
        let Some(child) = spawn(&folder) else {
            let reason = "nginx is not installed; on Debian: apt-get install nginx";
            assert!(std::env::var_os("CI").is_none(), "{reason}");
            println!("skipped: {reason}");
            return None;
        };
        let proxy = Self {
            folder,
            child,
            address,
        };
        proxy.wait();
        Some(proxy)
    }

    pub(super) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// After [`Self::kill`].
    pub(super) fn again(&mut self) {
        self.child = spawn(&self.folder).expect("it started before");
        self.wait();
    }

    fn wait(&self) {
        for _ in 0..3_000 {
            if TcpStream::connect(self.address).is_ok() {
                return;
            }
            std::thread::park_timeout(Duration::from_millis(10));
        }
        panic!("nginx does not start: {}", self.folder.read("log"));
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(folder: &Folder) -> Option<Child> {
    // Debian keeps servers where a user's PATH does not look.
    let known = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"];
    let program = known
        .into_iter()
        .find(|path| fs::exists(path).unwrap_or(false))?;
    // One process instead of a master and its workers, so that killing it leaves none behind.
    Command::new(program)
        .args(["-e", "stderr", "-g", "master_process off;", "-c"])
        .arg(folder.path().join("nginx.conf"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(fs::File::create(folder.path().join("log")).unwrap())
        .spawn()
        .ok()
}

/// It keeps connections for as long as the run lasts: a connection that ends for another reason is a fault.
fn config(folder: &str, address: SocketAddr, upstream: SocketAddr) -> String {
    let paths: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("  {kind}_temp_path {folder}/{kind};\n"))
        .concat();
    format!(
        "daemon off;\nworker_processes 1;\npid {folder}/pid;\nerror_log stderr error;\n\
         events {{ worker_connections 512; }}\nhttp {{\n  access_log off;\n{paths}\
         \x20 keepalive_requests 1000000000;\n  keepalive_timeout 1h;\n\
         \x20 upstream zonai {{ server {upstream} max_fails=0; keepalive 16; keepalive_requests 1000000000; }}\n\
         \x20 server {{\n    listen {address};\n    location / {{\n      proxy_pass http://zonai;\n\
         \x20     proxy_http_version 1.1;\n      proxy_set_header Connection \"\";\n\
         \x20     proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n      proxy_next_upstream off;\n\
         \x20   }}\n  }}\n}}\n"
    )
}
