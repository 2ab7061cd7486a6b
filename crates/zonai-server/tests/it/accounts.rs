//! Accounts end to end: sign-in, tokens, mails and admins over HTTP, and the limits that fit them.

mod admins;
mod counters;
mod doors;
mod failed;
mod input;
mod mails;
mod office;
mod restart;
mod routes;
mod tokens;

use rusqlite::Connection;
use serde_json::{Value, json};
use zonai_test::{Client, MailServer, Project, Reply};

const GOOD: &str = "correct horse battery";
const BAD: &str = "wrong horse battery";

/// A table of users with every way to sign in, one of admins, and one that is open to everybody.
const SCHEMA: &str = "
    CREATE TABLE users (
        id TEXT PRIMARY KEY, email TEXT NOT NULL, password TEXT, nick TEXT UNIQUE,
        age INTEGER CHECK (age >= 18), emailVerified BOOLEAN NOT NULL DEFAULT FALSE);
    CREATE TABLE staff (id TEXT PRIMARY KEY, email TEXT NOT NULL, password TEXT);
    CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT NOT NULL);
";

/// A project with accounts. `limits` are those of `users`, one `operation: limit` each.
fn project(limits: &[&str]) -> Project {
    project_with("", None, limits)
}

/// The same with further lines of `zonai.yaml` and a mail server.
fn project_with(settings: &str, mail: Option<&MailServer>, limits: &[&str]) -> Project {
    let project = Project::new();
    let mail = mail.map_or_else(String::new, |mail| {
        format!(
            "  email: {{host: 127.0.0.1, port: {}, tls: none, from: shop@example.com}}\n",
            mail.port
        )
    });
    let yaml = format!(
        "listen: [\"127.0.0.1:0\"]\n{settings}app:\n{mail}  tables:\n    \
         users: {{auth: [password, otp, magicLink]}}\n    staff: {{admin: true}}\n"
    );
    project.file("zonai.yaml", &yaml);
    project.file("lib/src/schemas/001_accounts.sql", SCHEMA);
    project.open_to_all("notes");
    if !limits.is_empty() {
        let limits: String = limits.iter().map(|limit| format!("  {limit}\n")).collect();
        project.file(
            "lib/src/rate_limit/users.yaml",
            &format!("table: users\nauth:\n{limits}"),
        );
    }
    project
}

/// The first column of the first row of a query on the project's database.
fn sql<T: rusqlite::types::FromSql>(project: &Project, query: &str) -> T {
    let connection = Connection::open(project.path(".zonai/data/zonai.sqlite")).unwrap();
    connection.query_row(query, [], |row| row.get(0)).unwrap()
}

/// Makes the account of `users` with that address an admin as well, with its password.
fn also_staff(project: &Project, email: &str) {
    let connection = Connection::open(project.path(".zonai/data/zonai.sqlite")).unwrap();
    let copy = "INSERT INTO staff SELECT id, email, password FROM users WHERE email = ?1";
    assert_eq!(connection.execute(copy, [email]).unwrap(), 1);
}

async fn sign_in(client: &Client, email: &str, password: &str) -> Reply {
    client
        .json(
            "POST",
            "/auth/sign-in",
            &json!({"email": email, "password": password}),
        )
        .await
}

/// Makes an account and gives its token.
async fn sign_up(client: &Client, email: &str) -> String {
    let body = json!({"email": email, "password": GOOD});
    session(&client.json("POST", "/auth/sign-up", &body).await)
}

/// The token of an answer that must be a session, in the body and in `X-Auth` alike.
fn session(reply: &Reply) -> String {
    assert_eq!(reply.status, 200, "{}", reply.text());
    let data = &reply.json()["data"];
    let token = data["accessToken"].as_str().expect("a session").to_owned();
    assert_eq!(reply.header("x-auth"), Some(token.as_str()));
    assert!(data["user"].get("password").is_none(), "{data}");
    token
}

/// A request that a token allows or not: 200, 401, or 429.
async fn look(client: &Client, authorization: &str) -> u16 {
    crate::list(&client.with("authorization", authorization), "notes")
        .await
        .status
}

/// What a 429 says: collection, operation, limit and seconds.
fn refusal(reply: &Reply) -> (String, String, u64, u64) {
    assert_eq!(reply.status, 429, "{}", reply.text());
    let body = reply.json();
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let limit = reply.header("x-ratelimit-limit").unwrap().parse().unwrap();
    (
        text("collection"),
        text("operation"),
        limit,
        body["retryAfter"].as_u64().unwrap(),
    )
}

fn refused(
    collection: &str,
    operation: &str,
    limit: u64,
    seconds: u64,
) -> (String, String, u64, u64) {
    (collection.to_owned(), operation.to_owned(), limit, seconds)
}

/// The doors to the password of an account of `users`.
fn door(nth: usize, email: &str, password: &str) -> (&'static str, Value) {
    match nth % 4 {
        0 => (
            "/auth/sign-in",
            json!({"email": email, "password": password}),
        ),
        1 => (
            "/auth",
            json!({"type": "signIn", "email": email, "password": password}),
        ),
        2 => (
            "/auth/sign-up",
            json!({"email": email, "password": password}),
        ),
        _ => (
            "/auth",
            json!({"password": password, "email": email, "type": "signUp"}),
        ),
    }
}
