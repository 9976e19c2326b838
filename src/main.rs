//! The `proofmark` program.

use std::process::{ExitCode, Termination};

fn main() -> ExitCode {
    // First of all: what confines a command is applied to a process without threads.
    proofmark::runtime::sandbox::child::main().unwrap_or_else(|| proofmark::cli::main().report())
}
