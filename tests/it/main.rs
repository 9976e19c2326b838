//! Integration tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    unreachable_pub,
    reason = "these are tests"
)]

mod calibration;
mod import;
mod metatool;
mod support;
