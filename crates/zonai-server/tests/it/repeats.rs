//! A client that goes on asking on one connection: what it hears is what it would hear on a new one.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use zonai_test::{Client, Project, Reply, TestServer, read_reply, target};

use crate::reload::ask;
use crate::{DEFAULT, list, use_up_lists};

/// The same request again on a connection.
async fn again(stream: &mut TcpStream, request: &[u8]) -> Reply {
    stream.write_all(request).await.unwrap();
    read_reply(stream, false).await
}

fn list_of(client: &Client, body: &Value) -> Vec<u8> {
    client.request("GET", &target("/db/list", body), None)
}

/// How many refusals of lists of notes the server has noted.
async fn noted(project: &Project) -> u64 {
    let top = ask(project, &json!({"command": "limits.top"})).await;
    let places = top["refused"].as_array().expect("a list").iter();
    let refused = places
        .filter(|place| place["collection"] == "notes" && place["operation"] == "list")
        .map(|place| place["refused"].as_u64().unwrap());
    refused.sum()
}

/// A client that has used up its lists of notes, and a connection of its own that it keeps.
async fn used_up(project: &Project) -> (TestServer, Client, TcpStream) {
    let server = TestServer::start(project).await;
    let client = server.client();
    use_up_lists(&client, "notes", DEFAULT).await;
    let kept = client.connect().await;
    (server, client, kept)
}

/// Promise 4: the seconds count down, whoever asks how.
#[tokio::test(flavor = "multi_thread")]
async fn a_repeated_refusal_tells_what_a_new_one_tells() {
    let project = Project::tasks();
    let (server, client, mut kept) = used_up(&project).await;
    let request = list_of(&client, &json!({"table": "notes"}));
    for step in 0_u32..240 {
        if step % 4 == 0 {
            server.hand.advance_ms(330);
        }
        let repeated = again(&mut kept, &request).await;
        assert_eq!(repeated.status, 429, "step {step}");
        let new = list(&client, "notes").await;
        assert_eq!(repeated.shown(), new.shown(), "step {step}");
    }
}

/// Promise 2: the window closes for who goes on asking as for everyone, and admits as many as ever.
#[tokio::test(flavor = "multi_thread")]
async fn who_goes_on_asking_is_admitted_when_the_window_closes() {
    let project = Project::tasks();
    let server = TestServer::start(&project).await;
    let client = server.client();
    let mut kept = client.connect().await;
    let request = list_of(&client, &json!({"table": "notes"}));
    for _ in 0..3 {
        let mut statuses = Vec::new();
        for _ in 0..DEFAULT + 20 {
            statuses.push(again(&mut kept, &request).await.status);
        }
        let (admitted, refused) = statuses.split_at(DEFAULT);
        assert!(admitted.iter().all(|status| *status == 200));
        assert!(refused.iter().all(|status| *status == 429));
        server.hand.advance_ms(59_999);
        assert_eq!(again(&mut kept, &request).await.status, 429);
        server.hand.advance_ms(1);
    }
}

/// What is refused on the short way is noted as on the long one, and other questions are not mistaken for it.
#[tokio::test(flavor = "multi_thread")]
async fn each_repeated_refusal_is_noted_and_no_other_table_is_refused() {
    let project = Project::tasks();
    let (_server, client, mut kept) = used_up(&project).await;
    for limit in 1..=50 {
        // Another query each time, of the same bucket.
        let request = list_of(&client, &json!({"table": "notes", "limit": limit}));
        assert_eq!(again(&mut kept, &request).await.status, 429, "{limit}");
    }
    // Each, though the list forgets a half of what was every ten seconds.
    let noted = noted(&project).await;
    assert!((25..=50).contains(&noted), "{noted}");
    let other = list_of(&client, &json!({"table": "tasks"}));
    assert_eq!(again(&mut kept, &other).await.status, 200);
    let own = list_of(&client, &json!({"table": "notes"}));
    for _ in 0..5 {
        assert_eq!(again(&mut kept, &own).await.status, 429);
    }
    assert_eq!(again(&mut kept, &other).await.status, 200);
    let get = client.request("GET", &target("/db", &json!({"table": "notes"})), None);
    assert_ne!(again(&mut kept, &get).await.status, 429);
}

/// Promise 8.1: a policy that is raised while a client goes on asking admits it.
#[tokio::test(flavor = "multi_thread")]
async fn who_goes_on_asking_is_admitted_by_a_raised_policy() {
    let project = Project::tasks();
    let (server, client, mut kept) = used_up(&project).await;
    let request = list_of(&client, &json!({"table": "notes"}));
    for (limit, status) in [(100, 429), (101, 200), (101, 429), (90, 429), (102, 200)] {
        let policy = format!("table: notes\nlimits: {{list: {limit}/1m}}\n");
        project.file("lib/src/rate_limit/notes.yaml", &policy);
        assert!(server.running.reload());
        assert_eq!(again(&mut kept, &request).await.status, status, "{limit}");
        for _ in 0..4 {
            let refused = again(&mut kept, &request).await;
            assert_eq!(refused.status, 429, "{limit}");
            let told = refused.header("x-ratelimit-limit").unwrap();
            assert_eq!(told, limit.to_string());
        }
    }
}
