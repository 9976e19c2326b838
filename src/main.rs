//! The `proofmark` program.

use proofmark::cli::exit::Exit;

fn main() -> Exit {
    proofmark::cli::main()
}
