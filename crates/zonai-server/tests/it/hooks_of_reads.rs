//! Hooks around reads: they change what is asked, abort it, and see what was read.

use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use zonai_code::{HookContext, HookError, TableHooks};
use zonai_data::{Json, Payload};
use zonai_server::Additions;
use zonai_test::{Client, Project, TestServer};

/// Narrows lists to one row, hides the note `secret`, and notes what it sees.
#[derive(Clone, Default)]
struct Reads(Arc<Mutex<Vec<String>>>);

impl Reads {
    fn saw(&self, what: &str, json: &Json) -> Result<(), HookError> {
        self.0.lock().push(format!("{what} {json}"));
        // An after-hook undoes nothing.
        Err("too late".into())
    }
}

impl TableHooks for Reads {
    const TABLE: &'static str = "notes";

    async fn before_get(&self, _: &HookContext, payload: &mut Payload) -> Result<(), HookError> {
        match payload.get_mut("where") {
            Some(found) if found.to_string().contains("secret") => Err("not this one".into()),
            Some(found) if found.to_string().contains("panic") => panic!("as the test asks for"),
            _ => Ok(()),
        }
    }

    async fn after_get(&self, _: &HookContext, row: &Json) -> Result<(), HookError> {
        self.saw("get", row)
    }

    async fn before_list(&self, _: &HookContext, payload: &mut Payload) -> Result<(), HookError> {
        if let Some(limit) = payload.get_mut("limit") {
            *limit = json!(1);
        }
        Ok(())
    }

    async fn after_list(&self, _: &HookContext, page: &Json) -> Result<(), HookError> {
        let items = page.to_value()["items"].as_array().map(Vec::len);
        self.saw("list", &Json::from(&json!(items)))
    }

    async fn before_count(&self, context: &HookContext, _: &mut Payload) -> Result<(), HookError> {
        // Of a hook's own reads hooks run, too.
        let row = json!({"table": "notes", "where": {"text": {"eq": "a"}}});
        context
            .data
            .get(row)
            .await
            .map(drop)
            .map_err(|error| HookError(error.to_string()))
    }

    async fn after_count(&self, _: &HookContext, count: &Json) -> Result<(), HookError> {
        self.saw("count", count)
    }
}

async fn served(project: &Project) -> (TestServer, Reads) {
    let reads = Reads::default();
    let mut additions = Additions::default();
    additions.hooks.add_table(reads.clone());
    let server = TestServer::start_with(project, additions).await;
    for text in ["a", "b"] {
        let note = json!({"table": "notes", "object": {"text": text}});
        assert_eq!(server.client().json("POST", "/db", &note).await.status, 200);
    }
    (server, reads)
}

async fn get(client: &Client, path: &str, text: &str) -> (u16, Value) {
    let of = json!({"table": "notes", "where": {"text": {"eq": text}}});
    let reply = client.get(path, &of).await;
    (reply.status, reply.json())
}

#[tokio::test(flavor = "multi_thread")]
async fn hooks_of_reads_change_abort_and_see() {
    let project = Project::tasks();
    let (server, reads) = served(&project).await;
    let client = server.client();
    let two = json!({"table": "notes", "limit": 2});
    let listed = client.get("/db/list", &two).await.json();
    assert_eq!(listed["data"]["items"].as_array().unwrap().len(), 1);
    let (status, got) = get(&client, "/db", "b").await;
    assert_eq!((status, &got["data"]["text"]), (200, &json!("b")));
    let aborted = (400, json!({"error": "not this one"}));
    assert_eq!(get(&client, "/db", "secret").await, aborted);
    assert_eq!(get(&client, "/db/stream", "secret").await, aborted);
    let broken = (500, json!({"error": "Internal error"}));
    assert_eq!(get(&client, "/db", "panic").await, broken);
    let counted = client.get("/db/count", &json!({"table": "notes"})).await;
    assert_eq!(counted.json(), json!({"data": 2}));
    let seen: Vec<String> = reads.0.lock().clone();
    let names: Vec<&str> = seen
        .iter()
        .map(|seen| seen.split(' ').next().unwrap())
        .collect();
    assert_eq!(names, ["list", "get", "get", "count"], "{seen:?}");
    assert_eq!((seen[0].as_str(), seen[3].as_str()), ("list 1", "count 2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_that_rules_deny_runs_no_hook() {
    let project = Project::tasks();
    project.file("lib/src/rules/notes.yaml", "create: true\n");
    let (server, reads) = served(&project).await;
    let client = server.client();
    for path in ["/db", "/db/stream"] {
        assert_eq!(get(&client, path, "secret").await.0, 403, "{path}");
    }
    let count = client.get("/db/count", &json!({"table": "notes"})).await;
    assert_eq!(count.status, 403);
    assert_eq!(reads.0.lock().len(), 0);
}
