//! Random requests of many clients against a model of the whole service (limiter, rows, sessions), while the real program is
//! killed and stopped, its disk filled, its clock moved, its policies changed and its proxy restarted.
//!
//! The seed is printed and gives the same requests and disturbances in the same order:
//! `ZONAI_CHAOS_SEED=… ZONAI_CHAOS_SECONDS=3600 cargo nextest run -p zonai chaos --no-capture`. What threads and the kernel
//! do between them is not in the seed; the model allows for exactly that. Must never look away from an answer: each one is
//! held against the model.

mod client;
mod counter;
mod deck;
mod dice;
mod disk;
mod doings;
mod judge;
mod limits;
mod planted;
mod project;
mod proxy;
mod rows;
mod run;
mod server;
mod sessions;
mod wire;

use zonai_clock::Clock;

use run::Run;

/// How long CI runs it.
const SECONDS: u64 = 50;

/// Promises 1, 2, 3.5, 4, 5, 7.2, 8, S3d and S6b: whatever happens to the program and
/// around it, each answer is one that the model allows.
#[test]
fn whatever_happens_to_the_program_every_answer_is_one_of_the_model() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let clock = Clock::system();
    let seed: u64 = number("ZONAI_CHAOS_SEED").unwrap_or_else(|| clock.wall_ms().unsigned_abs());
    let seconds = number("ZONAI_CHAOS_SECONDS").unwrap_or(SECONDS);
    println!("ZONAI_CHAOS_SEED={seed} ZONAI_CHAOS_SECONDS={seconds}");
    let begun = clock.now();
    let mut run = Run::start(seed, clock.clone());
    while clock.now().since(begun) < seconds * 1_000 {
        if let Err(fault) = run.round() {
            let after = clock.now().since(begun) as f64 / 1_000.0;
            panic!(
                "a fault was found after {after:.1} s\n{}\n{fault}\n{}",
                run.told(),
                run.log()
            );
        }
    }
    if let Err(fault) = run.end() {
        panic!("a fault was found at the end\n{fault}");
    }
}
