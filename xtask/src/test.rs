//! `cargo xtask test`: everything that must pass, in the order in which a fault is cheapest to see.
//!
//! The one list of steps for people and for CI. Every step runs, so that one run tells all faults. Must never skip a
//! step silently: what cannot run here says why.

mod install;
mod steps;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::tree;
use steps::{Outcome, Step};

/// Runs the steps with these names, or all, and says how long each took.
pub(crate) fn run(names: &[String]) -> Result<ExitCode, tree::Error> {
    let mut steps = steps::all();
    if let Some(unknown) = names
        .iter()
        .find(|name| !steps.iter().any(|step| step.name == **name))
    {
        let known: Vec<_> = steps.iter().map(|step| step.name).collect();
        return Err(format!("no step `{unknown}`; there are {}", known.join(", ")).into());
    }
    steps.retain(|step| names.is_empty() || names.iter().any(|name| name == step.name));
    let started = now();
    let mut done = Vec::new();
    install::run()?;
    for step in steps {
        println!("\n==> {}: {}", step.name, step.shown());
        let (outcome, took) = timed(&step);
        if let Outcome::Skipped(why) = &outcome {
            println!("skipped: {why}");
        }
        done.push((step.name, outcome, took));
    }
    println!();
    for (name, outcome, took) in &done {
        println!("{:>6.1} s  {name}: {outcome}", took.as_secs_f64());
    }
    println!("{:>6.1} s  in all", started.elapsed().as_secs_f64());
    let failed = done
        .iter()
        .any(|(_, outcome, _)| matches!(outcome, Outcome::Failed));
    Ok(if failed {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

fn timed(step: &Step) -> (Outcome, Duration) {
    let started = now();
    let outcome = step.run();
    (outcome, started.elapsed())
}

#[expect(
    clippy::disallowed_methods,
    reason = "tells a person how long a step took; nothing is decided by it"
)]
fn now() -> Instant {
    Instant::now()
}
