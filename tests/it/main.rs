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
mod blocks;
mod boxed;
mod calibration;
mod case_keys;
mod chat;
mod cli;
mod command;
mod conformance;
mod container;
mod coverage;
mod credentials;
mod delegates;
mod delegates_limits;
mod dialects;
mod escape;
mod explain;
mod faults;
mod handed;
mod home;
mod http;
mod import;
mod laws;
mod lifecycle;
mod lifecycle_ends;
mod lifecycle_sabotage;
mod lifecycle_sabotage_calls;
mod lint;
mod manager;
mod mcp_real;
mod metatool;
mod played;
mod policy;
mod prompts;
mod receipt;
mod redaction;
mod registry;
mod registry_disk;
mod regressions;
mod rehearsed;
mod replicate;
mod resume;
mod resume_guards;
mod resume_simulated;
mod rules;
mod served;
mod session;
mod signed;
mod sim;
mod skills;
mod spelled;
mod stage;
mod state;
mod support;
mod surfaces;
mod tools;
mod tools_command;
mod undo;
mod view;
mod view_availability;
mod view_properties;
mod walk;
