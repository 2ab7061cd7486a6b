//! `kill -9` at a moment that nobody chose: a child counts, its parent kills it and looks at the file.
//!
//! Durable counts that were acknowledged are all there; ordinary ones lack at most what the backlog said.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use zonai_clock::Clock;
use zonai_limit::{Charge, Counters, Outcome, RateLimitPolicy};
use zonai_limit_sqlite::{CommitOutcome, Options, SlotNames, SqliteStore};

use crate::support::*;

const FOLDER: &str = "ZONAI_KILL_FOLDER";
/// Clients below this number are counted durably, the others once each.
const DURABLE: u32 = 8;
const ROUND: &str = "ZONAI_KILL_ROUND";
/// At most this many ordinary counters are made between two kills.
const PER_ROUND: u32 = 15_000;

#[test]
fn a_killed_process_has_lost_no_durable_count() {
    kill_often(5);
}

#[test]
#[ignore = "takes a minute: fifty kills"]
fn fifty_killed_processes_have_lost_no_durable_count() {
    kill_often(50);
}

fn kill_often(rounds: u32) {
    let mut seeded = Seeded::new(2_026);
    let world = World::new();
    let mut least = [0; DURABLE as usize];
    for round in 0..rounds {
        let after = 1 + seeded.below(1_500);
        let said = count_and_kill(world.dir.path(), round, after);
        let conn = world.second();
        let stored_of = |n: u32| {
            let sql = r#"SELECT coalesce(sum(count), 0) FROM _rate_limit WHERE client_ip = ?1 AND "table" = 'users'"#;
            conn.query_row(sql, [client(n).to_string()], |row| row.get::<_, u32>(0))
                .unwrap()
        };
        for n in 0..DURABLE {
            let known = &mut least[n as usize];
            *known = said.durable.get(&n).copied().unwrap_or(0).max(*known);
            let stored = stored_of(n);
            assert!(
                stored >= *known,
                "round {round}: client {n}: {stored} stored of {known} acknowledged"
            );
        }
        let sql = r#"SELECT count(*) FROM _rate_limit WHERE "table" = 'items'"#;
        let stored: u32 = conn.query_row(sql, [], |row| row.get(0)).unwrap();
        let stored = stored as usize;
        let lost = said.ordinary.saturating_sub(stored);
        assert!(
            lost <= said.backlog,
            "round {round}: {lost} lost, {} in the backlog",
            said.backlog
        );
        println!(
            "round {round}: killed after {after}: {stored} ordinary counters stored, {lost} lost, {said:?}"
        );
    }
}

/// What a child said before it was killed.
#[derive(Debug, Default)]
struct Said {
    durable: HashMap<u32, u32>,
    ordinary: usize,
    backlog: usize,
}

fn count_and_kill(folder: &Path, round: u32, after: u64) -> Said {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(ROUND, round.to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = Said::default();
    let mut acknowledged = 0;
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // What is still in the pipe after the kill was said before it.
    for line in lines.map_while(Result::ok) {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["durable", n, count] => {
                said.durable
                    .insert(n.parse().unwrap(), count.parse().unwrap());
                acknowledged += 1;
                if acknowledged == after {
                    child.kill().unwrap();
                }
            }
            ["ordinary", made, backlog] => {
                said.ordinary = made.parse().unwrap();
                said.backlog = backlog.parse().unwrap();
            }
            _ => {}
        }
    }
    assert!(
        acknowledged >= after,
        "the child ended by itself after {acknowledged}"
    );
    child.wait().unwrap();
    said
}

/// Not a test: the process that is killed. Without its folder it does nothing.
#[test]
#[ignore = "the child of the others"]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let path = Path::new(&folder).join(zonai_limit_sqlite::FILE_NAME);
    let counters = Arc::new(Counters::new(1_000_000));
    let names = Arc::new(Names::new());
    for number in [CREATE, SIGN_IN, LONG] {
        names.set_window(number, 30 * DAY);
        counters.set_window(
            slot(number),
            Some(std::time::Duration::from_millis(30 * DAY)),
        );
    }
    let clock = Clock::system();
    let options = Options {
        commit_timeout: std::time::Duration::from_secs(20),
        ..Options::default()
    };
    let names: Arc<dyn SlotNames> = names;
    let store = SqliteStore::open(&path, Arc::clone(&counters), names, clock.clone(), options);
    let durable = (0..DURABLE)
        .filter(|n| counters.get(key(client(*n), SIGN_IN)).is_some())
        .count();
    let loaded = counters.len() - durable;
    let store = Arc::new(store);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    // Ordinary counts come as fast as durable ones are acknowledged, so that some are always waiting.
    let acknowledged = Arc::new(tokio::sync::Notify::new());
    runtime.block_on(async {
        for n in 0..DURABLE {
            let (store, counters, clock) =
                (Arc::clone(&store), Arc::clone(&counters), clock.clone());
            let acknowledged = Arc::clone(&acknowledged);
            tokio::spawn(async move {
                loop {
                    assert!(count(&counters, &clock, n, SIGN_IN));
                    let count = counters.get(key(client(n), SIGN_IN)).unwrap().count;
                    if store.commit(&[key(client(n), SIGN_IN)]).await == CommitOutcome::Committed {
                        say(&format!("durable {n} {count}"));
                        acknowledged.notify_one();
                    }
                }
            });
        }
        // Fresh clients each round, so that every count is a counter.
        let round: u32 = std::env::var(ROUND).unwrap().parse().unwrap();
        for made in 0..PER_ROUND {
            assert!(count(
                &counters,
                &clock,
                DURABLE + round * PER_ROUND + made,
                CREATE
            ));
            if made % 10 == 9 {
                let backlog = store.metrics().backlog;
                say(&format!(
                    "ordinary {} {backlog}",
                    loaded + made as usize + 1
                ));
                acknowledged.notified().await;
            }
        }
        std::future::pending::<()>().await;
    });
}

fn count(counters: &Counters, clock: &Clock, n: u32, number: u32) -> bool {
    let policy =
        RateLimitPolicy::new(u32::MAX, std::time::Duration::from_millis(30 * DAY)).unwrap();
    let charge = Charge {
        slot: slot(number),
        policy,
        observe: false,
    };
    matches!(
        counters.decide(clock.now(), client(n), &[charge], false),
        Outcome::Admitted { .. }
    )
}

/// One line in one write: lines of two threads do not mix.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(format!("{line}\n").as_bytes());
    let _ = out.flush();
}
