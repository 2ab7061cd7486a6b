//! The project's chores: `cargo xtask COMMAND`.
//!
//! Parses and dispatches, nothing else. Must never be needed to build or run Zonai itself.
#![expect(clippy::print_stdout, reason = "a program prints what it found")]

mod lexer;
mod promises;
mod report;
mod source;
mod test;
mod tidy;
mod tree;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask COMMAND

  test [STEP…]   everything that must pass, as CI runs it; installs what it needs on Debian as root
  tidy           the house rules: sizes, module docs, who depends on whom, one 429, promises and their tests
  promises       the promises alone: each with the test that holds it";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.first().map(String::as_str) {
        Some("test") => test::run(&arguments[1..]),
        Some("tidy") => tidy::run(),
        Some("promises") => promises::run(),
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
