//! Sign-ins of the real program: what was used up before a `kill -9` is used up after it (promise 7.2), and what a refused
//! one costs.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;
use std::time::Duration;

use crate::run::{Folder, command};
use crate::serve::Served;

const RIGHT: &str = "correct horse battery";
const WRONG: &str = "wrong horse battery";

/// `users` signs in 4 times an hour and fails twice; there is a table of admins.
fn project() -> Folder {
    let folder = Folder::empty();
    assert_eq!(folder.zonai(&["init"]).code, 0);
    let yaml = "app:\n  tables:\n    users: {auth: [password]}\n    staff: {admin: true}\n";
    folder.write("zonai.yaml", yaml);
    folder.write(
        "lib/src/schemas/002_accounts.sql",
        "CREATE TABLE users (id TEXT PRIMARY KEY, email TEXT NOT NULL, password TEXT);\n\
         CREATE TABLE staff (id TEXT PRIMARY KEY, email TEXT NOT NULL, password TEXT);\n",
    );
    folder.write(
        "lib/src/rate_limit/users.yaml",
        "table: users\nauth:\n  signIn: 4/1h\n  failedSignIn: 2/1h\n",
    );
    folder
}

impl Served {
    /// A request with a JSON body: status and body.
    fn post(&self, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        let length = body.len();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (_, text) = answer.split_once("\r\n\r\n").expect("a whole answer");
        (answer[9..12].parse().unwrap(), text.to_owned())
    }

    fn sign_in(&self, email: &str, password: &str) -> (u16, String) {
        let body = serde_json::json!({"email": email, "password": password});
        self.post("/auth/sign-in", &body.to_string())
    }

    /// The processor time that it has taken, in the ticks of the system.
    fn ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        let (_, fields) = stat.rsplit_once(')').unwrap();
        let fields: Vec<&str> = fields.split_whitespace().collect();
        fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
    }

    /// `kill -9`, at once: the answer to the last request is all that it had time for.
    fn kill(&mut self) {
        self.signal("-KILL");
        assert_eq!(self.child.wait().unwrap().signal(), Some(9));
    }
}

#[test]
fn a_used_up_sign_in_window_is_still_refused_after_kill_9() {
    let folder = project();
    let mut served = Served::start(&folder, &[]);
    let account = serde_json::json!({"email": "ada@x.org", "password": RIGHT}).to_string();
    // Counts as the first sign-in.
    assert_eq!(served.post("/auth/sign-up", &account).0, 200);
    assert_eq!(served.sign_in("ada@x.org", WRONG).0, 401);
    assert_eq!(served.sign_in("ada@x.org", WRONG).0, 401);
    served.kill();

    let mut served = Served::start(&folder, &[]);
    let (status, text) = served.sign_in("ada@x.org", RIGHT);
    assert_eq!(status, 429, "{text}");
    assert!(text.contains(r#""operation":"failedSignIn""#), "{text}");
    // That one was counted in no other operation: this is the fourth sign-in.
    assert_eq!(served.sign_in("bob@x.org", WRONG).0, 401);
    served.kill();

    let served = Served::start(&folder, &[]);
    let (status, text) = served.sign_in("bob@x.org", RIGHT);
    assert_eq!(status, 429, "{text}");
    let expected =
        r#"{"error":"Rate limit exceeded","collection":"users","operation":"signIn","retryAfter":"#;
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn an_admin_is_added_signs_in_and_guesses_are_still_refused_after_kill_9() {
    let folder = project();
    let mut served = Served::start(&folder, &[]);
    let mut add = command(&["admin", "add", "root@x.org"])
        .current_dir(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    writeln!(add.stdin.take().unwrap(), "{RIGHT}").unwrap();
    assert!(add.wait().unwrap().success(), "beside the running server");
    let body = |password: &str| {
        let body =
            serde_json::json!({"type": "adminSignIn", "email": "root@x.org", "password": password});
        body.to_string()
    };
    let (status, text) = served.post("/auth/admin", &body(RIGHT));
    assert_eq!(status, 200, "{text}");
    assert!(text.starts_with(r#"{"data":{"accessToken":""#), "{text}");
    // Wrong in form: counted without a hash.
    for _ in 0..9 {
        assert_eq!(served.post("/auth/admin", "{}").0, 400);
    }
    served.kill();
    let served = Served::start(&folder, &[]);
    let (status, text) = served.post("/auth/admin", &body(RIGHT));
    assert_eq!(status, 429, "{text}");
    assert!(
        text.contains(r#""collection":"__admin_auth__","operation":"adminAuthenticate""#),
        "{text}"
    );
}

/// Promises 1.2 and 9.3, watched from outside: what is refused is not hashed, whichever limit refuses it.
#[test]
fn a_refused_sign_in_costs_no_hash() {
    for limits in [
        "signIn: 5/1h\n  failedSignIn: none",
        "signIn: none\n  failedSignIn: 4/1h",
    ] {
        let folder = project();
        let policy = format!("table: users\nauth:\n  {limits}\n");
        folder.write("lib/src/rate_limit/users.yaml", &policy);
        let served = Served::start(&folder, &[]);
        let account = serde_json::json!({"email": "ada@x.org", "password": RIGHT}).to_string();
        assert_eq!(served.post("/auth/sign-up", &account).0, 200);
        let start = served.ticks();
        for _ in 0..4 {
            assert_eq!(served.sign_in("ada@x.org", WRONG).0, 401, "{limits}");
        }
        let hashed = served.ticks();
        for _ in 0..20 {
            assert_eq!(served.sign_in("ada@x.org", WRONG).0, 429, "{limits}");
        }
        let (four, twenty) = (hashed - start, served.ticks() - hashed);
        assert!(
            twenty * 2 < four,
            "{limits}: 4 hashes {four}, 20 refusals {twenty}"
        );
    }
}
