//! Many people behind one address, and what a sign-in costs. The long runs are by hand:
//! `cargo nextest run --release -p zonai-server --run-ignored only accounts --no-capture`.

use std::time::Instant;

use zonai_test::{Client, TestServer};

use super::{BAD, GOOD, project, sign_in, sign_up};

/// Successes are not counted as failures: an office signs in as often as `signIn` allows. The short form of the next.
#[tokio::test(flavor = "multi_thread")]
async fn good_sign_ins_are_not_counted_as_failures() {
    office(12, 2, 2).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "500 hashes"]
async fn five_hundred_good_sign_ins_in_the_hour_are_served() {
    office(500, 5, 10).await;
}

/// `count` good sign-ins on `accounts` accounts from one address; then `failures` bad ones are still tried.
async fn office(count: usize, accounts: usize, failures: usize) {
    let failed = format!("failedSignIn: {failures}/15m");
    let project = project(&["signIn: 600/1h", &failed]);
    let server = TestServer::start(&project).await;
    let office = server.client();
    for account in 0..accounts {
        sign_up(
            &server.client_at("127.0.6.1"),
            &format!("user{account}@x.org"),
        )
        .await;
    }
    for nth in 0..count {
        let reply = sign_in(&office, &format!("user{}@x.org", nth % accounts), GOOD).await;
        assert_eq!(reply.status, 200, "sign-in {nth}: {}", reply.text());
        server.hand.advance_ms(3_600_000 / 600);
    }
    for _ in 0..failures {
        assert_eq!(sign_in(&office, "user0@x.org", BAD).await.status, 401);
    }
    assert_eq!(sign_in(&office, "user0@x.org", BAD).await.status, 429);
}

/// Issue of the promise: a refused sign-in costs no hash, so at least 1,000 fit in the time of an admitted one. Counts the
/// processor time of this process, the client's part of it included.
#[tokio::test]
#[ignore = "a measurement, of a release build"]
async fn a_refused_sign_in_costs_a_thousandth_of_an_admitted_one() {
    let project = project(&["signIn: 40/1h", "failedSignIn: none"]);
    let server = TestServer::start(&project).await;
    let admitted = cost_ms(&server.client(), 40, 401).await;
    let refused = cost_ms(&server.client(), 20_000, 429).await;
    eprintln!(
        "admitted {admitted:.3} ms, refused {refused:.5} ms, ratio {:.0}",
        admitted / refused
    );
    assert!(admitted / refused >= 1_000.0);
}

/// Milliseconds of processor time for each of `count` sign-ins on one connection.
async fn cost_ms(client: &Client, count: usize, status: u16) -> f64 {
    let body = serde_json::json!({"email": "ada@x.org", "password": BAD}).to_string();
    let request = client.request("POST", "/auth/sign-in", Some(body.as_bytes()));
    let mut stream = client.connect().await;
    let before = spent_ns();
    for _ in 0..count {
        tokio::io::AsyncWriteExt::write_all(&mut stream, &request)
            .await
            .unwrap();
        assert_eq!(
            zonai_test::read_reply(&mut stream, false).await.status,
            status
        );
    }
    (spent_ns() - before) as f64 / 1e6 / count as f64
}

/// The processor time of all threads of this process.
fn spent_ns() -> u64 {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let spent = tasks.filter_map(|task| {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    });
    spent.sum()
}

/// Promise S6a by the clock of a caller: 200 tries each cannot be told apart by rank (Mann-Whitney). Their order is drawn:
/// where tries of two kinds alternate, so may the two threads that hash, and one of the two cores is often slower.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement: 400 hashes"]
async fn known_and_unknown_accounts_take_the_same_time_over_http() {
    const TRIES: usize = 200;
    let project = project(&["signIn: none", "failedSignIn: none"]);
    let server = TestServer::start(&project).await;
    let client = server.client();
    sign_up(&client, "ada@x.org").await;
    let mut times = Vec::new();
    let seed: u64 = std::env::var("ZONAI_SEED").map_or(27, |seed| seed.parse().unwrap());
    eprintln!("ZONAI_SEED={seed}");
    let mut order: Vec<u64> = (0..TRIES as u64 * 2).collect();
    order.sort_by_key(|nth| {
        let mixed = (nth + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    });
    for nth in order {
        let known = nth % 2 == 0;
        // Which memory Argon2 touches follows from password and salt: one guess repeated would measure one pattern.
        let guess = format!("{BAD}{}", nth / 2);
        #[expect(
            clippy::disallowed_methods,
            reason = "it is the caller's clock that must tell nothing"
        )]
        let begun = Instant::now();
        assert_eq!(
            sign_in(
                &client,
                if known { "ada@x.org" } else { "eve@x.org" },
                &guess
            )
            .await
            .status,
            401
        );
        times.push((begun.elapsed(), known));
    }
    times.sort_unstable();
    let ranks: usize = (1..)
        .zip(&times)
        .filter(|(_, (_, known))| *known)
        .map(|(rank, _)| rank)
        .sum();
    let n = TRIES as f64;
    let u = ranks as f64 - n * (n + 1.0) / 2.0;
    let z = (u - n * n / 2.0) / (n * n * (2.0 * n + 1.0) / 12.0).sqrt();
    let median = |wanted: bool| {
        times
            .iter()
            .filter(|(_, known)| *known == wanted)
            .nth(TRIES / 2)
            .unwrap()
            .0
    };
    eprintln!(
        "medians: known {:?}, unknown {:?}; z = {z:.2}",
        median(true),
        median(false)
    );
    assert!(z.abs() < 2.6, "z = {z:.2}");
}
