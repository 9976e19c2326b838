//! Integration tests.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "these are tests"
)]

mod bad_input;
mod calibration;
mod case_keys;
mod cli;
mod dialects;
mod import;
mod lifecycle;
mod lifecycle_ends;
mod lifecycle_sabotage;
mod lifecycle_sabotage_calls;
mod metatool;
mod policy;
mod prompts;
mod redaction;
mod session;
mod support;
mod tools;
mod view;
mod view_availability;
mod view_properties;
