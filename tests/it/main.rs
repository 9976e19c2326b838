//! Integration tests.

fn main() {}
