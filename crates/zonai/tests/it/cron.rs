//! `zonai cron`: the same jobs with and without a running server.

use crate::run::{Folder, Outcome};
use crate::serve::Served;

fn project() -> Folder {
    let folder = Folder::empty();
    assert_eq!(folder.zonai(&["init"]).code, 0);
    folder.write(
        "lib/src/crons/sweep.yaml",
        "schedule: \"0 0 1 1 *\"\nsql: DELETE FROM tasks\n",
    );
    folder.write(
        "lib/src/crons/broken.yaml",
        "schedule: \"0 0 1 1 *\"\nsql: DELETE FROM nothing\n",
    );
    folder
}

fn json(outcome: &Outcome) -> serde_json::Value {
    serde_json::from_str(&outcome.out).unwrap_or_else(|_| panic!("{}{}", outcome.out, outcome.err))
}

/// What is the same with and without a server.
fn jobs_are_listed_and_run(folder: &Folder) {
    let run = folder.zonai(&["cron", "run", "sweep"]);
    assert_eq!(
        (run.code, run.out.as_str()),
        (0, "sweep: 0 rows changed\n"),
        "{}",
        run.err
    );
    let built_in = folder.zonai(&[
        "cron",
        "run",
        "_delete_old_rate_limits",
        "--format",
        "json",
        ".",
    ]);
    assert_eq!((built_in.code, &json(&built_in)["ok"]), (0, &true.into()));
    let failed = folder.zonai(&["cron", "run", "broken"]);
    assert_eq!(
        (failed.code, failed.out.as_str()),
        (1, ""),
        "{}",
        failed.err
    );
    assert!(failed.err.contains("nothing"), "{}", failed.err);
    let unknown = folder.zonai(&["cron", "run", "swep"]);
    assert_eq!(unknown.code, 2);
    assert!(
        unknown
            .err
            .contains("there is no job `swep`; did you mean `sweep`?"),
        "{}",
        unknown.err
    );
    let listed = json(&folder.zonai(&["cron", "list", "--format", "json"]));
    let jobs = listed["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 6, "{listed}");
    let job = |name: &str| jobs.iter().find(|job| job["name"] == name).unwrap();
    assert_eq!(job("sweep")["last"]["status"], "ok");
    assert_eq!(job("sweep")["last"]["trigger"], "hand");
    assert_eq!(job("broken")["last"]["status"], "failed");
    let table = folder.zonai(&["cron", "list"]).out;
    assert!(
        table.contains("sweep") && table.contains("0 0 1 1 *") && table.contains("0 rows changed"),
        "{table}"
    );
}

#[test]
fn jobs_run_without_a_server() {
    let folder = project();
    jobs_are_listed_and_run(&folder);
}

#[test]
fn jobs_run_in_the_running_server() {
    let folder = project();
    let served = Served::start(&folder, &[]);
    jobs_are_listed_and_run(&folder);
    drop(served);
}

#[test]
fn the_next_time_is_in_the_time_zone_of_the_machine() {
    let folder = project();
    for (zone, midnight) in [
        ("UTC", "-01-01 00:00:00 UTC"),
        ("Asia/Tokyo", "-01-01 00:00:00 JST"),
    ] {
        let listed = folder.zonai_with(&["cron", "list"], &[("TZ", zone)]);
        assert!(
            listed.out.contains(midnight),
            "{}{}",
            listed.out,
            listed.err
        );
    }
}
