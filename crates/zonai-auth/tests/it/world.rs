//! A project with a table of users, one without passwords and one of admins, on a hand-set clock.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::Connection;
use serde_json::{Map, Value, json};
use zonai_auth::requests::{Body, Confirm, MailTo, SignIn, SignUp};
use zonai_auth::{
    Auth, AuthAction, AuthAsk, AuthError, AuthGate, AuthParts, AuthSettings, Caller, Hasher,
    MailFrom, MailKind, MailSettings, MailTls, MailTransport, Secrets, Session, TableSetup,
    Templates,
};
use zonai_clock::{Clock, Hand};
use zonai_data::{DataError, Engine, EngineOptions, Schema, TableOptions};
use zonai_limit::{Client, Counters, Internal, Known, Limiter};

use zonai_test::{MailServer, Mood};

const SCHEMA: &str = "
    CREATE TABLE users (
        id TEXT PRIMARY KEY, email TEXT NOT NULL, password TEXT, nick TEXT UNIQUE,
        age INTEGER CHECK (age >= 18), emailVerified BOOLEAN NOT NULL DEFAULT 0, createdAt INTEGER,
        updatedAt TEXT
    );
    CREATE TABLE guests (id INTEGER PRIMARY KEY, email TEXT NOT NULL, verified BOOLEAN);
    CREATE TABLE staff (id TEXT PRIMARY KEY, email TEXT NOT NULL, password TEXT);
    CREATE TABLE items (id TEXT PRIMARY KEY);
";

pub(crate) const JWT: &str = "a token secret 0123456789 abcdefg";
pub(crate) const PASSWORD: &str = "a password secret 0123456789 abcd";
pub(crate) const GOOD: &str = "correct horse battery";

/// Rules that a test sets.
#[derive(Clone, Default)]
pub(crate) struct Gate(pub(crate) Arc<Mutex<Option<AuthAction>>>);

impl AuthGate for Gate {
    fn allows(&self, _: &Connection, ask: &AuthAsk<'_>) -> Result<bool, AuthError> {
        assert!(!ask.row.contains_key("password"));
        Ok(*self.0.lock() != Some(ask.action))
    }

    fn would_allow(
        &self,
        _: &Connection,
        _: &str,
        _: &[(String, rusqlite::types::Value)],
        _: Option<&zonai_auth::Caller>,
    ) -> Result<bool, AuthError> {
        Ok(*self.0.lock() != Some(AuthAction::SignUp))
    }

    fn claims(&self, table: &str, _: &Map<String, Value>) -> Map<String, Value> {
        Map::from_iter([("from".to_owned(), json!(table))])
    }
}

/// What a test may want otherwise.
pub(crate) struct Plan {
    pub(crate) secrets: Secrets,
    pub(crate) mood: Option<Mood>,
    pub(crate) app_name: &'static str,
    pub(crate) adjust: fn(&mut MailSettings),
    pub(crate) templates: Templates,
    pub(crate) dev_mail: bool,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            secrets: Secrets::parse(JWT, PASSWORD, "", "").unwrap(),
            mood: Some(Mood::Kind),
            app_name: "Shop",
            adjust: |_| {},
            templates: Templates::load(None).unwrap(),
            dev_mail: false,
        }
    }
}

pub(crate) struct World {
    pub(crate) auth: Arc<Auth>,
    pub(crate) pass: Arc<Internal>,
    pub(crate) engine: Engine,
    pub(crate) hand: Hand,
    pub(crate) gate: Gate,
    pub(crate) mail: Option<MailServer>,
    clock: Clock,
    folder: Arc<tempfile::TempDir>,
}

pub(crate) fn body(value: Value) -> Body {
    value.as_object().unwrap().clone()
}

impl World {
    pub(crate) async fn new() -> Self {
        Self::with(Plan::default()).await
    }

    pub(crate) async fn with(plan: Plan) -> Self {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let connection = Connection::open(folder.path().join("data.sqlite")).unwrap();
        connection.execute_batch(SCHEMA).unwrap();
        drop(connection);
        let (clock, hand) = Clock::manual();
        Self::over(plan, folder, clock, hand).await
    }

    /// Another server over the same data, as after a restart or beside the first.
    pub(crate) async fn again(&self, plan: Plan) -> Self {
        Self::over(
            plan,
            Arc::clone(&self.folder),
            self.clock.clone(),
            self.hand.clone(),
        )
        .await
    }

    async fn over(plan: Plan, folder: Arc<tempfile::TempDir>, clock: Clock, hand: Hand) -> Self {
        let path = folder.path().join("data.sqlite");
        let engine = Engine::open(&path, &EngineOptions::default()).unwrap();
        let account = TableOptions {
            auth: true,
            ..TableOptions::default()
        };
        let options: BTreeMap<_, _> = ["users", "guests", "staff"]
            .map(|name| (name.to_owned(), account.clone()))
            .into();
        let schema = Schema::read(&Connection::open(&path).unwrap(), &options).unwrap();
        let limiter = Limiter::new(
            Arc::new(Counters::new(100)),
            Known::default(),
            Vec::new(),
            Vec::new(),
        );
        let pass = Arc::new(limiter.unwrap().1);
        let mail = match plan.mood {
            Some(mood) => Some(MailServer::start(mood).await),
            None => None,
        };
        let settings = settings(&plan, mail.as_ref());
        let gate = Gate::default();
        let parts = AuthParts {
            engine: engine.clone(),
            internal: Arc::clone(&pass),
            clock: clock.clone(),
            hasher: Arc::new(Hasher::start(&plan.secrets, NonZeroUsize::new(2)).unwrap()),
            gate: Arc::new(gate.clone()),
        };
        let auth = Auth::start(parts, &schema, &plan.secrets, settings)
            .await
            .unwrap();
        Self {
            auth: Arc::new(auth),
            pass,
            engine,
            hand,
            gate,
            mail,
            clock,
            folder,
        }
    }

    pub(crate) async fn sign_up(&self, email: &str, password: &str) -> Result<Session, AuthError> {
        self.sign_up_with(json!({"email": email, "password": password}))
            .await
    }

    pub(crate) async fn sign_up_with(&self, request: Value) -> Result<Session, AuthError> {
        let request = SignUp::parse(&body(request))?;
        let session = self
            .auth
            .sign_up(&*self.pass, Client::Local, request, None)
            .await?;
        Ok(session.expect("a session"))
    }

    pub(crate) async fn sign_in(&self, email: &str, password: &str) -> Result<Session, AuthError> {
        let request = SignIn::parse(&body(json!({"email": email, "password": password})))?;
        self.auth.sign_in(&*self.pass, Client::Local, request).await
    }

    pub(crate) fn who(&self, token: &str) -> Result<Caller, AuthError> {
        self.auth.authenticate(&*self.pass, token)
    }

    pub(crate) fn send(&self, kind: MailKind, email: &str) -> Result<(), AuthError> {
        self.auth
            .send_mail(kind, MailTo::parse(&body(json!({"email": email})))?)
    }

    pub(crate) async fn confirm(&self, request: Value) -> Result<Option<Session>, AuthError> {
        let request = Confirm::parse(&body(request))?;
        self.auth.confirm(&*self.pass, Client::Local, request).await
    }

    pub(crate) async fn otp(&self, email: &str, code: &str) -> Result<Session, AuthError> {
        let session = self
            .confirm(json!({"type": "verifyOtp", "email": email, "code": code}))
            .await;
        session.map(|session| session.expect("a session"))
    }

    pub(crate) fn mail(&self) -> &MailServer {
        self.mail.as_ref().expect("a mail server")
    }

    /// Lets everything that was asked for be mailed, and counts the mails.
    pub(crate) async fn mails_in_the_end(&self) -> usize {
        self.auth.close(Duration::from_secs(10)).await;
        self.mail().seen().mails.len()
    }

    pub(crate) fn sql<T: rusqlite::types::FromSql>(&self, sql: &str) -> T {
        let connection = Connection::open(self.folder.path().join("data.sqlite")).unwrap();
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    pub(crate) async fn execute(&self, sql: &'static str) {
        self.engine
            .write(&*self.pass, |c| -> Result<(), DataError> {
                Ok(c.execute_batch(sql)?)
            })
            .await
            .unwrap();
    }
}

/// Two tables of accounts and one of admins; mail to the test's own server.
fn settings(plan: &Plan, mail: Option<&MailServer>) -> AuthSettings {
    let transport = mail.map(|mail| {
        let from: MailFrom = "The Shop <shop@example.com>".parse().unwrap();
        let mut settings = MailSettings::new("127.0.0.1", MailTls::None, from);
        settings.port = mail.port;
        settings.retry_after = vec![Duration::from_millis(5); 3];
        (plan.adjust)(&mut settings);
        MailTransport::Smtp(settings)
    });
    let table = |name: &str, password: bool, admin: bool| TableSetup {
        name: name.to_owned(),
        password,
        otp: true,
        magic_link: true,
        admin,
    };
    AuthSettings {
        app_name: plan.app_name.to_owned(),
        base_url: "https://shop.example.com/".to_owned(),
        session: Duration::from_secs(24 * 3_600),
        tables: vec![
            table("users", true, false),
            table("guests", false, false),
            table("staff", true, true),
        ],
        mail: transport.or(plan.dev_mail.then_some(MailTransport::Log)),
        templates: plan.templates.clone(),
    }
}
