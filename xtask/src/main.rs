//! The project's chores: `cargo xtask COMMAND`.
//!
//! Parses and dispatches, nothing else. Must never be needed to build or run Zonai itself.
#![expect(clippy::print_stdout, reason = "a program prints what it found")]

mod fuzz;
mod lexer;
mod promises;
mod report;
mod source;
mod test;
mod tidy;
mod tree;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND\n
  test [STEP…]   everything that must pass, as CI runs it; installs what it needs on Debian as root
  tidy           the house rules: sizes, module docs, who depends on whom, one 429, promises and their tests
  promises       the promises alone: each with the test that holds it
  fuzz [TARGET…] [--seconds N]   runs fuzz targets, 10 s each; ZONAI_SEED=N repeats a run";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.first().map(String::as_str) {
        Some("test") => test::run(&arguments[1..]),
        Some("tidy") => tidy::run(),
        Some("promises") => promises::run(),
        Some("fuzz") => fuzz::run(&arguments[1..]),
        _ => {
            println!("{HELP}");
            return ExitCode::from(2);
        }
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("xtask: {error}");
        ExitCode::FAILURE
    })
}
