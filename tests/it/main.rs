//! Integration tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "these are tests"
)]

mod import;
mod support;
