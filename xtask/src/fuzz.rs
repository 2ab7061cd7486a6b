//! `cargo xtask fuzz`: builds the fuzz targets and runs each for a while, as many at once as there are cores.
//!
//! Inputs that libFuzzer finds stay in the target folder; only one that breaks something is kept, in `fuzz/artifacts`.
//! Must never need more than cargo and a C++ compiler, and must never write into `fuzz/corpus`.

mod build;
mod outcome;
mod target;

use std::hash::{BuildHasher as _, RandomState};
use std::process::ExitCode;
use std::thread;

use crate::tree;
use outcome::Outcome;
use target::Target;

/// How long each target runs where nothing else is said.
const SECONDS: u32 = 10;
/// Each may take a gigabyte.
const MOST_AT_ONCE: usize = 4;

/// What is asked for.
struct Wanted {
    names: Vec<String>,
    seconds: u32,
    seed: u32,
}

/// Runs the targets with these names, or all.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, tree::Error> {
    let wanted = wanted(arguments, std::env::var("ZONAI_SEED").ok())?;
    let mut targets = build::run()?;
    if let Some(unknown) = wanted
        .names
        .iter()
        .find(|name| !targets.iter().any(|target| target.name == **name))
    {
        let known: Vec<_> = targets.iter().map(|target| target.name.as_str()).collect();
        return Err(format!("no target `{unknown}`; there are {}", known.join(", ")).into());
    }
    targets.retain(|target| wanted.names.is_empty() || wanted.names.contains(&target.name));
    println!(
        "{} targets, {} s each, seed {} (ZONAI_SEED={} repeats it)",
        targets.len(),
        wanted.seconds,
        wanted.seed,
        wanted.seed
    );
    let mut broken = 0;
    for outcome in all(targets, wanted.seconds, wanted.seed) {
        broken += usize::from(outcome?.is_broken());
    }
    Ok(if broken == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Each outcome is told when it is there, so that a person who waits sees something.
fn all(targets: Vec<Target>, seconds: u32, seed: u32) -> Vec<Result<Outcome, String>> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let at_once = cores.min(MOST_AT_ONCE);
    // All take equally long, so each thread has its share from the start.
    let mut shares: Vec<Vec<Target>> = (0..at_once).map(|_| Vec::new()).collect();
    for (nth, target) in targets.into_iter().enumerate() {
        shares[nth % at_once].push(target);
    }
    let run = |target: Target| {
        let outcome = target.run(seconds, seed).map_err(|error| error.to_string());
        if let Ok(outcome) = &outcome {
            println!("{outcome}");
        }
        outcome
    };
    thread::scope(|scope| {
        let start = |share: Vec<Target>| {
            scope.spawn(move || share.into_iter().map(run).collect::<Vec<_>>())
        };
        let threads: Vec<_> = shares.into_iter().map(start).collect();
        let ended = threads.into_iter().map(|thread| {
            let died = |_| vec![Err("a thread that ran targets died".to_owned())];
            thread.join().unwrap_or_else(died)
        });
        ended.flatten().collect()
    })
}

fn wanted(arguments: &[String], seed: Option<String>) -> Result<Wanted, tree::Error> {
    let mut wanted = Wanted {
        names: Vec::new(),
        seconds: SECONDS,
        seed: match seed {
            Some(seed) => number("ZONAI_SEED", Some(&seed))?,
            None => any_seed(),
        },
    };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--seconds" => wanted.seconds = number("--seconds", arguments.next())?,
            flag if flag.starts_with('-') => return Err(format!("no flag `{flag}`").into()),
            name => wanted.names.push(name.to_owned()),
        }
    }
    Ok(wanted)
}

/// libFuzzer takes 0 for "none given".
fn number(name: &str, text: Option<&String>) -> Result<u32, tree::Error> {
    text.and_then(|text| text.parse().ok())
        .filter(|number| *number > 0)
        .ok_or_else(|| format!("{name} takes a whole number from 1 to {}", u32::MAX).into())
}

fn any_seed() -> u32 {
    let [a, b, c, d, ..] = RandomState::new().hash_one(0).to_le_bytes();
    u32::from_le_bytes([a, b, c, d]).max(1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::wanted;

    fn arguments(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn targets_seconds_and_the_seed_are_read() {
        let read = wanted(&arguments("a --seconds 60 b"), Some("7".into())).unwrap();
        assert_eq!(
            (read.names, read.seconds, read.seed),
            (arguments("a b"), 60, 7)
        );
        let read = wanted(&[], None).unwrap();
        assert_eq!((read.names.len(), read.seconds), (0, 10));
        assert!(read.seed > 0);
    }

    #[test]
    fn what_is_no_number_or_no_flag_is_refused() {
        for text in ["--seconds", "--seconds x", "--seconds 0", "--second 1"] {
            assert!(wanted(&arguments(text), None).is_err(), "{text}");
        }
        assert!(wanted(&[], Some("-1".into())).is_err());
    }
}
