//! Proofmark.
pub mod base;
pub mod journal;
pub mod runtime;
pub mod tool;
