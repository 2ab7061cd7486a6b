//! The program `zonai`.

use std::process::ExitCode;

fn main() -> ExitCode {
    zonai::cli::run(std::env::args_os())
}
