//! The server as the program starts it: one for a data folder, stopped by a signal, steered from outside.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use crate::run::{Folder, command};

/// A server that is killed with the test.
pub(crate) struct Served {
    pub(crate) child: Child,
    address: String,
    log: mpsc::Receiver<String>,
    reader: Option<JoinHandle<()>>,
}

impl Served {
    pub(crate) fn start(folder: &Folder, arguments: &[&str]) -> Self {
        let mut words = vec!["serve", "--host", "127.0.0.1", "--port", "0"];
        words.extend(arguments);
        Self::start_by(folder, command(&words))
    }

    /// The same by another command, which becomes the program.
    pub(crate) fn start_by(folder: &Folder, mut command: Command) -> Self {
        let mut child = command
            .current_dir(folder.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (send, log) = mpsc::sync_channel(1_000);
        let errors = BufReader::new(child.stderr.take().unwrap());
        let reader = std::thread::Builder::new()
            .name("log".into())
            .spawn(move || {
                // What nobody waits for is dropped: a full pipe would stop the server.
                errors
                    .lines()
                    .map_while(Result::ok)
                    .for_each(|line| drop(send.try_send(line)));
            });
        let reader = Some(reader.unwrap());
        let mut served = Self {
            child,
            address: String::new(),
            log,
            reader,
        };
        let line = served.wait_for("listening on http://");
        served.address = line.split("http://").nth(1).unwrap().to_owned();
        served
    }

    /// Where it listens, as `host:port`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// How many lines of the log that have come have these words.
    pub(crate) fn count(&self, words: &str) -> usize {
        let lines = self.log.try_iter();
        lines.filter(|line| line.contains(words)).count()
    }

    /// The next line of the log with these words.
    pub(crate) fn wait_for(&self, words: &str) -> String {
        loop {
            let line = self.log.recv_timeout(Duration::from_secs(20)).expect(words);
            if line.contains(words) {
                return line;
            }
        }
    }

    pub(crate) fn signal(&self, signal: &str) {
        let status = std::process::Command::new("kill")
            .args([signal, &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(status.success());
    }

    pub(crate) fn get(&self, path: &str) -> String {
        self.get_with(path, "")
    }

    /// The same with a header, its line end included.
    fn get_with(&self, path: &str, header: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{header}\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        drop(self.reader.take().map(JoinHandle::join));
    }
}

pub(crate) fn project() -> Folder {
    let folder = Folder::empty();
    assert_eq!(folder.zonai(&["init"]).code, 0);
    folder
}

const LIST: &str = "/db/list?body=%7B%22table%22%3A%22tasks%22%7D";

#[test]
fn a_new_project_serves_and_stops_well() {
    let folder = project();
    let mut served = Served::start(&folder, &[]);
    assert!(
        served
            .get(LIST)
            .ends_with("{\"data\":{\"items\":[],\"total\":0}}")
    );
    served.signal("-TERM");
    let status = served.child.wait().unwrap();
    assert_eq!((status.code(), status.signal()), (Some(0), None));
}

/// What comes of one create on a kept connection: its status, or `None` where the connection ended before it was answered.
fn create(stream: &mut BufReader<TcpStream>, title: &str) -> Option<u16> {
    let body = format!("{{\"table\":\"tasks\",\"object\":{{\"title\":\"{title}\"}}}}");
    let request = format!(
        "POST /db HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.get_mut().write_all(request.as_bytes()).ok()?;
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let read = stream.read_line(&mut head).unwrap_or(0);
        if read == 0 {
            assert_eq!(head, "", "an answer was cut");
            return None;
        }
    }
    let length = head.split("content-length: ").nth(1).unwrap();
    let length = length.split("\r\n").next().unwrap().parse().unwrap();
    let mut rest = vec![0; length];
    stream.read_exact(&mut rest).expect("an answer was cut");
    Some(head[9..12].parse().unwrap())
}

/// Promise S1d: what was begun is answered whole, and what was answered is there after the next start.
#[test]
fn a_stop_under_load_cuts_no_answer_and_loses_no_row() {
    let folder = project();
    folder.write(
        "lib/src/rate_limit/tasks.yaml",
        "table: tasks\nlimits: {create: none}\n",
    );
    let mut served = Served::start(&folder, &[]);
    let (made, hears) = mpsc::sync_channel(100_000);
    let clients: Vec<_> = (0..6)
        .map(|client| {
            let (address, made) = (served.address().to_owned(), made.clone());
            let asks = move || {
                let stream = TcpStream::connect(address).unwrap();
                stream
                    .set_read_timeout(Some(Duration::from_secs(20)))
                    .unwrap();
                let mut stream = BufReader::new(stream);
                for number in 0.. {
                    match create(&mut stream, &format!("{client}-{number}")) {
                        Some(200) => made.send(()).unwrap(),
                        Some(status) => assert_eq!(status, 503),
                        None => break,
                    }
                }
            };
            let thread = std::thread::Builder::new().name("client".into());
            thread.spawn(asks).unwrap()
        })
        .collect();
    drop(made);
    for _ in 0..200 {
        hears.recv_timeout(Duration::from_secs(20)).unwrap();
    }
    served.signal("-TERM");
    let answered = 200 + hears.iter().count();
    clients
        .into_iter()
        .for_each(|client| client.join().unwrap());
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    let served = Served::start(&folder, &[]);
    let count = served.get("/db/count?body=%7B%22table%22%3A%22tasks%22%7D");
    let (_, count) = count.split_once("{\"data\":").unwrap();
    let count: usize = count.trim_end_matches('}').parse().unwrap();
    // A row whose answer never came may be there; as many as there were connections at most.
    assert!(
        (answered..=answered + 6).contains(&count),
        "{count} of {answered}"
    );
}

/// Promise 9.3: a flood fills no log, and no token is looked at, good or not.
#[test]
fn refused_requests_are_not_logged_and_their_tokens_not_looked_at() {
    let folder = project();
    let served = Served::start(&folder, &[]);
    for _ in 0..100 {
        assert_eq!(&served.get(LIST)[9..12], "200");
    }
    served.count("");
    let with_token = |path: &str| {
        let answer = served.get_with(path, "authorization: Bearer none\r\n");
        answer[9..12].to_owned()
    };
    assert_eq!(with_token(&LIST.replace("list", "count")), "401");
    for _ in 0..100 {
        assert_eq!(with_token(LIST), "429");
    }
    assert_eq!(served.count(""), 0, "lines of the log");
}

#[test]
fn a_second_server_on_one_data_folder_is_refused() {
    let folder = project();
    let served = Served::start(&folder, &[]);
    let second = folder.zonai(&["serve", "--port", "0"]);
    assert_eq!(second.code, 1);
    assert!(
        second
            .err
            .contains(&format!("already in use by process {}", served.child.id())),
        "{}",
        second.err
    );
    let migrate = folder.zonai(&["db", "migrate"]);
    assert_eq!(migrate.code, 1);
}

#[test]
fn a_broken_policy_file_stops_the_start_with_its_place() {
    let folder = project();
    folder.write(
        "lib/src/rate_limit/tasks.yaml",
        "table: tasks\nlimits:\n  creat: 10/1m\n",
    );
    for words in [&["serve", "--port", "0"][..], &["check"][..]] {
        let outcome = folder.zonai(words);
        assert_eq!(outcome.code, 2, "{words:?}");
        let all = format!("{}{}", outcome.out, outcome.err);
        assert!(all.contains("lib/src/rate_limit/tasks.yaml:3:3: "), "{all}");
        assert!(all.contains("did you mean `create`?"), "{all}");
    }
}

#[test]
fn limits_are_explained_and_freed_while_it_runs() {
    let folder = project();
    folder.write(
        "lib/src/rate_limit/tasks.yaml",
        "table: tasks\nlimits:\n  list: 2/1h\n",
    );
    let served = Served::start(&folder, &[]);
    let statuses: Vec<String> = (0..3).map(|_| served.get(LIST)[9..12].to_owned()).collect();
    assert_eq!(statuses, ["200", "200", "429"]);
    let listed = folder.zonai(&["limits", "list", "--table", "tasks"]);
    assert!(
        listed.out.contains("lib/src/rate_limit/tasks.yaml:3:3"),
        "{}{}",
        listed.out,
        listed.err
    );
    let explained = folder.zonai(&["limits", "explain", "GET", LIST, "."]);
    assert!(
        explained.out.contains("refused: 429"),
        "{}{}",
        explained.out,
        explained.err
    );
    assert!(
        explained.out.contains("lib/src/rate_limit/tasks.yaml:3:3"),
        "{}",
        explained.out
    );
    let top = folder.zonai(&["limits", "top", "--format", "json"]);
    let top: serde_json::Value = serde_json::from_str(&top.out).unwrap();
    assert_eq!(top["refused"][0]["client"], "127.0.0.1");
    let freed = folder.zonai(&["limits", "free", "127.0.0.1", "--table", "tasks"]);
    assert_eq!(
        (freed.code, freed.out.as_str()),
        (0, "1 counter freed\n"),
        "{}",
        freed.err
    );
    assert_eq!(&served.get(LIST)[9..12], "200");
}

#[test]
fn stored_counters_are_freed_where_no_server_runs() {
    let folder = project();
    folder.write(
        "lib/src/rate_limit/tasks.yaml",
        "table: tasks\nlimits:\n  list: 1/1h\n",
    );
    let mut served = Served::start(&folder, &[]);
    assert_eq!(&served.get(LIST)[9..12], "200");
    served.signal("-INT");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    let top = folder.zonai(&["limits", "top"]);
    assert!(top.out.contains("127.0.0.1"), "{}{}", top.out, top.err);
    let freed = folder.zonai(&["limits", "free", "127.0.0.1"]);
    assert_eq!(
        (freed.code, freed.out.as_str()),
        (0, "1 counter freed\n"),
        "{}",
        freed.err
    );
    let served = Served::start(&folder, &[]);
    assert_eq!(&served.get(LIST)[9..12], "200");
    assert_eq!(&served.get(LIST)[9..12], "429");
}

/// Promise 7.6: the counters in memory, before they are refused; and those on file where no server runs.
#[test]
fn counters_are_shown_as_they_are_in_memory() {
    let folder = project();
    let mut served = Served::start(&folder, &[]);
    for _ in 0..3 {
        assert_eq!(&served.get(LIST)[9..12], "200");
    }
    let shown = |words: &[&str]| folder.zonai(&[&["limits", "counters"], words].concat());
    let text = shown(&[]);
    assert_eq!((text.code, text.err.as_str()), (0, ""), "{}", text.out);
    let row: Vec<&str> = text
        .out
        .lines()
        .last()
        .unwrap()
        .split_whitespace()
        .collect();
    let [client, table, operation, count, window, left, "s"] = row.as_slice() else {
        panic!("{}", text.out)
    };
    let what = [client, table, operation, count, window];
    assert_eq!(what, [&"127.0.0.1", &"tasks", &"list", &"3", &"1m"]);
    assert!((1..=60).contains(&left.parse().unwrap()), "{left}");
    let json = shown(&["--ip", "127.0.0.0/8", "-n", "1", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(
        (&json["total"], &json["counters"][0]["count"]),
        (&1.into(), &3.into())
    );
    for none in [
        ["--ip", "10.0.0.1"],
        ["--table", "notes"],
        ["--operation", "create"],
    ] {
        assert_eq!(shown(&none).out, "no counter is open\n", "{none:?}");
    }
    let misspelt = shown(&["--operation", "lst"]);
    assert_eq!(misspelt.code, 2);
    assert!(
        misspelt.err.contains("did you mean `list`?"),
        "{}",
        misspelt.err
    );
    served.signal("-INT");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    let stored = shown(&[]);
    assert!(stored.err.contains("no server runs"), "{}", stored.err);
    assert!(stored.out.contains("127.0.0.1"), "{}", stored.out);
}

#[test]
fn sighup_reads_the_policies_again_and_does_not_stop_the_server() {
    let folder = project();
    let mut served = Served::start(&folder, &[]);
    folder.write(
        "lib/src/rate_limit/tasks.yaml",
        "table: tasks\nlimits:\n  list: 3/1h\n",
    );
    served.signal("-HUP");
    // The answer comes from the running server. Bounded: each look starts a process.
    let taken = (0..200).any(|_| folder.zonai(&["limits", "list"]).out.contains("3/1h"));
    assert!(taken);
    assert_eq!(&served.get("/health")[9..12], "200");
    assert_eq!(served.child.try_wait().unwrap(), None);
}

#[test]
fn a_whole_request_is_explained_with_and_without_a_server() {
    let folder = project();
    folder.write(
        "zonai.yaml",
        "app: {trustedProxy: {headers: [X-Forwarded-For], proxies: [10.0.0.0/8]}}\n",
    );
    folder.write(
        "request.txt",
        "GET /db/list?body={\"table\":\"tasks\"} HTTP/1.1\nHost: api.example.org\n\
         X-Forwarded-For: 198.51.100.1, 203.0.113.7:51234\nX-Forwarded-For: 10.0.0.2\n\n",
    );
    let explain = |ip: &str| {
        let words = ["limits", "explain", "--request", "request.txt", "--ip", ip];
        let explained = folder.zonai(&words);
        assert_eq!(explained.code, 0, "{}", explained.err);
        explained
    };
    let without = explain("10.0.0.1");
    assert!(without.err.contains("no server runs"), "{}", without.err);
    let served = Served::start(&folder, &[]);
    let with = explain("10.0.0.1");
    assert_eq!(
        (with.out.as_str(), with.err.as_str()),
        (without.out.as_str(), "")
    );
    for step in [
        "client   203.0.113.7\n",
        "`10.0.0.2` is 10.0.0.2, inside trustedProxy.proxies: skipped\n",
        "`203.0.113.7:51234` is 203.0.113.7: taken\n",
        "outcome  admitted\n",
        "tasks  list ",
    ] {
        assert!(with.out.contains(step), "{step}{}", with.out);
    }
    let past_the_proxy = explain("192.0.2.1");
    assert!(
        past_the_proxy.out.contains("client   192.0.2.1\n"),
        "{}",
        past_the_proxy.out
    );
    drop(served);
}

/// Ten policy files with one fault each.
const TEN_FAULTS: [(&str, &str); 10] = [
    ("01.yaml", "table: tasks\nlimits:\n  creat: 10/1m\n"),
    ("02.yaml", "table: taks\nlimits: {}\n"),
    ("03.yaml", "table: tasks\nlimits:\n  get: ten\n"),
    ("04.yaml", "table: tasks\nlimits:\n  get: -1/1m\n"),
    ("05.yaml", "table: tasks\nlimits:\n  get: 5/0s\n"),
    ("06.yaml", "limits: {}\n"),
    ("07.yaml", "table: tasks\nlimits:\n  get: [5/1m\n"),
    ("08.yaml", "table: tasks\nmode: watch\nlimits: {}\n"),
    ("09.yaml", "table: tasks\nauth:\n  signIn: 5/1m\n"),
    (
        "10.dart",
        "final class A extends TableRateLimits<T, T> {\n  A() : super(tasks);\n  int createPolicy() { return 1 + 1; }\n}\nA main() => A();\n",
    ),
];

#[test]
fn a_folder_with_ten_faults_is_listed_with_ten_and_the_running_server_goes_on() {
    let folder = project();
    folder.write(
        "lib/src/rate_limit/tasks.yaml",
        "table: tasks\nlimits:\n  list: 2/1h\n",
    );
    let served = Served::start(&folder, &[]);
    for (name, text) in TEN_FAULTS {
        folder.write(&format!("lib/src/rate_limit/{name}"), text);
    }
    let checked = folder.zonai(&["check", "--format", "json"]);
    assert_eq!(checked.code, 2);
    let report: serde_json::Value = serde_json::from_str(&checked.out).unwrap();
    let faults = report["faults"].as_array().unwrap();
    for (name, _) in TEN_FAULTS {
        let path = format!("lib/src/rate_limit/{name}");
        let told = faults.iter().filter(|fault| fault["path"] == path).count();
        assert_eq!(told, 1, "{path}\n{}", checked.out);
    }
    assert_eq!(faults.len(), 10, "{}", checked.out);
    served.signal("-HUP");
    served.wait_for("the ones before stay in force");
    let statuses: Vec<String> = (0..3).map(|_| served.get(LIST)[9..12].to_owned()).collect();
    assert_eq!(statuses, ["200", "200", "429"], "the limits before");
    let health = served.get("/health");
    assert!(
        health.contains("\"faults\":10") && health.contains("\"version\":1"),
        "{health}"
    );
}

#[test]
fn without_a_server_the_stored_counters_are_explained_and_limits_are_shown_alike() {
    let folder = project();
    folder.write("zonai.yaml", "rateLimit: {shared: {confirm: 7/1m}}\n");
    folder.write(
        "lib/src/rate_limit/tasks.yaml",
        "table: tasks\nlimits:\n  list: 2/1h\n",
    );
    let mut served = Served::start(&folder, &[]);
    let statuses: Vec<String> = (0..3).map(|_| served.get(LIST)[9..12].to_owned()).collect();
    assert_eq!(statuses, ["200", "200", "429"]);
    let from_above = |words: &[&str]| {
        let output = command(words)
            .current_dir(folder.path().parent().unwrap())
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let path = folder.path().to_str().unwrap();
    let listed = folder.zonai(&["limits", "list"]).out;
    assert!(
        listed.contains("lib/src/rate_limit/tasks.yaml:3:3")
            && listed.contains("  zonai.yaml:1:22"),
        "{listed}"
    );
    assert_eq!(from_above(&["limits", "list", path]), listed);
    let explain = || {
        let words = ["limits", "explain", "GET", LIST, "--format", "json"];
        let explained = folder.zonai(&words);
        serde_json::from_str::<serde_json::Value>(&explained.out)
            .unwrap_or_else(|_| panic!("{}", explained.err))
    };
    let running = explain();
    served.signal("-TERM");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    assert_eq!(folder.zonai(&["limits", "list"]).out, listed);
    assert_eq!(from_above(&["limits", "list", path]), listed);
    let mut stored = explain();
    assert_eq!(
        (&running["outcome"], &stored["outcome"]),
        (&"refuse".into(), &"refuse".into())
    );
    // Time goes on between the two, and wall times are derived anew by each process.
    stored["retryAfter"] = running["retryAfter"].clone();
    for key in ["resetMs", "resetInMs"] {
        let (stored, running) = (
            &mut stored["counters"][0][key],
            &running["counters"][0][key],
        );
        assert!(
            stored.as_i64().unwrap().abs_diff(running.as_i64().unwrap()) < 60_000,
            "{key}"
        );
        *stored = running.clone();
    }
    assert_eq!(stored, running);
}
