//! Integration tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    unreachable_pub,
    reason = "these are tests"
)]

mod bad_input;
mod dialects;
mod import;
mod policy;
mod prompts;
mod session;
mod support;
mod tools;
mod view;
