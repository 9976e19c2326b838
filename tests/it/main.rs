//! Integration tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "these are tests"
)]

mod cli;
mod import;
mod lifecycle;
mod support;
