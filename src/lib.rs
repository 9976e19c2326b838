//! Proofmark.
pub mod base;
pub mod cli;
pub mod eval;
pub mod journal;
pub mod law;
pub mod report;
pub mod runtime;
pub mod sim;
pub mod tool;
