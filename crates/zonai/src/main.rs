//! The program `zonai`.

use std::process::ExitCode;

// A refusal is a dozen small allocations, hyper's and ours: docs/adr/0040.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    zonai::cli::run(std::env::args_os())
}
