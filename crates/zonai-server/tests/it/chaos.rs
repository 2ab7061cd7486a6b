//! Random requests against a model of the limiter and the rows, while clocks step, policies change and the server restarts.
//!
//! The seed is printed and reproduces: `ZONAI_CHAOS_SEED=… ZONAI_CHAOS_STEPS=… cargo nextest run -p zonai-server chaos`.
//! The normal run has 1,500 steps; by hand take a million.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use zonai_clock::Hand;
use zonai_test::{Project, Reply, TestServer};

const TABLES: [&str; 2] = ["tasks", "notes"];
const OPERATIONS: [&str; 4] = ["list", "count", "create", "unknown"];

/// No connection is kept for so long that the server takes it for idle.
const KEPT_MS: u64 = 30_000;

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): enough to choose steps with.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }
}

/// What the limiter promises, in the plainest words.
#[derive(Default)]
struct Model {
    now: u64,
    /// Limit and window in ms; nothing for "no limit".
    policies: HashMap<(&'static str, &'static str), Option<(u32, u64)>>,
    counters: HashMap<(u64, &'static str, &'static str), (u64, u32)>,
    rows: HashMap<&'static str, u64>,
}

/// What is expected of a request.
#[derive(Debug, PartialEq, Eq)]
enum Expected {
    Admitted,
    Refused { retry_after: u64, limit: u32 },
}

impl Model {
    fn ask(&mut self, client: u64, table: &'static str, operation: &'static str) -> Expected {
        let key = if operation == "unknown" {
            ("", "unknown")
        } else {
            (table, operation)
        };
        let Some((limit, window)) = self
            .policies
            .get(&key)
            .copied()
            .unwrap_or(Some((100, 60_000)))
        else {
            return Expected::Admitted;
        };
        let now = self.now;
        let counter = self
            .counters
            .entry((client, key.0, key.1))
            .or_insert((now, 0));
        if now >= counter.0 + window {
            *counter = (now, 0);
        }
        if counter.1 >= limit {
            let left = counter.0 + window - now;
            return Expected::Refused {
                retry_after: left.div_ceil(1_000).max(1),
                limit,
            };
        }
        counter.1 += 1;
        Expected::Admitted
    }

    /// A window that has closed stays closed; from no limit to a limit counting starts anew.
    fn set(&mut self, table: &'static str, operation: &'static str, policy: Option<(u32, u64)>) {
        let before = self.policies.insert((table, operation), policy);
        let old = before
            .unwrap_or(Some((100, 60_000)))
            .map_or(0, |(_, window)| window);
        let now = self.now;
        self.counters.retain(|(_, of, what), (start, _)| {
            (*of, *what) != (table, operation) || now < *start + old
        });
        if policy.is_none() {
            self.counters
                .retain(|(_, of, what), _| (*of, *what) != (table, operation));
        }
    }
}

struct Run {
    project: Project,
    server: TestServer,
    model: Model,
    dice: Dice,
    kept: HashMap<u64, TcpStream>,
    kept_until: u64,
}

impl Run {
    /// The same question some times in a row, by one client: more often than not on a connection that it keeps.
    async fn requests(&mut self, step: u64) {
        let client = self.dice.below(4);
        let table = TABLES[self.dice.below(2) as usize];
        let operation = OPERATIONS[self.dice.below(4) as usize];
        for time in 0..=self.dice.below(5) {
            self.request(step, time, (client, table, operation)).await;
        }
    }

    /// What a client asks, on its kept connection.
    async fn ask(&mut self, client: u64, path: &str, body: &Value) -> Reply {
        let http = self.server.client_at(&format!("127.0.3.{}", client + 1));
        if self.dice.below(4) == 0 {
            return http.get(path, body).await;
        }
        let stream = match self.kept.entry(client) {
            Entry::Occupied(kept) => kept.into_mut(),
            Entry::Vacant(place) => place.insert(http.connect().await),
        };
        let bytes = http.request("GET", &zonai_test::target(path, body), None);
        stream.write_all(&bytes).await.unwrap();
        zonai_test::read_reply(stream, false).await
    }

    async fn request(
        &mut self,
        step: u64,
        time: u64,
        (client, table, operation): (u64, &'static str, &'static str),
    ) {
        let http = self.server.client_at(&format!("127.0.3.{}", client + 1));
        let expected = self.model.ask(client, table, operation);
        let reply = match operation {
            "list" => {
                let list = json!({"table": table, "limit": 1 + time % 2});
                self.ask(client, "/db/list", &list).await
            }
            "count" => {
                self.ask(client, "/db/count", &json!({"table": table}))
                    .await
            }
            "create" => {
                let column = if table == "tasks" { "title" } else { "text" };
                http.json(
                    "POST",
                    "/db",
                    &json!({"table": table, "object": {column: "x"}}),
                )
                .await
            }
            _ => {
                let ghost = json!({"table": format!("ghost{step}")});
                self.ask(client, "/db/list", &ghost).await
            }
        };
        let seen = match reply.status {
            429 => Expected::Refused {
                retry_after: reply.header("retry-after").unwrap().parse().unwrap(),
                limit: reply.header("x-ratelimit-limit").unwrap().parse().unwrap(),
            },
            _ => Expected::Admitted,
        };
        assert_eq!(
            seen,
            expected,
            "step {step}: {operation} on {table} by {client}: {}",
            reply.text()
        );
        if seen == Expected::Admitted {
            match operation {
                "create" => *self.model.rows.entry(table).or_default() += 1,
                "count" => assert_eq!(
                    reply.json()["data"],
                    self.model.rows.get(table).copied().unwrap_or(0),
                    "step {step}"
                ),
                "list" => assert_eq!(
                    reply.json()["data"]["total"],
                    self.model.rows.get(table).copied().unwrap_or(0)
                ),
                _ => assert_eq!(reply.status, 404),
            }
        }
    }

    fn reload(&mut self) {
        let table = TABLES[self.dice.below(2) as usize];
        let mut text = format!("table: {table}\nlimits:\n");
        for operation in ["list", "count", "create"] {
            let policy = match self.dice.below(4) {
                0 => None,
                1 => Some((100, 60_000)),
                _ => Some((
                    1 + self.dice.below(12) as u32,
                    1_000 * (1 + self.dice.below(90)),
                )),
            };
            match policy {
                None => text.push_str(&format!("  {operation}: none\n")),
                Some((limit, window)) => {
                    text.push_str(&format!("  {operation}: {limit}/{window}ms\n"))
                }
            }
            self.model.set(table, operation, policy);
        }
        self.project
            .file(&format!("lib/src/rate_limit/{table}.yaml"), &text);
        assert!(self.server.running.reload());
    }

    fn pass_time(&mut self) {
        let ms = match self.dice.below(3) {
            0 => self.dice.below(50),
            1 => self.dice.below(5_000),
            _ => self.dice.below(70_000),
        };
        self.server.hand.advance_ms(ms);
        self.model.now += ms;
        if self.model.now > self.kept_until {
            self.kept.clear();
            self.kept_until = self.model.now + KEPT_MS;
        }
    }
}

/// Promises 2, 3, 7.2 and 8: whatever happens, each answer is the one that the model gives.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_is_the_one_of_the_model() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let seed =
        number("ZONAI_CHAOS_SEED").unwrap_or_else(|| u64::from(std::process::id()) << 20 | 0x5eed);
    let steps: u64 = number("ZONAI_CHAOS_STEPS").unwrap_or(1_500);
    println!("ZONAI_CHAOS_SEED={seed} ZONAI_CHAOS_STEPS={steps}");
    let project = Project::tasks();
    project.remove("lib/src/rate_limit/tasks.yaml");
    let server = TestServer::start(&project).await;
    let mut run = Run {
        project,
        server,
        model: Model::default(),
        dice: Dice(seed),
        kept: HashMap::new(),
        kept_until: KEPT_MS,
    };
    for step in 0..steps {
        match run.dice.below(100) {
            0..88 => run.requests(step).await,
            88..94 => run.pass_time(),
            94..97 => run.reload(),
            97..99 => {
                // The wall clock jumps by up to a year either way: no window may care.
                let days = i64::try_from(run.dice.below(730)).unwrap() - 365;
                run.server
                    .hand
                    .set_wall_ms(Hand::WALL_MS + days * 86_400_000);
            }
            _ => {
                run.kept.clear();
                run.server = run.server.restart(&run.project).await;
            }
        }
    }
}
