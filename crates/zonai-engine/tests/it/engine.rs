//! The engine: bounds, group commit, faults that stay where they are.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use zonai_engine::{DataError, EngineOptions};

use crate::support::{Data, open, open_with};

fn table() -> Data {
    open("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER UNIQUE)")
}

/// Holds the writer until the sender is dropped; returns once it is held.
async fn hold_the_writer(data: &Arc<Data>) -> (mpsc::SyncSender<()>, tokio::task::JoinHandle<()>) {
    let (release, wait) = mpsc::sync_channel::<()>(1);
    let (held, is_held) = tokio::sync::oneshot::channel();
    let data = Arc::clone(data);
    let holder = tokio::spawn(async move {
        let job = move |_: &rusqlite::Connection| {
            let _ = held.send(());
            let _ = wait.recv_timeout(Duration::from_secs(20));
            Ok::<_, DataError>(())
        };
        data.engine.write(&data.pass, job).await.unwrap();
    });
    is_held.await.unwrap();
    (release, holder)
}

async fn until(mut met: impl FnMut() -> bool) {
    for _ in 0..100_000 {
        if met() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("waited in vain");
}

#[tokio::test]
async fn the_65th_waiting_write_is_turned_away_and_the_64_are_written() {
    let data = Arc::new(table());
    let (release, holder) = hold_the_writer(&data).await;
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..64 {
        let data = Arc::clone(&data);
        tasks.spawn(async move { data.insert(n).await });
    }
    until(|| data.engine.writes_waiting() == 64).await;
    for _ in 0..10 {
        let refused = data.insert(-1).await;
        assert_eq!(refused, Err(DataError::BusyWriting));
    }
    assert_eq!(
        DataError::BusyWriting.to_string(),
        "Server is busy writing; retry shortly (write queue saturated)."
    );
    drop(release);
    holder.await.unwrap();
    assert!(tasks.join_all().await.iter().all(Result::is_ok));
    assert_eq!(data.numbers(), Ok((0..64).collect()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rows_are_exactly_the_successes() {
    let data = Arc::new(table());
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..1_000 {
        let data = Arc::clone(&data);
        tasks.spawn(async move { (n, data.insert(n).await) });
    }
    let mut written = Vec::new();
    for (n, result) in tasks.join_all().await {
        match result {
            Ok(_) => written.push(n),
            Err(error) => assert_eq!(error, DataError::BusyWriting),
        }
    }
    written.sort_unstable();
    assert_eq!(data.numbers(), Ok(written));
}

#[tokio::test]
async fn one_failing_job_does_not_undo_the_others_of_its_commit() {
    let data = Arc::new(open(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER UNIQUE);
         CREATE TABLE d (p INTEGER REFERENCES t(id) DEFERRABLE INITIALLY DEFERRED);",
    ));
    let (release, holder) = hold_the_writer(&data).await;
    let job = |sql: &'static str, fails: bool| {
        let data = Arc::clone(&data);
        async move {
            let job = move |conn: &rusqlite::Connection| {
                conn.execute_batch(sql)?;
                assert!(!fails, "a job may panic");
                Ok(())
            };
            data.engine.write(&data.pass, job).await
        }
    };
    let mut tasks = Vec::new();
    for (sql, fails) in [
        ("INSERT INTO t (n) VALUES (1)", false),
        (
            "INSERT INTO t (n) VALUES (2); INSERT INTO t (n) VALUES (1)",
            false,
        ),
        ("INSERT INTO t (n) VALUES (3)", true),
        ("INSERT INTO d VALUES (99)", false),
        ("INSERT INTO t (n) VALUES (4)", false),
    ] {
        let waiting = data.engine.writes_waiting();
        tasks.push(tokio::spawn(job(sql, fails)));
        until(|| data.engine.writes_waiting() > waiting).await;
    }
    drop(release);
    holder.await.unwrap();
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.unwrap());
    }
    assert_eq!(results[0], Ok(()));
    assert!(matches!(results[1], Err(DataError::Conflict(_))));
    assert_eq!(results[2], Err(DataError::Internal));
    assert!(matches!(results[3], Err(DataError::Unprocessable(_))));
    assert_eq!(results[4], Ok(()));
    assert_eq!(data.numbers(), Ok(vec![1, 4]));
}

#[tokio::test]
async fn a_trigger_that_rolls_everything_back_makes_the_others_come_again() {
    let data = Arc::new(open(
        "CREATE TABLE t (n INTEGER);
         CREATE TRIGGER no BEFORE INSERT ON t WHEN new.n = 13 BEGIN SELECT RAISE(ROLLBACK, 'unlucky'); END;",
    ));
    let (release, holder) = hold_the_writer(&data).await;
    let mut tasks = Vec::new();
    for n in [1, 13, 2] {
        let waiting = data.engine.writes_waiting();
        let writer = Arc::clone(&data);
        tasks.push(tokio::spawn(async move { writer.insert(n).await }));
        until(|| data.engine.writes_waiting() > waiting).await;
    }
    drop(release);
    holder.await.unwrap();
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.unwrap());
    }
    assert_eq!(results[0], Err(DataError::BusyWriting));
    assert_eq!(
        results[1],
        Err(DataError::Unprocessable("unlucky".to_owned()))
    );
    assert!(results[2].is_ok());
    assert_eq!(data.numbers(), Ok(vec![2]));
}

#[tokio::test]
async fn reads_beyond_the_bound_are_turned_away_and_places_come_back() {
    let options = EngineOptions {
        reads: 3,
        readers: 2,
        ..EngineOptions::default()
    };
    let data = Arc::new(open_with(
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)",
        options,
    ));
    let mut releases = Vec::new();
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..3 {
        let (release, wait) = mpsc::sync_channel::<()>(1);
        releases.push(release);
        let data = Arc::clone(&data);
        readers.spawn(async move {
            let job = move |_: &rusqlite::Connection| {
                let _ = wait.recv_timeout(Duration::from_secs(20));
                Ok(())
            };
            data.engine.read(&data.pass, job).await
        });
    }
    until(|| data.engine.reads_in_flight() == 3).await;
    let further = data.engine.read(&data.pass, |_| Ok(())).await;
    assert_eq!(further, Err(DataError::BusyReading));
    assert_eq!(data.numbers(), Err(DataError::BusyReading));
    assert_eq!(
        DataError::BusyReading.to_string(),
        "Server is busy reading; retry shortly (read concurrency saturated)."
    );
    drop(releases);
    assert!(readers.join_all().await.iter().all(Result::is_ok));
    assert!(data.engine.read(&data.pass, |_| Ok(())).await.is_ok());
    assert_eq!(data.numbers(), Ok(vec![]));
    assert_eq!(data.engine.reads_in_flight(), 0);
}

#[tokio::test]
async fn panics_of_reads_are_internal_errors_and_readers_cannot_write() {
    let data = table();
    for _ in 0..20 {
        let panicked = data
            .engine
            .read(&data.pass, |_| -> Result<(), _> {
                panic!("a job may panic")
            })
            .await;
        assert_eq!(panicked, Err(DataError::Internal));
        let panicked = data.engine.read_here(&data.pass, |_| -> Result<(), _> {
            panic!("a job may panic")
        });
        assert_eq!(panicked, Err(DataError::Internal));
    }
    let wrote = data
        .engine
        .read(&data.pass, |conn| Ok(conn.execute_batch("DELETE FROM t")?))
        .await;
    assert_eq!(wrote, Err(DataError::Internal));
    assert_eq!(data.numbers(), Ok(vec![]));
}

#[tokio::test]
async fn a_read_that_takes_too_long_is_broken_off() {
    let data = table();
    let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n";
    let (started, has_started) = tokio::sync::oneshot::channel();
    let read = data.engine.read(&data.pass, move |conn| {
        let _ = started.send(());
        Ok(conn.query_row(endless, [], |row| row.get::<_, i64>(0))?)
    });
    let later = async {
        has_started.await.unwrap();
        data.hand.advance_ms(10_001);
    };
    assert_eq!(tokio::join!(read, later).0, Err(DataError::BrokenOff));
    assert_eq!(data.numbers(), Ok(vec![]));
}

const ENDLESS_WRITE: &str =
    "INSERT INTO t (n) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
    SELECT sum(i) FROM n";

/// Writes an endless row, and tells when it has begun.
fn endless(
    data: &Arc<Data>,
) -> (
    tokio::sync::oneshot::Receiver<()>,
    tokio::task::JoinHandle<Result<(), DataError>>,
) {
    let (started, has_started) = tokio::sync::oneshot::channel();
    let data = Arc::clone(data);
    let write = tokio::spawn(async move {
        let job = move |conn: &rusqlite::Connection| {
            let _ = started.send(());
            conn.execute_batch(ENDLESS_WRITE)?;
            Ok(())
        };
        data.engine.write(&data.pass, job).await
    });
    (has_started, write)
}

#[tokio::test]
async fn a_write_that_takes_too_long_is_broken_off_and_undone() {
    let data = Arc::new(table());
    let (has_started, write) = endless(&data);
    has_started.await.unwrap();
    data.hand.advance_ms(10_001);
    assert_eq!(write.await.unwrap(), Err(DataError::BrokenOff));
    assert_eq!(data.insert(7).await, Ok(()), "others go on");
    assert_eq!(data.numbers(), Ok(vec![7]));
}

/// Whatever runs, a stop does not wait for it for long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_breaks_off_what_does_not_end() {
    let data = Arc::new(table());
    let (has_started, write) = endless(&data);
    has_started.await.unwrap();
    let engine = data.engine.clone();
    let close = tokio::task::spawn_blocking(move || engine.close());
    // Its two seconds begin when it is asked for, which is not seen from here.
    while !close.is_finished() {
        data.hand.advance_ms(2_001);
        tokio::task::yield_now().await;
    }
    close.await.unwrap();
    assert_eq!(write.await.unwrap(), Err(DataError::BrokenOff));
}

#[tokio::test]
async fn a_read_that_nobody_waits_for_any_more_is_not_begun() {
    let data = Arc::new(table());
    let readers = EngineOptions::default().readers;
    let (release, held) = mpsc::sync_channel::<()>(1);
    let held = Arc::new(parking_lot::Mutex::new(held));
    let busy: Vec<_> = (0..readers)
        .map(|_| {
            let (data, held) = (Arc::clone(&data), Arc::clone(&held));
            tokio::spawn(async move {
                let wait = move |_: &rusqlite::Connection| -> Result<(), DataError> {
                    let _released = held.lock().recv();
                    Ok(())
                };
                data.engine.read(&data.pass, wait).await
            })
        })
        .collect();
    until(|| data.engine.reads_in_flight() == readers).await;
    let (begun, has_begun) = mpsc::sync_channel(1);
    let gone = Arc::clone(&data);
    let read = tokio::spawn(async move {
        let job = move |_: &rusqlite::Connection| -> Result<(), DataError> {
            let _ = begun.send(());
            Ok(())
        };
        gone.engine.read(&gone.pass, job).await
    });
    until(|| data.engine.reads_in_flight() == readers + 1).await;
    read.abort();
    let _ = read.await;
    drop(release);
    for read in busy {
        read.await.unwrap().unwrap();
    }
    until(|| data.engine.reads_in_flight() == 0).await;
    assert!(has_begun.recv().is_err(), "it was begun");
}

#[tokio::test]
async fn closing_finishes_what_was_taken_in() {
    let data = Arc::new(table());
    let (release, holder) = hold_the_writer(&data).await;
    let writer = Arc::clone(&data);
    let last = tokio::spawn(async move { writer.insert(1).await });
    until(|| data.engine.writes_waiting() == 1).await;
    let engine = data.engine.clone();
    let close = tokio::task::spawn_blocking(move || engine.close());
    drop(release);
    close.await.unwrap();
    holder.await.unwrap();
    assert!(last.await.unwrap().is_ok());
    assert_eq!(data.insert(2).await, Err(DataError::Internal));
}
