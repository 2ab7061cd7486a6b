//! A program of one's own around the server: limits and hooks in code.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use zonai::{
    App, CustomOperation, HookContext, HookError, OperationError, OperationRequest, Performed,
    RateLimitPolicy, Server, TableHooks, TableRateLimits,
};

use crate::run::Folder;

struct TaskRateLimits;

impl TableRateLimits for TaskRateLimits {
    const TABLE: &'static str = "tasks";

    async fn create_policy(&self) -> Option<RateLimitPolicy> {
        Some(RateLimitPolicy::per_minute(10))
    }
}

/// A project with the tables `tasks` and `notes`, open to all.
fn project() -> Folder {
    let folder = Folder::with("app: {tables: {users: {auth: [password]}}}\n");
    folder.write(
        ".env",
        "JWT_SECRET=0123456789abcdef0123456789abcdef\nPASSWORD_SECRET=fedcba9876543210fedcba9876543210\n",
    );
    folder.write(
        "lib/src/schemas/001.sql",
        "CREATE TABLE tasks (id TEXT PRIMARY KEY, title TEXT NOT NULL);\n\
         CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT NOT NULL);\n\
         CREATE TABLE secrets (id TEXT PRIMARY KEY, text TEXT NOT NULL);\n\
         CREATE TABLE users (id TEXT PRIMARY KEY, email TEXT NOT NULL UNIQUE, password TEXT);\n",
    );
    for table in ["tasks", "notes"] {
        let rules = "view: true\nlist: true\ncreate: true\nupdate: true\ndelete: true\n";
        folder.write(&format!("lib/src/rules/{table}.yaml"), rules);
    }
    folder
}

fn app(folder: &Folder) -> App {
    App::open(folder.path()).unwrap().listen_on_free_port()
}

/// Status and body of one request.
async fn send(server: &Server, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let mut stream = TcpStream::connect(server.addresses()[0]).await.unwrap();
    let body = body.to_string();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    stream
        .write_all(format!("{head}{body}").as_bytes())
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (
        head[9..12].parse().unwrap(),
        serde_json::from_str(body).unwrap_or_default(),
    )
}

async fn create(server: &Server, title: &str) -> (u16, Value) {
    let task = json!({"table": "tasks", "object": {"title": title}});
    send(server, "POST", "/db", &task).await
}

const LIST: &str = "/db/list?body=%7B%22table%22%3A%22tasks%22%7D";

async fn titles(server: &Server) -> Vec<String> {
    let (status, body) = send(server, "GET", LIST, &json!({})).await;
    assert_eq!(status, 200, "{body}");
    let items = body["data"]["items"].as_array().unwrap();
    let mut titles: Vec<String> = items
        .iter()
        .map(|item| item["title"].as_str().unwrap().to_owned())
        .collect();
    titles.sort();
    titles
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_in_code_refuse_the_eleventh_create() {
    let folder = project();
    let server = app(&folder)
        .rate_limits(TaskRateLimits)
        .start()
        .await
        .unwrap();
    for _ in 0..10 {
        assert_eq!(create(&server, "x").await.0, 200);
    }
    let (status, body) = create(&server, "x").await;
    assert_eq!(
        (status, &body["collection"], &body["operation"]),
        (429, &json!("tasks"), &json!("create"))
    );
    assert_eq!(titles(&server).await.len(), 10, "reads go on");
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn limits_in_a_file_and_in_code_fail_every_check_and_name_both_places() {
    let folder = project();
    folder.write(
        "lib/src/rate_limit/tasks.yaml",
        "table: tasks\nlimits: {}\n",
    );
    let faults = app(&folder).rate_limits(TaskRateLimits).check().unwrap();
    let [fault] = faults.as_slice() else {
        panic!("{faults:?}")
    };
    let text = fault.to_string();
    assert!(
        text.contains("Table rate limits already registered for tasks"),
        "{text}"
    );
    assert!(
        text.contains("TaskRateLimits") && text.contains("rate_limit/tasks.yaml:2:1"),
        "{text}"
    );
    let server = app(&folder)
        .rate_limits(TaskRateLimits)
        .start()
        .await
        .unwrap();
    let expected = json!({"error": "Table rate limits already registered for tasks"});
    for (method, path) in [
        ("POST", "/db"),
        ("GET", LIST),
        ("GET", "/nowhere"),
        ("DELETE", "/auth"),
    ] {
        let answer = send(
            &server,
            method,
            path,
            &json!({"table": "notes", "object": {"text": "x"}}),
        )
        .await;
        assert_eq!(answer, (500, expected.clone()), "{method} {path}");
    }
    let (status, health) = send(&server, "GET", "/health", &json!({})).await;
    assert_eq!((status, &health["status"]), (200, &json!("degraded")));
    let listed = folder.zonai(&["limits", "list"]);
    assert_eq!(listed.code, 0, "the admin socket goes on: {}", listed.err);
    let explained = folder.zonai(&["limits", "explain", "GET", LIST]);
    for words in ["500", "TaskRateLimits", "lib/src/rate_limit/tasks.yaml:2:1"] {
        assert!(
            explained.out.contains(words),
            "{words}: {}{}",
            explained.out,
            explained.err
        );
    }
    server.stop().await.unwrap();
}

struct Taks;

impl TableRateLimits for Taks {
    const TABLE: &'static str = "taks";
}

impl TableHooks for Taks {
    const TABLE: &'static str = "taks";
}

impl CustomOperation for Taks {
    const TABLE: &'static str = "taks";
    const NAME: &'static str = "finish";

    async fn perform(&self, request: OperationRequest) -> Result<Performed, OperationError> {
        request.change(|_, _| Ok(())).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_does_not_exist_stops_the_start_and_the_nearest_is_named() {
    let folder = project();
    for app in [
        app(&folder).rate_limits(Taks),
        app(&folder).hooks(Taks),
        app(&folder).operation(Taks),
    ] {
        let error = app.start().await.err().unwrap();
        assert_eq!(error.exit_code(), 2);
        let text = error.to_string();
        assert!(
            text.contains("there is no table `taks`; did you mean `tasks`?"),
            "{text}"
        );
    }
}

/// What the hooks of `tasks` do is told by the title.
#[derive(Clone, Default)]
struct Titles {
    before: Arc<AtomicUsize>,
    after: Arc<AtomicUsize>,
}

impl TableHooks for Titles {
    const TABLE: &'static str = "tasks";

    async fn before_create(
        &self,
        context: &HookContext,
        task: &mut Map<String, Value>,
    ) -> Result<(), HookError> {
        self.before.fetch_add(1, Ordering::SeqCst);
        match task["title"].as_str().unwrap_or_default() {
            "no" => Err("a task needs another title".into()),
            "panic" => panic!("as the test asks for"),
            "again" => {
                let again = json!({"table": "tasks", "object": {"title": "again"}});
                let created = context
                    .data
                    .create(again.as_object().cloned().unwrap_or_default())
                    .await;
                created
                    .map(drop)
                    .map_err(|error| HookError(error.to_string()))
            }
            "upper" => {
                task.insert("title".to_owned(), json!("UPPER"));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn after_create(&self, _: &HookContext, row: &Value) -> Result<(), HookError> {
        self.after.fetch_add(1, Ordering::SeqCst);
        match row["title"].as_str() {
            Some("late no") => Err("too late".into()),
            Some("late panic") => panic!("as the test asks for"),
            _ => Ok(()),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_change_and_abort_before_and_cannot_undo_after() {
    let folder = project();
    let hooks = Titles::default();
    let server = app(&folder).hooks(hooks.clone()).start().await.unwrap();
    assert_eq!(
        create(&server, "no").await,
        (400, json!({"error": "a task needs another title"}))
    );
    assert_eq!(
        create(&server, "panic").await,
        (500, json!({"error": "Internal error"}))
    );
    assert_eq!(hooks.after.load(Ordering::SeqCst), 0, "nothing was written");
    assert_eq!(titles(&server).await, Vec::<String>::new());
    assert_eq!(create(&server, "upper").await.1["data"]["title"], "UPPER");
    assert_eq!(create(&server, "late no").await.0, 200);
    assert_eq!(create(&server, "late panic").await.0, 200);
    assert_eq!(
        titles(&server).await,
        ["UPPER", "late no", "late panic"],
        "the server goes on"
    );
    server.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_that_call_each_other_end_at_ten() {
    let folder = project();
    let hooks = Titles::default();
    let server = app(&folder).hooks(hooks.clone()).start().await.unwrap();
    let (status, body) = create(&server, "again").await;
    assert_eq!(status, 400);
    assert!(
        body["error"]
            .as_str()
            .unwrap()
            .contains("more than 10 deep"),
        "{body}"
    );
    assert_eq!(
        hooks.before.load(Ordering::SeqCst),
        11,
        "the request's own and ten below it"
    );
    assert_eq!(
        titles(&server).await,
        Vec::<String>::new(),
        "the innermost no aborts all of them"
    );
    server.stop().await.unwrap();
}

/// Counts how often it was asked.
struct Guard<const OF: char>(Arc<AtomicUsize>);

impl TableHooks for Guard<'s'> {
    const TABLE: &'static str = "secrets";

    async fn before_create(
        &self,
        _: &HookContext,
        _: &mut Map<String, Value>,
    ) -> Result<(), HookError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

impl TableHooks for Guard<'t'> {
    const TABLE: &'static str = "tasks";

    async fn before_create(
        &self,
        _: &HookContext,
        _: &mut Map<String, Value>,
    ) -> Result<(), HookError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_do_not_run_when_a_request_is_refused_or_a_rule_denies() {
    let folder = project();
    let (secrets, tasks) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let server = app(&folder)
        .rate_limits(TaskRateLimits)
        .hooks(Guard::<'s'>(Arc::clone(&secrets)))
        .hooks(Guard::<'t'>(Arc::clone(&tasks)))
        .start()
        .await
        .unwrap();
    let secret = json!({"table": "secrets", "object": {"text": "x"}});
    assert_eq!(
        send(&server, "POST", "/db", &secret).await.0,
        403,
        "no rules file: admins only"
    );
    assert_eq!(secrets.load(Ordering::SeqCst), 0);
    for _ in 0..15 {
        create(&server, "x").await;
    }
    assert_eq!(
        tasks.load(Ordering::SeqCst),
        10,
        "refused requests reach no hook"
    );
    server.stop().await.unwrap();
}

/// Counts sign-ups and sign-ins.
struct Sessions(Arc<AtomicUsize>, Arc<AtomicUsize>);

impl zonai::AccountHooks for Sessions {
    const TABLE: &'static str = "users";

    async fn on_sign_up(&self, _: &HookContext, user: &Value) -> Result<(), HookError> {
        assert_eq!(user["email"], "ann@example.org");
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }

    async fn on_sign_in(&self, _: &HookContext, _: &Value) -> Result<(), HookError> {
        self.1.fetch_add(1, Ordering::SeqCst);
        Err("a session that is open stays open".into())
    }
}

/// Puts a plan into tokens.
struct Plans;

impl zonai::AccountHooks for Plans {
    const TABLE: &'static str = "users";

    fn claims(&self, user: &Map<String, Value>) -> Map<String, Value> {
        assert!(!user.contains_key("password"), "{user:?}");
        let plan = match user["email"].as_str() {
            Some("ann@example.org") => "paid",
            Some("eve@example.org") => panic!("as the test asks for"),
            _ => "free",
        };
        Map::from_iter([("plan".to_owned(), plan.into())])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_see_what_a_program_puts_into_tokens() {
    let folder = project();
    folder.write(
        "lib/src/rules/secrets.yaml",
        "list: \"@claims.plan = 'paid'\"\n",
    );
    let server = app(&folder).account_hooks(Plans).start().await.unwrap();
    let mut statuses = Vec::new();
    for name in ["ann", "bob", "eve"] {
        let account =
            json!({"email": format!("{name}@example.org"), "password": "correct horse battery"});
        let (status, answer) = send(&server, "POST", "/auth/sign-up", &account).await;
        let token = answer["data"]["accessToken"]
            .as_str()
            .unwrap_or("none")
            .to_owned();
        let listed = send_as(
            &server,
            &token,
            "/db/list?body=%7B%22table%22:%22secrets%22%7D",
        )
        .await;
        statuses.push((status, listed));
    }
    assert_eq!(statuses, [(200, 200), (200, 403), (500, 401)]);
    server.stop().await.unwrap();
}

/// The status of a `GET` with a token.
async fn send_as(server: &Server, token: &str, path: &str) -> u16 {
    let mut stream = TcpStream::connect(server.addresses()[0]).await.unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer[9..12].parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn account_hooks_see_sign_ups_and_sign_ins() {
    let folder = project();
    let (up, into) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let server = app(&folder)
        .account_hooks(Sessions(Arc::clone(&up), Arc::clone(&into)))
        .start()
        .await
        .unwrap();
    let ann = json!({"email": "ann@example.org", "password": "correct horse battery"});
    let wrong = json!({"email": "ann@example.org", "password": "wrong horse battery"});
    assert_eq!(send(&server, "POST", "/auth/sign-up", &ann).await.0, 200);
    assert_eq!(send(&server, "POST", "/auth/sign-in", &ann).await.0, 200);
    assert_eq!(send(&server, "POST", "/auth/sign-in", &wrong).await.0, 401);
    assert_eq!(
        (up.load(Ordering::SeqCst), into.load(Ordering::SeqCst)),
        (1, 1)
    );
    server.stop().await.unwrap();
}
