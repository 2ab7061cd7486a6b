//! The real proxies, each started on a free loopback port from its file in `crates/zonai-http/tests/proxies`.
//!
//! Ended when dropped. Where a program is not installed its tests are skipped with the reason, but not in CI.

use std::fs::File;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::net::TcpStream;
use zonai_test::Project;

/// How long a program may take to listen; a loaded machine needs seconds.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it is asked meanwhile.
const LOOK: Duration = Duration::from_millis(10);

/// A proxy that runs.
pub(super) struct Proxy {
    child: Child,
    pub(super) address: SocketAddr,
    _folder: Project,
}

impl Proxy {
    pub(super) async fn nginx(upstream: &str) -> Option<Self> {
        // One process instead of a master and its workers, so that killing it leaves none behind.
        let single = ["-e", "stderr", "-g", "master_process off;", "-c"];
        Self::start("nginx", &single, "nginx.conf", upstream).await
    }

    pub(super) async fn haproxy_http(upstream: &str) -> Option<Self> {
        Self::start("haproxy", &["-db", "-f"], "haproxy-http.cfg", upstream).await
    }

    pub(super) async fn haproxy_proxy_v2(upstream: &str) -> Option<Self> {
        Self::start("haproxy", &["-db", "-f"], "haproxy-proxy-v2.cfg", upstream).await
    }

    pub(super) async fn caddy(upstream: &str) -> Option<Self> {
        let run = ["run", "--adapter", "caddyfile", "--config"];
        Self::start("caddy", &run, "Caddyfile", upstream).await
    }

    /// `None` where the program is not installed.
    async fn start(name: &str, arguments: &[&str], template: &str, upstream: &str) -> Option<Self> {
        let program = installed(name)?;
        for _ in 0..5 {
            let folder = Project::new();
            let address = free_port();
            let config = fill_in(template, folder.folder(), address, upstream);
            let log = folder.path("log");
            let mut command = Command::new(&program);
            command.args(arguments).arg(&config);
            let child = command
                .env("HOME", folder.folder())
                .current_dir(folder.folder())
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(File::create(&log).unwrap())
                .spawn()
                .unwrap();
            let mut proxy = Self {
                child,
                address,
                _folder: folder,
            };
            if proxy.listens().await {
                return Some(proxy);
            }
            // Another program may have taken the port meanwhile.
            println!(
                "{name}: {}",
                std::fs::read_to_string(&log).unwrap_or_default()
            );
        }
        panic!("{name} does not start");
    }

    /// Waits until it accepts; `false` where it ended before.
    async fn listens(&mut self) -> bool {
        let accepts = async {
            while TcpStream::connect(self.address).await.is_err() {
                if self.child.try_wait().unwrap().is_some() {
                    return false;
                }
                tokio::time::sleep(LOOK).await;
            }
            // Not another program on the same port, while this one found it taken.
            self.child.try_wait().unwrap().is_none()
        };
        tokio::time::timeout(PATIENCE, accepts)
            .await
            .unwrap_or(false)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn installed(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Debian keeps servers where a user's PATH does not look.
    let folders =
        std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let found = folders
        .map(|folder| folder.join(name))
        .find(|program| program.is_file());
    if found.is_none() {
        let reason = format!("{name} is not installed; on Debian: apt-get install {name}");
        assert!(std::env::var_os("CI").is_none(), "{reason}");
        println!("skipped: {reason}");
    }
    found
}

fn free_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap()
}

fn fill_in(template: &str, folder: &Path, listen: SocketAddr, upstream: &str) -> PathBuf {
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../zonai-http/tests/proxies");
    let text = std::fs::read_to_string(templates.join(template))
        .unwrap()
        .replace("@LISTEN@", &listen.to_string())
        .replace("@ADDRESS@", &listen.ip().to_string())
        .replace("@PORT@", &listen.port().to_string())
        .replace("@UPSTREAM@", upstream)
        .replace("@DIR@", folder.to_str().unwrap());
    let config = folder.join(template);
    std::fs::write(&config, text).unwrap();
    config
}
