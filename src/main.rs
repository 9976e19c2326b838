//! The `proofmark` program.

fn main() {}
